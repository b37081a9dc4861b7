//! Writes arguments in the syntax of Python.

use std::fmt::Write as _;

use super::{Around, PythonCalls, begins_name, is_of_keyword};
use crate::json::{Data, Value};
use crate::limits::Limits;

/// Returns the keyword arguments for a JSON object. `None` if it is none, or if a key cannot be a
/// keyword.
pub(crate) fn arguments(json: &str, limits: &Limits) -> Option<String> {
    let Ok(Value { data: Data::Map(entries), .. }) = Value::from_json(json, limits) else {
        return None;
    };
    let mut out = String::new();
    for (index, (key, value)) in entries.iter().enumerate() {
        if !key.starts_with(begins_name) || !key.chars().all(is_of_keyword) {
            return None;
        }
        out.push_str(if index == 0 { "" } else { ", " });
        out.push_str(key);
        out.push('=');
        write(&mut out, value);
    }
    Some(out)
}

/// Returns the JSON object that is read back for a JSON object. `None` if it cannot be written.
pub(crate) fn respelled(json: &str, limits: &Limits) -> Option<String> {
    let written = arguments(json, limits)?;
    let mut reader = PythonCalls::new(Around::Nothing, limits);
    reader.push(&["f(", &written, ")"].concat()).ok()?;
    Some(reader.into_calls()?.pop()?.arguments)
}

/// Writes a value like `repr`.
fn write(out: &mut String, value: &Value<'_>) {
    match &value.data {
        Data::Null => out.push_str("None"),
        Data::Bool(value) => out.push_str(if *value { "True" } else { "False" }),
        Data::Number(spelling) => out.push_str(spelling),
        Data::String(text) => string(out, text),
        Data::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write(out, item);
            }
            out.push(']');
        }
        Data::Map(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                string(out, key);
                out.push_str(": ");
                write(out, value);
            }
            out.push('}');
        }
    }
}

fn string(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for char in text.chars() {
        match char {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            char if char == quote => out.extend(['\\', char]),
            char if char.is_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(char));
            }
            char => out.push(char),
        }
    }
    out.push(quote);
}

#[cfg(test)]
mod tests {
    use super::{arguments, respelled};
    use crate::limits::Limits;

    #[test]
    fn arguments_are_written_and_read_back() {
        let limits = Limits::default();
        for (json, python) in [
            ("{}", ""),
            (r#"{"city": "Bern", "days": 3}"#, "city='Bern', days=3"),
            (r#"{"a": [true, null, {"b": 1.50}]}"#, "a=[True, None, {'b': 1.50}]"),
            (r#"{"a": "it's"}"#, r#"a="it's""#),
            (r#"{"a": "'\"\\\n\u0001"}"#, r#"a='\'"\\\n\x01'"#),
            (r#"{"_ä": "☕"}"#, "_ä='☕'"),
        ] {
            assert_eq!(arguments(json, &limits).as_deref(), Some(python));
            assert_eq!(respelled(json, &limits).as_deref(), Some(json));
        }
        for json in ["[]", "1", r#"{"a b": 1}"#, r#"{"": 1}"#, r#"{"1": 1}"#, r#"{"a": 1"#] {
            assert_eq!(arguments(json, &limits), None, "{json}");
        }
    }
}
