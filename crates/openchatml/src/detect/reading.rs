//! Decides between formats with similar evidence: reads the records in each of them.

use super::{Candidate, Evidence};
use crate::dialect::{Carrier, Format};
use crate::options::ReadOptions;
use crate::parse::parse;
use crate::{Code, Diagnostic, Document, Severity};

/// How many bytes are read in each format.
const READ_BYTES: usize = 1 << 16;

/// A rival has at least this share of the confidence of the best format, in percent.
const RIVAL: u32 = 40;

/// Two formats that are this close are equally likely.
const CLOSE: u8 = 10;

/// Records as they are in one format.
struct Reading<'t> {
    candidate: Candidate,
    documents: Vec<Document<'t>>,
    errors: usize,
    warnings: usize,
    /// The worst diagnostic, and the number of its record.
    worst: Option<(usize, Diagnostic)>,
}

impl<'t> Reading<'t> {
    fn new(candidate: Candidate, records: &[&'t str]) -> Self {
        let (documents, errors, warnings, worst) = (Vec::new(), 0, 0, None);
        let mut reading = Self { candidate, documents, errors, warnings, worst };
        let mut left = READ_BYTES;
        for (number, record) in records.iter().enumerate() {
            reading.read(&record[..record.floor_char_boundary(left)], number);
            left = left.saturating_sub(record.len());
            if left == 0 {
                break;
            }
        }
        reading
    }

    fn read(&mut self, record: &'t str, number: usize) {
        let options = match self.candidate.is_completion {
            true => ReadOptions::completion(),
            false => ReadOptions::default(),
        };
        let mut parsed = parse(record, self.candidate.format, &options);
        // Some formats say that the arguments of every call are JSON, and others say it of none.
        if let Document::Conversation(conversation) = &mut parsed.document {
            let calls = conversation.messages.iter_mut().filter(|it| it.is_call());
            calls.for_each(|call| call.content_type = None);
        }
        self.documents.push(parsed.document);
        let is_text = self.format().carrier == Carrier::Text;
        for found in parsed.diagnostics {
            // A format reads control tokens that it does not know as text, without an error. A
            // header can be missing in any format, which is a warning in some.
            match found.severity {
                Severity::Error if !is_text || found.code == Code::ParseHeader => self.errors += 1,
                Severity::Warning if !is_text => self.warnings += 1,
                _ => continue,
            }
            let is_worse = |(_, worst): &(_, Diagnostic)| worst.severity < found.severity;
            if self.worst.as_ref().is_none_or(is_worse) {
                self.worst = Some((number, found));
            }
        }
    }

    fn format(&self) -> Format {
        self.candidate.format
    }

    fn findings(&self) -> (usize, usize) {
        (self.errors, self.warnings)
    }
}

/// Puts the format first in which the records have the fewest findings. If two likely
/// formats have no errors, but give different documents, neither is certain.
pub(super) fn decide(found: &mut [Candidate], records: &[&str]) {
    let Some(best) = found.first().filter(|best| best.is_certain()).cloned() else { return };
    let is_rival = |it: &&Candidate| {
        it.format.carrier == best.format.carrier
            && u32::from(it.confidence) * 100 >= u32::from(best.confidence) * RIVAL
    };
    let rivals: Vec<_> = found[1..].iter().filter(is_rival).cloned().collect();
    if rivals.is_empty() {
        return;
    }
    let first = Reading::new(best, records);
    let rivals: Vec<_> = rivals.into_iter().map(|it| Reading::new(it, records)).collect();
    let fewest = rivals.iter().min_by_key(|it| it.findings());
    let Some(fewest) = fewest.filter(|it| it.findings() < first.findings()) else {
        let is_as_good = |it: &&Reading<'_>| {
            it.errors == 0
                && it.findings() == first.findings()
                && it.candidate.confidence + CLOSE > first.candidate.confidence
                && it.documents != first.documents
        };
        let equals: Vec<_> = rivals.iter().filter(is_as_good).map(Reading::format).collect();
        if !equals.is_empty() {
            doubt(found, &equals);
        }
        return;
    };
    let mut winner = fewest.candidate.clone();
    winner.confidence = first.candidate.confidence;
    if let Some((record, found)) = &first.worst {
        let what = format!("`{}` would report: {}", first.format(), found.message);
        winner.evidence.push(Evidence { what, record: *record, span: found.span });
    }
    let Some(at) = found.iter().position(|it| it.format == winner.format) else { return };
    found[at] = winner;
    found[..=at].rotate_right(1);
    let most = found[0].confidence.saturating_sub(1);
    found[1..].iter_mut().for_each(|it| it.confidence = it.confidence.min(most));
}

/// Makes every format uncertain. The first keeps its place.
fn doubt(found: &mut [Candidate], equals: &[Format]) {
    for candidate in found.iter_mut() {
        let is_likely = equals.contains(&candidate.format);
        let most = Candidate::CERTAIN - 1 - u8::from(!is_likely);
        candidate.confidence = candidate.confidence.min(most);
    }
    found[0].confidence = found[0].confidence.max(Candidate::CERTAIN - 1);
}
