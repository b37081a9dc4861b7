//! Writes headers as YAML: block style, two spaces per level, quotes wherever plain text is
//! ambiguous.

use super::yaml::is_plain;
use crate::json;
use crate::json::{Data, Value};
use crate::model::Header;

/// Writes `header` in the canonical layout, including the empty line at its end.
pub(crate) fn emit(header: &Header<'_>) -> String {
    let mut out = String::new();
    for (key, value) in header.fields() {
        match (key.as_ref(), &value.data) {
            // The version keeps its spelling and is never quoted, as in the specification.
            ("version", Data::String(version)) if json::is_number(version) => {
                out.push_str("version: ");
                out.push_str(version);
                out.push('\n');
            }
            _ => entry(&mut out, key, value, 0),
        }
    }
    out.push('\n');
    out
}

fn entry(out: &mut String, key: &str, value: &Value<'_>, depth: usize) {
    indent(out, depth);
    text(out, key);
    out.push(':');
    match &value.data {
        Data::Map(entries) if !entries.is_empty() => {
            out.push('\n');
            for (key, value) in entries {
                entry(out, key, value, depth + 1);
            }
        }
        Data::List(items) if items.iter().any(is_block) => {
            out.push('\n');
            for value in items {
                item(out, value, depth + 1);
            }
        }
        _ => {
            out.push(' ');
            flow(out, value);
            out.push('\n');
        }
    }
}

/// Writes an item of a block list. Its content is in flow style, so it needs no more indentation.
fn item(out: &mut String, value: &Value<'_>, depth: usize) {
    indent(out, depth);
    out.push_str("- ");
    flow(out, value);
    out.push('\n');
}

fn is_block(value: &Value<'_>) -> bool {
    matches!(&value.data, Data::Map(_) | Data::List(_))
}

fn flow(out: &mut String, value: &Value<'_>) {
    match &value.data {
        Data::Null => out.push_str("null"),
        Data::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Data::Number(spelling) => json::write_number(out, spelling),
        Data::String(value) => text(out, value),
        Data::List(items) => {
            out.push('[');
            for (index, value) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                flow(out, value);
            }
            out.push(']');
        }
        Data::Map(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                text(out, key);
                out.push_str(": ");
                flow(out, value);
            }
            out.push('}');
        }
    }
}

/// Writes a string: plain if that is unambiguous, otherwise as a JSON string, which YAML reads in
/// the same way.
fn text(out: &mut String, value: &str) {
    if is_plain(value) {
        out.push_str(value);
    } else {
        json::write_ascii_string(out, value);
    }
}

fn indent(out: &mut String, depth: usize) {
    for _ in 0..depth {
        out.push_str("  ");
    }
}
