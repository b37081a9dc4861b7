//! The format of the input: named or detected.

use openchatml::{
    Candidate, Code, Diagnostic, Dropped, Format, Recognized, Span, detect, recognize,
};
use serde::de::IgnoredAny;

use super::{Batches, Decoded, JSON, Page, Slot, detect_lines, finding, is_json};
use crate::args::Choice;
use crate::console::Console;
use crate::failure::Failure;

/// The reason why a document cannot be read.
pub(crate) enum Unreadable<'d> {
    /// It is not text; these are the diagnostics.
    NoText(&'d [Diagnostic]),
    /// No format was detected.
    NoFormat(Failure),
}

/// Returns the format of a document: named or detected.
///
/// # Errors
///
/// The document is not text, or there is not enough evidence for any format.
pub(crate) fn format_of<'d>(
    choice: Choice,
    decoded: &'d Decoded<'_>,
    name: &str,
    console: &Console,
) -> Result<Format, Unreadable<'d>> {
    if decoded.is_no_text() {
        return Err(Unreadable::NoText(&decoded.found));
    }
    if let Some(format) = named(choice) {
        return Ok(format);
    }
    let found = detect(&decoded.text);
    if let Some(best) = found.first().filter(|best| best.is_certain()) {
        let completion = if best.is_completion { ", a completion of the assistant" } else { "" };
        console.detail(&format!(
            "{name}: detected {}{completion} ({} %)",
            best.format, best.confidence
        ));
        return Ok(best.format);
    }
    let page = Page::new(name, decoded, 1);
    let evidence = Evidence { page: &page, slot: None };
    let recognized = recognize([page.text]);
    Err(Unreadable::NoFormat(unknown(name, &found, recognized.as_ref(), &evidence)))
}

/// The format of the lines of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineFormat {
    /// The named format.
    Named(Format),
    /// The format of most lines. Each of the others is read in its own.
    Most(Format),
    /// Most lines have no format in common. Each is read in its own; the first in this one.
    Each(Format),
}

impl LineFormat {
    /// The named format, that of most lines, or that of the first line.
    pub(crate) fn first(self) -> Format {
        match self {
            Self::Named(format) | Self::Most(format) | Self::Each(format) => format,
        }
    }
}

/// Returns the format of the documents in the lines of a file: named or detected. `None` if all
/// lines are blank.
///
/// # Errors
///
/// The file cannot be read, or there is not enough evidence for any format.
pub(crate) fn format_of_lines(
    choice: Choice,
    batches: &mut Batches,
    name: &str,
    console: &Console,
) -> Result<Option<LineFormat>, Failure> {
    if let Some(format) = named(choice) {
        return Ok(Some(LineFormat::Named(format)));
    }
    let lines = batches.look()?;
    if lines.is_empty() {
        console.warning(&format!("`{name}` is empty: it contains no documents"));
        return Ok(None);
    }
    let decoded: Vec<_> = lines.iter().map(|it| Decoded::new(it.bytes, it.offset)).collect();
    let texts: Vec<&str> = decoded.iter().map(|it| it.text.as_ref()).collect();
    let alone: Vec<_> = texts.iter().map(|line| of_line(line)).collect();
    if let Some(format) = of_lines(&texts, &alone) {
        let what = match format {
            LineFormat::Each(_) => "mixed formats".to_owned(),
            LineFormat::Named(format) | LineFormat::Most(format) => format.to_string(),
        };
        console.detail(&format!("{name}: detected {what}, one document per line"));
        return Ok(Some(format));
    }
    let (found, slot) = detect_lines(&texts);
    let recognized = recognize(texts.iter().copied());
    let best = found.first().and_then(|best| best.evidence.first());
    let record = recognized.as_ref().map(|it| &it.evidence).or(best).map_or(0, |it| it.record);
    let record = slot.as_ref().map_or(record, |(at, _)| *at);
    let (Some(line), Some(decoded)) = (lines.get(record), decoded.get(record)) else {
        return Err(Failure::Unknown(vec![format!("cannot detect the format of `{name}`")]));
    };
    let page = Page::new(name, decoded, line.number);
    let evidence = Evidence { page: &page, slot: slot.as_ref().map(|(_, slot)| slot) };
    Err(unknown(name, &found, recognized.as_ref(), &evidence))
}

/// Returns the format of the lines, from that of each line [alone](of_line). `None` if there is not
/// enough evidence for any format.
pub(crate) fn of_lines(lines: &[&str], alone: &[Option<Candidate>]) -> Option<LineFormat> {
    // The evidence of one line does not outweigh that of most lines.
    if let Some(format) = of_most(alone, PLAIN + 1) {
        return Some(LineFormat::Most(format));
    }
    // One line can decide what the others leave open.
    let found = detect_lines(lines).0;
    if let Some(best) = found.first().filter(|best| best.is_certain()) {
        let sure = || alone.iter().flatten().filter(|line| line.confidence > PLAIN);
        let same = sure().filter(|line| line.format == best.format).count();
        if 2 * same >= sure().count() {
            return Some(LineFormat::Most(best.format));
        }
    }
    if let Some(format) = of_most(alone, Candidate::CERTAIN) {
        return Some(LineFormat::Most(format));
    }
    // A line without a format is rejected alone.
    let known: Vec<_> = alone.iter().flatten().cloned().map(Some).collect();
    let most = of_most(&known, Candidate::CERTAIN).map(LineFormat::Most);
    most.or_else(|| Some(LineFormat::Each(known.first()?.as_ref()?.format)))
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
pub(crate) fn document_of_line(
    line: &str,
    format: LineFormat,
) -> Result<(Slot<'_>, Format), Box<Diagnostic>> {
    let format = match format {
        LineFormat::Named(format) => return Ok((Slot::of_line(line, format)?, format)),
        LineFormat::Most(format) => format,
        LineFormat::Each(_) => return alone_in_line(line),
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
    if let Some(best) = of_line(line) {
        let slot = if is_json(best.format) { Slot::whole(line) } else { Slot::text(line)? };
        return Ok((slot, best.format));
    }
    if let Some(recognized) = recognize([line]) {
        return Err(Box::new(foreign(&recognized)));
    }
    let text = "the format of the line is not certain, and the file mixes formats";
    let mut found = finding(Code::FormatUnknown, Span::at(0), text);
    found.help = Some("split the file by format, and name the format: `--from FORMAT`".to_owned());
    found.dropped = Some(Dropped::Record);
    Err(Box::new(found))
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
pub(crate) fn foreign(recognized: &Recognized) -> Diagnostic {
    let Recognized { name, evidence, help, .. } = recognized;
    let text = format!("the input looks like {name}");
    let mut found = finding(Code::FormatUnknown, evidence.span, text).help(*help);
    found.dropped = Some(Dropped::Record);
    found
}

/// Returns the certain format of a line alone: that of its JSON, or of the text in it.
pub(crate) fn of_line(line: &str) -> Option<Candidate> {
    let certain = |found: Vec<Candidate>| found.into_iter().next().filter(Candidate::is_certain);
    certain(detect(line))
        .filter(|best| is_json(best.format))
        .or_else(|| certain(detect(&Slot::text(line).ok()?.text)))
}

/// Returns the named format. Token ids are JSON for all formats.
fn named(choice: Choice) -> Option<Format> {
    match choice {
        Choice::Format(format) => Some(format),
        Choice::Tokens(_) => Some(JSON),
        Choice::Auto => None,
    }
}

/// The place of the evidence.
struct Evidence<'e> {
    page: &'e Page<'e>,
    slot: Option<&'e Slot<'e>>,
}

impl Evidence<'_> {
    fn place(&self, found: &openchatml::Evidence) -> String {
        let span = self.slot.map_or(found.span, |slot| slot.span(found.span));
        let place = self.page.locate(span.start);
        format!("{} at {}:{}", found.what, place.line, place.column)
    }
}

/// Reports that no format is certain enough. Names the candidates, or the recognized format.
fn unknown(
    name: &str,
    found: &[Candidate],
    recognized: Option<&Recognized>,
    evidence: &Evidence<'_>,
) -> Failure {
    let mut lines = vec![format!("cannot detect the format of `{name}`")];
    if let Some(recognized) = recognized {
        let place = evidence.place(&recognized.evidence);
        lines.push(format!("it looks like {} ({place})", recognized.name));
    }
    for candidate in found {
        let clue = candidate.evidence.first().map(|it| evidence.place(it)).unwrap_or_default();
        lines.push(format!(
            "perhaps {}: {} % certain ({clue}), but {} % are required",
            candidate.format,
            candidate.confidence,
            Candidate::CERTAIN
        ));
    }
    if evidence.page.text.trim().is_empty() {
        return Failure::Unknown(vec![format!("`{name}` is empty")]);
    }
    if lines.len() == 1 {
        lines.push(nothing_found(evidence.page));
    }
    let help = match recognized {
        Some(recognized) => recognized.help,
        None => "name the format with `--from FORMAT`; `ocml formats` lists them",
    };
    lines.push(format!("help: {help}"));
    Failure::Unknown(lines)
}

/// Describes a page without evidence for any format.
fn nothing_found(page: &Page<'_>) -> String {
    let text = page.text.trim();
    if text.is_empty() {
        return "it is empty".to_owned();
    }
    if text.starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_err() {
        // The place of the error may depend on hidden text.
        return "it begins like JSON, but is not valid JSON: `ocml check -f json` shows where"
            .to_owned();
    }
    if let Some(offset) = page.not_text() {
        return format!("the byte at offset {offset} is not UTF-8");
    }
    "it contains no start of a message, and no key of a conversation (`messages`, `conversations`, `input`, …)"
        .to_owned()
}
