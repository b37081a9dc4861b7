//! Writes arguments in the syntax of Python.

use std::fmt::Write as _;

use super::{Around, PythonCalls, begins_name, is_of_keyword};
use crate::json::{Data, Value, write_string};
use crate::limits::Limits;
use crate::rules::Literals;

/// Returns the keyword arguments for a JSON object. `None` if it is none, or if a key cannot be a
/// keyword.
pub(crate) fn arguments(json: &str, literals: Literals, limits: &Limits) -> Option<String> {
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
        write(&mut out, value, literals);
    }
    Some(out)
}

/// Returns the JSON object that is read back for a JSON object. `None` if it cannot be written.
pub(crate) fn respelled(json: &str, literals: Literals, limits: &Limits) -> Option<String> {
    let written = arguments(json, literals, limits)?;
    let mut reader = PythonCalls::new(Around::Nothing, limits);
    reader.push(&["f(", &written, ")"].concat()).ok()?;
    Some(reader.into_calls()?.pop()?.arguments)
}

/// Writes a value.
fn write(out: &mut String, value: &Value<'_>, literals: Literals) {
    let is_json = literals == Literals::Json;
    // A value inside of another one.
    let inside = if literals == Literals::Jinja { Literals::Json } else { literals };
    match &value.data {
        Data::Null => out.push_str(if is_json { "null" } else { "None" }),
        Data::Bool(true) => out.push_str(if is_json { "true" } else { "True" }),
        Data::Bool(false) => out.push_str(if is_json { "false" } else { "False" }),
        Data::Number(spelling) => out.push_str(spelling),
        Data::String(text) => string(out, text, literals),
        Data::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write(out, item, inside);
            }
            out.push(']');
        }
        Data::Map(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                string(out, key, inside);
                out.push_str(": ");
                write(out, value, inside);
            }
            out.push('}');
        }
    }
}

fn string(out: &mut String, text: &str, literals: Literals) {
    let is_repr = match literals {
        Literals::Json => return write_string(out, text),
        Literals::Jinja => false,
        Literals::Repr => true,
    };
    let is_quoted = is_repr && text.contains('\'') && !text.contains('"');
    let quote = if is_quoted { '"' } else { '\'' };
    out.push(quote);
    for char in text.chars() {
        match char {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' if is_repr => out.push_str("\\t"),
            char if char == quote => out.extend(['\\', char]),
            char if is_repr && char.is_control() => {
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
    use crate::rules::Literals;

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
            assert_eq!(arguments(json, Literals::Repr, &limits).as_deref(), Some(python));
            assert_eq!(respelled(json, Literals::Repr, &limits).as_deref(), Some(json));
        }
        for json in ["[]", "1", r#"{"a b": 1}"#, r#"{"": 1}"#, r#"{"1": 1}"#, r#"{"a": 1"#] {
            assert_eq!(arguments(json, Literals::Repr, &limits), None, "{json}");
        }
    }

    #[test]
    fn values_are_written_in_each_way() {
        let limits = Limits::default();
        for (json, jinja, plain) in [
            ("{}", "", ""),
            (
                r#"{"a": "it's\t\n\"", "b": null}"#,
                "a='it\\'s\t\\n\"', b=None",
                r#"a="it's\t\n\"", b=null"#,
            ),
            (
                r#"{"a": [true, "é'", {"b": "\\\u0001"}], "c": {}}"#,
                r#"a=[true, "é'", {"b": "\\\u0001"}], c={}"#,
                r#"a=[true, "é'", {"b": "\\\u0001"}], c={}"#,
            ),
            (r#"{"a": false, "b": -1e5}"#, "a=False, b=-1e5", "a=false, b=-1e5"),
        ] {
            for (literals, python) in [(Literals::Jinja, jinja), (Literals::Json, plain)] {
                assert_eq!(arguments(json, literals, &limits).as_deref(), Some(python));
                assert_eq!(respelled(json, literals, &limits).as_deref(), Some(json));
            }
        }
    }
}
