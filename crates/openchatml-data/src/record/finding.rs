//! Diagnostics that no reader reports.

use openchatml::{Carrier, Code, Diagnostic, Format, Severity, Span};

/// Creates an error that no reader reports.
pub fn finding(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
    let mut found = code.at(span, message);
    found.severity = Severity::Error;
    found
}

/// Whether documents of this format are JSON.
pub fn is_json(format: Format) -> bool {
    format.carrier() == Carrier::Json
}
