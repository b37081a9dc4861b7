//! Writes JSON.

use std::fmt::Write as _;

use crate::json::{Data, Value};

/// Writes `text` as a JSON string.
pub(crate) fn write_string(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut from = 0;
    let bytes = text.as_bytes();
    while let Some(len) = first_escaped(&bytes[from..]) {
        let at = from + len;
        out.push_str(&text[from..at]);
        escape(out, bytes[at]);
        from = at + 1;
    }
    out.push_str(&text[from..]);
    out.push('"');
}

/// Writes `text` as a JSON string that YAML reads in the same way: characters that are not
/// printable in YAML are escaped.
pub(crate) fn write_ascii_string(out: &mut String, text: &str) {
    let mut json = String::new();
    write_string(&mut json, text);
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

/// Returns the position of the first byte that a JSON string must escape.
fn first_escaped(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 32;
    let is_escaped = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    // A loop over a whole block without a branch compiles to vector instructions.
    let any = |block: &[u8]| block.iter().fold(false, |any, byte| any | is_escaped(byte));
    let plain = bytes.chunks_exact(BLOCK).take_while(|block| !any(block)).count() * BLOCK;
    bytes[plain..].iter().position(is_escaped).map(|at| plain + at)
}

#[cold]
fn escape(out: &mut String, byte: u8) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        0x08 => out.push_str("\\b"),
        0x0C => out.push_str("\\f"),
        byte => {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "\\u{byte:04x}");
        }
    }
}

/// Writes a number. An invalid spelling becomes a string, so that it cannot be structure.
pub(crate) fn write_number(out: &mut String, spelling: &str) {
    match super::is_number(spelling) {
        true => out.push_str(spelling),
        false => write_ascii_string(out, spelling),
    }
}

/// Writes a value on one line, without spaces.
pub(crate) fn write_value(out: &mut String, value: &Value<'_>) {
    match &value.data {
        Data::Null => out.push_str("null"),
        Data::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Data::Number(spelling) => write_number(out, spelling),
        Data::String(text) => write_string(out, text),
        Data::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write_value(out, item);
            }
            out.push(']');
        }
        Data::Map(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write_string(out, key);
                out.push(':');
                write_value(out, value);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::write_string;

    #[test]
    fn bytes_are_escaped_wherever_they_are() {
        for special in ["\"", "\\", "\n", "\u{1f}", "\u{0}", "é"] {
            for at in 0..100 {
                let text = format!("{}{special}{}", "x".repeat(at), "y".repeat(100 - at));
                let mut out = String::new();
                write_string(&mut out, &text);
                assert_eq!(serde_json::from_str::<String>(&out).ok(), Some(text));
            }
        }
    }
}
