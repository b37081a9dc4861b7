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
        for conversation in parsed.document.conversations_mut() {
            let calls = conversation.messages.iter_mut().filter(|it| it.is_call());
            calls.for_each(|call| call.content_type = None);
        }
        self.documents.push(parsed.document);
        let is_text = self.format().carrier == Carrier::Text;
        for found in parsed.diagnostics {
            if !is_text && is_of_content(&found) {
                continue;
            }
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

/// Whether a diagnostic is about what a document says, and no evidence against a format: calls, their
/// arguments and replies, and misspelled keys.
fn is_of_content(found: &Diagnostic) -> bool {
    match found.code {
        Code::BodyConstraintViolation
        | Code::CallRoute
        | Code::CallSchema
        | Code::CallUnanswered
        | Code::CallUnknown
        | Code::DuplicateKey
        | Code::ParseHeader
        | Code::ReplyUnmatched => true,
        Code::UnknownKey => found.help.as_deref().is_some_and(|it| it.starts_with("did you mean")),
        _ => false,
    }
}

/// Puts the format first in which the records have the fewest findings. If two likely
/// formats have no errors, but give different documents, neither is certain.
pub(super) fn decide(found: &mut [Candidate], records: &[&str]) {
    let mut likely = likely(found).into_iter().map(|it| Reading::new(it, records));
    let Some(best) = likely.next() else { return };
    let rivals: Vec<_> = likely.collect();
    let fewest = rivals.iter().min_by_key(|it| it.findings());
    match fewest.filter(|it| it.findings() < best.findings()) {
        Some(winner) => promote(found, winner, &best),
        None => doubt(found, &equals(&best, &rivals)),
    }
}

/// Returns the best format and its rivals. Empty if the best format is not certain or has no rival.
fn likely(found: &[Candidate]) -> Vec<Candidate> {
    let Some(best) = found.first().filter(|best| best.is_certain()) else { return Vec::new() };
    let is_likely = |it: &&Candidate| {
        it.format.carrier == best.format.carrier
            && u32::from(it.confidence) * 100 >= u32::from(best.confidence) * RIVAL
    };
    let likely: Vec<_> = found.iter().filter(is_likely).cloned().collect();
    if likely.len() > 1 { likely } else { Vec::new() }
}

/// Returns the rivals that are as good as the best format, but give other documents.
fn equals(best: &Reading<'_>, rivals: &[Reading<'_>]) -> Vec<Format> {
    let is_equal = |it: &&Reading<'_>| {
        it.errors == 0
            && it.findings() == best.findings()
            && it.candidate.confidence + CLOSE > best.candidate.confidence
            && it.documents != best.documents
    };
    rivals.iter().filter(is_equal).map(Reading::format).collect()
}

/// Puts the winner first, with the confidence of the format that was best by its evidence.
fn promote(found: &mut [Candidate], winner: &Reading<'_>, best: &Reading<'_>) {
    let Some(at) = found.iter().position(|it| it.format == winner.format()) else { return };
    found[..=at].rotate_right(1);
    found[0].confidence = best.candidate.confidence;
    if let Some((record, worst)) = &best.worst {
        let what = format!("`{}` would report: {}", best.format(), worst.message);
        found[0].evidence.push(Evidence { what, record: *record, span: worst.span });
    }
    let most = found[0].confidence.saturating_sub(1);
    found[1..].iter_mut().for_each(|it| it.confidence = it.confidence.min(most));
}

/// Makes every format uncertain, if there are equals. The first keeps its place.
fn doubt(found: &mut [Candidate], equals: &[Format]) {
    if equals.is_empty() {
        return;
    }
    for candidate in found.iter_mut() {
        let is_likely = equals.contains(&candidate.format);
        let most = Candidate::CERTAIN - 1 - u8::from(!is_likely);
        candidate.confidence = candidate.confidence.min(most);
    }
    found[0].confidence = found[0].confidence.max(Candidate::CERTAIN - 1);
}
