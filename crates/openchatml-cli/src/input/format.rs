//! The format of the input: named or detected.

use openchatml::{Candidate, Diagnostic, Format, Recognized, detect, recognize};
use serde::de::IgnoredAny;

use super::{
    Batches, Decoded, JSON, Page, RecordFormat, Slot, detect_lines, of_record, of_records,
};
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
) -> Result<Option<RecordFormat>, Failure> {
    if let Some(format) = named(choice) {
        return Ok(Some(RecordFormat::Named(format)));
    }
    let lines = batches.look()?;
    if lines.is_empty() {
        console.warning(&format!("`{name}` is empty: it contains no documents"));
        return Ok(None);
    }
    let decoded: Vec<_> = lines.iter().map(|it| Decoded::new(it.bytes, it.offset)).collect();
    let texts: Vec<&str> = decoded.iter().map(|it| it.text.as_ref()).collect();
    let alone: Vec<_> = texts.iter().map(|line| of_record(line)).collect();
    if let Some(format) = of_records(&texts, &alone) {
        let what = match format {
            RecordFormat::Each(_) => "mixed formats".to_owned(),
            RecordFormat::Named(format) | RecordFormat::Most(format) => format.to_string(),
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
        Some(recognized) => &recognized.help,
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
    let inside = text.strip_prefix(['[', '{']).and_then(|rest| rest.strip_suffix([']', '}']));
    if inside.is_some_and(|inside| inside.trim().is_empty()) {
        return "it is an empty list or object".to_owned();
    }
    if let Some(offset) = page.not_text() {
        return format!("the byte at offset {offset} is not UTF-8");
    }
    "it contains no start of a message, and no key of a conversation (`messages`, `conversations`, `input`, …)"
        .to_owned()
}
