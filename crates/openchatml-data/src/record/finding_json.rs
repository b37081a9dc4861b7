//! Diagnostics as JSON, one object per line.

use openchatml::{Diagnostic, Dropped, Span};
use serde::Serialize;

use super::page::Page;

#[derive(Serialize)]
struct Finding<'f> {
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'f str,
    code: &'static str,
    severity: &'static str,
    message: &'f str,
    /// The summary for end users.
    summary: &'static str,
    span: PlaceSpan,
    line: usize,
    column: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'f str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<Change>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<&'f str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<&'static str>,
}

/// Bytes of a file.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PlaceSpan {
    start: usize,
    end: usize,
}

impl From<Span> for PlaceSpan {
    fn from(span: Span) -> Self {
        Self { start: span.start, end: span.end }
    }
}

/// A change: all edits of a fix as one.
#[derive(Serialize)]
struct Change {
    /// `safe`, or `unsafe` for a suggestion.
    applicability: &'static str,
    span: PlaceSpan,
    replacement: String,
}

/// Writes a diagnostic as a line of JSON.
pub fn write(page: &Page<'_>, found: &Diagnostic, out: &mut String) {
    write_object(page, found, out);
    out.push('\n');
}

/// Writes a diagnostic without a line break after it.
pub fn write_object(page: &Page<'_>, found: &Diagnostic, out: &mut String) {
    let place = page.locate(found.span.start);
    let finding = Finding {
        file: page.name,
        code: found.code.as_str(),
        severity: found.severity.as_str(),
        message: &found.message,
        summary: found.code.user_summary(),
        span: page.file_span(found.span).into(),
        line: place.line,
        column: place.column,
        help: found.help.as_deref(),
        fix: change(page, found),
        pointer: found.pointer.as_deref(),
        dropped: found.dropped.map(Dropped::as_str),
    };
    out.push_str(&serde_json::to_string(&finding).expect("a finding is always JSON"));
}

fn change(page: &Page<'_>, found: &Diagnostic) -> Option<Change> {
    let fix = found.fix.as_ref()?;
    let edits = &fix.edits;
    let span = Span::new(edits.first()?.span.start, edits.last()?.span.end);
    let mut replacement = String::new();
    let mut at = span.start;
    for edit in edits {
        replacement.push_str(page.text.get(at..edit.span.start)?);
        replacement.push_str(&edit.replacement);
        at = edit.span.end;
    }
    let applicability = fix.applicability.as_str();
    Some(Change { applicability, span: page.file_span(span).into(), replacement })
}
