//! Rejected records, with the reasons, as JSON.

use std::fmt::Write as _;

use openchatml::{Code, Diagnostic};

use super::finding_json::write_object;
use super::json::escape;
use super::page::Page;

/// Returns a rejected record with its diagnostics, as a line of JSON: its file, its number, the
/// diagnostics and the record itself. Bytes that are not text are also given in hexadecimal.
pub fn reject(page: &Page<'_>, all: &[Diagnostic]) -> String {
    let mut found = String::new();
    for (index, diagnostic) in all.iter().enumerate() {
        found.push_str(if index == 0 { "" } else { "," });
        write_object(page, diagnostic, &mut found);
    }
    line(page, &found)
}

/// Returns the same for a document in an unknown format; `reasons` is the reason.
pub fn unknown_reject(page: &Page<'_>, reasons: &[String]) -> String {
    let code = Code::FormatUnknown;
    let mut found = format!("{{\"code\":\"{code}\",\"severity\":\"error\",\"message\":\"");
    escape(reasons.first().map_or("", String::as_str), &mut found);
    found.push_str("\"}");
    line(page, &found)
}

fn line(page: &Page<'_>, found: &str) -> String {
    let mut out = String::from("{\"file\":\"");
    escape(page.name, &mut out);
    // Writing to a `String` cannot fail.
    let _ = write!(out, "\",\"line\":{},\"diagnostics\":[{found}],\"input\":\"", page.first_line());
    escape(page.text, &mut out);
    if let Some(raw) = page.raw() {
        out.push_str("\",\"input_hex\":\"");
        for byte in raw {
            let _ = write!(out, "{byte:02x}");
        }
    }
    out.push_str("\"}\n");
    out
}
