//! Diagnostics as workflow commands of GitHub Actions.

use std::fmt::Write as _;

use openchatml::{Diagnostic, Severity};

use crate::input::Page;
use crate::visible::visible;

pub(super) fn write(page: &Page<'_>, found: &Diagnostic, out: &mut String) {
    let command = match found.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let (start, end) = (page.locate(found.span.start), page.locate(found.span.end));
    let _ = write!(out, "::{command} file={},line={}", property(page.name), start.line);
    let _ = write!(out, ",endLine={},col={}", end.line, start.column);
    if end.line == start.line {
        let _ = write!(out, ",endColumn={}", end.column);
    }
    let _ = write!(out, ",title={}::{}", found.code, data(&found.message));
    if let Some(help) = &found.help {
        let _ = write!(out, "%0Ahelp: {}", data(help));
    }
    out.push('\n');
}

/// Escapes text after the last `::`.
fn data(text: &str) -> String {
    visible(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
