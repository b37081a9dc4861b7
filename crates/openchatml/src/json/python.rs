//! Writes values as Python does, because templates run in Python.

use super::{Data, Value, write_string};

/// Writes a value like `json.dumps`: a space after each comma and colon, and numbers in Python's
/// spelling.
pub(crate) fn to_json(out: &mut String, value: &Value<'_>) {
    match &value.data {
        Data::Null => out.push_str("null"),
        Data::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Data::Number(spelling) => out.push_str(&match number(spelling) {
            Number::Int(text) => text,
            Number::Float(value) if value.is_finite() => float(value),
            Number::Float(value) if value > 0.0 => "Infinity".into(),
            Number::Float(_) => "-Infinity".into(),
        }),
        Data::String(text) => write_string(out, text),
        Data::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                to_json(out, item);
            }
            out.push(']');
        }
        Data::Map(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_string(out, key);
                out.push_str(": ");
                to_json(out, value);
            }
            out.push('}');
        }
    }
}

/// Writes a value like `json.dumps` with an indentation of this number of spaces for each level.
pub(crate) fn to_indented_json(out: &mut String, value: &Value<'_>, indent: usize) {
    indented(out, value, indent, 0);
}

fn indented(out: &mut String, value: &Value<'_>, indent: usize, depth: usize) {
    let line = |out: &mut String, index: usize, depth: usize| {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        out.extend(std::iter::repeat_n(' ', indent * depth));
    };
    match &value.data {
        Data::List(items) if !items.is_empty() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                line(out, index, depth + 1);
                indented(out, item, indent, depth + 1);
            }
            line(out, 0, depth);
            out.push(']');
        }
        Data::Map(entries) if !entries.is_empty() => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                line(out, index, depth + 1);
                write_string(out, key);
                out.push_str(": ");
                indented(out, value, indent, depth + 1);
            }
            line(out, 0, depth);
            out.push('}');
        }
        _ => to_json(out, value),
    }
}

/// Writes a value like `str`. Returns `None` for a list and a mapping.
pub(crate) fn to_text(value: &Value<'_>) -> Option<String> {
    Some(match &value.data {
        Data::Null => "None".into(),
        Data::Bool(value) => if *value { "True" } else { "False" }.into(),
        Data::Number(spelling) => match number(spelling) {
            Number::Int(text) => text,
            Number::Float(value) => float(value),
        },
        Data::String(text) => text.to_string(),
        Data::List(_) | Data::Map(_) => return None,
    })
}

/// Whether a value is true in Python. A missing value is false.
pub(crate) fn is_true(value: Option<&Value<'_>>) -> bool {
    match value.map(|value| &value.data) {
        None | Some(Data::Null) => false,
        Some(Data::Bool(value)) => *value,
        Some(Data::Number(spelling)) => match number(spelling) {
            Number::Int(text) => text != "0",
            Number::Float(value) => value != 0.0,
        },
        Some(Data::String(text)) => !text.is_empty(),
        Some(Data::List(items)) => !items.is_empty(),
        Some(Data::Map(entries)) => !entries.is_empty(),
    }
}

enum Number {
    Int(String),
    Float(f64),
}

/// Converts a JSON number. A whole number keeps all its digits.
fn number(spelling: &str) -> Number {
    if spelling.contains(['.', 'e', 'E']) {
        return Number::Float(spelling.parse().unwrap_or(0.0));
    }
    Number::Int(if spelling == "-0" { "0".into() } else { spelling.into() })
}

/// Writes the shortest digits of the number, with an exponent below 1e-4 and from 1e16 on.
fn float(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let text = value.to_string();
        return if text.contains('.') { text } else { text + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
