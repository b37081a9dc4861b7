//! The format of records: named, that of most records, or that of each.

use openchatml::{
    Candidate, Code, Diagnostic, Dropped, Format, Recognized, Span, detect, recognize,
};

use super::finding::{finding, is_json};
use super::slot::{Slot, detect_lines};

/// The format of the lines of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFormat {
    /// The named format.
    Named(Format),
    /// The format of most lines. Each of the others is read in its own.
    Most(Format),
    /// Most lines have no format in common. Each is read in its own; the first in this one.
    Each(Format),
}

impl RecordFormat {
    /// The named format, that of most lines, or that of the first line.
    pub fn first(self) -> Format {
        match self {
            Self::Named(format) | Self::Most(format) | Self::Each(format) => format,
        }
    }
}

/// Returns the format of the lines, from that of each line [alone](of_record). `None` if there is not
/// enough evidence for any format.
pub fn of_records(lines: &[&str], alone: &[Option<Candidate>]) -> Option<RecordFormat> {
    // The evidence of one line does not outweigh that of most lines.
    if let Some(format) = of_most(alone, PLAIN + 1) {
        return Some(RecordFormat::Most(format));
    }
    // One line can decide what the others leave open.
    let found = detect_lines(lines).0;
    if let Some(best) = found.first().filter(|best| best.is_certain()) {
        let sure = || alone.iter().flatten().filter(|line| line.confidence > PLAIN);
        let same = sure().filter(|line| line.format == best.format).count();
        if 2 * same >= sure().count() {
            return Some(RecordFormat::Most(best.format));
        }
    }
    if let Some(format) = of_most(alone, Candidate::CERTAIN) {
        return Some(RecordFormat::Most(format));
    }
    // A line without a format is rejected alone.
    let known: Vec<_> = alone.iter().flatten().cloned().map(Some).collect();
    let most = of_most(&known, Candidate::CERTAIN).map(RecordFormat::Most);
    most.or_else(|| Some(RecordFormat::Each(known.first()?.as_ref()?.format)))
}

/// The certainty of the format of a line with plain chat, which other formats could also contain.
const PLAIN: u8 = 60;

/// Returns the format of more than half of the lines, if each of these lines alone is certain
/// enough. Other lines are read in their own format or rejected by name.
fn of_most(lines: &[Option<Candidate>], confidence: u8) -> Option<Format> {
    let mut counts: Vec<(Format, usize)> = Vec::new();
    for line in lines {
        let Some(best) = line.as_ref().filter(|best| best.confidence >= confidence) else {
            continue;
        };
        match counts.iter_mut().find(|(format, _)| *format == best.format) {
            Some((_, count)) => *count += 1,
            None => counts.push((best.format, 1)),
        }
    }
    let (format, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (2 * count > lines.len()).then_some(format)
}

/// Returns the document in a line, and its format: its own if that is certain.
///
/// # Errors
///
/// The line contains no document, or one in a recognized but unsupported format.
pub fn document_of_record(
    line: &str,
    format: RecordFormat,
) -> Result<(Slot<'_>, Format), Box<Diagnostic>> {
    let format = match format {
        RecordFormat::Named(format) => return Ok((Slot::of_line(line, format)?, format)),
        RecordFormat::Most(format) => format,
        RecordFormat::Each(_) => return alone_in_line(line),
    };
    let text = match is_json(format) {
        true => match text_in(line) {
            Some(slot) => Ok(slot),
            // The reader of JSON reports other formats, because it sees more of the document.
            None => return Ok((Slot::whole(line), format)),
        },
        false => Slot::text(line),
    };
    if text.as_ref().map_or(true, |slot| !slot.other_fields.is_empty()) {
        let json = detect(line).into_iter().next();
        if let Some(best) = json.filter(|best| best.is_certain() && is_json(best.format)) {
            return Ok((Slot::whole(line), if is_json(format) { format } else { best.format }));
        }
        if let Some(recognized) = recognize([line]) {
            return Err(Box::new(foreign(&recognized)));
        }
    }
    let slot = text?;
    let found = detect(&slot.text);
    let Some(best) = found.first().filter(|best| best.is_certain()) else {
        return Ok((slot, format));
    };
    // If this text is ambiguous, the other lines decide.
    let fits = |it: &&Candidate| it.format == format && it.is_certain() && best.confidence <= PLAIN;
    let format = found.iter().find(fits).map_or(best.format, |it| it.format);
    Ok((slot, format))
}

/// Returns the document in a line of a file of mixed formats.
fn alone_in_line(line: &str) -> Result<(Slot<'_>, Format), Box<Diagnostic>> {
    if let Some(best) = of_record(line) {
        let slot = if is_json(best.format) { Slot::whole(line) } else { Slot::text(line)? };
        return Ok((slot, best.format));
    }
    if let Some(recognized) = recognize([line]) {
        return Err(Box::new(foreign(&recognized)));
    }
    Err(Box::new(uncertain("line")))
}

/// Returns the certain format of a text that is a document itself.
pub fn of_document(text: &str) -> Option<Candidate> {
    detect(text).into_iter().next().filter(Candidate::is_certain)
}

/// Returns the format of texts that are documents themselves, from that of each
/// [alone](of_document). `None` if there is not enough evidence for any format.
pub fn of_documents(alone: &[Option<Candidate>]) -> Option<RecordFormat> {
    let known: Vec<_> = alone.iter().flatten().cloned().map(Some).collect();
    let most = of_most(alone, PLAIN + 1).or_else(|| of_most(&known, Candidate::CERTAIN));
    let most = most.map(RecordFormat::Most);
    most.or_else(|| Some(RecordFormat::Each(known.first()?.as_ref()?.format)))
}

/// Returns the document that a text is, and its format: its own if that is certain.
///
/// # Errors
///
/// No format is certain, or it is a recognized but unsupported one.
pub fn document_of_text(
    text: &str,
    format: RecordFormat,
) -> Result<(Slot<'_>, Format), Box<Diagnostic>> {
    let most = match format {
        RecordFormat::Named(format) => return Ok((Slot::whole(text), format)),
        // The reader of JSON reports other formats, because it sees more of the document.
        RecordFormat::Most(format) if is_json(format) => return Ok((Slot::whole(text), format)),
        RecordFormat::Most(format) => Some(format),
        RecordFormat::Each(_) => None,
    };
    let found = detect(text);
    let best = found.first().filter(|best| best.is_certain());
    // If this text is ambiguous, the others decide.
    let fits = |best: &Candidate, format: Format| {
        let same = found.iter().any(|it| it.format == format && it.is_certain());
        same && best.confidence <= PLAIN
    };
    match (best, most) {
        (Some(best), Some(format)) if fits(best, format) => Ok((Slot::whole(text), format)),
        (Some(best), _) => Ok((Slot::whole(text), best.format)),
        (None, Some(format)) => Ok((Slot::whole(text), format)),
        (None, None) => match recognize([text]) {
            Some(recognized) => Err(Box::new(foreign(&recognized))),
            None => Err(Box::new(uncertain("record"))),
        },
    }
}

/// A record of no certain format.
fn uncertain(what: &str) -> Diagnostic {
    let text = format!("the format of the {what} is not certain, and the file mixes formats");
    let mut found = finding(Code::FormatUnknown, Span::at(0), text);
    found.help = Some("split the file by format, and name the format: `--from FORMAT`".to_owned());
    found.dropped = Some(Dropped::Record);
    found
}

/// Returns the text in a line of JSON, if the line has one instead of messages. Lines that cannot
/// have one are not read.
fn text_in(line: &str) -> Option<Slot<'_>> {
    let may_have = match line.trim_ascii_start().as_bytes().first() {
        Some(b'"') => true,
        Some(b'{') => memchr::memmem::find(line.as_bytes(), b"\"text\"").is_some(),
        _ => false,
    };
    may_have.then(|| Slot::text(line).ok())?
}

/// A record in a recognized but unsupported format.
pub fn foreign(recognized: &Recognized) -> Diagnostic {
    let Recognized { name, evidence, help, .. } = recognized;
    let text = format!("the input looks like {name}");
    let mut found = finding(Code::FormatUnknown, evidence.span, text).help(help.clone());
    found.dropped = Some(Dropped::Record);
    found
}

/// Returns the certain format of a line alone: that of its JSON, or of the text in it.
pub fn of_record(line: &str) -> Option<Candidate> {
    let certain = |found: Vec<Candidate>| found.into_iter().next().filter(Candidate::is_certain);
    certain(detect(line))
        .filter(|best| is_json(best.format))
        .or_else(|| certain(detect(&Slot::text(line).ok()?.text)))
}
