//! Writes JSON strings.

use std::fmt::Write as _;

/// The size of a block.
const BLOCK: usize = 32;

/// Writes `text` as the inside of a JSON string.
pub fn escape(text: &str, out: &mut String) {
    out.reserve(text.len());
    let mut rest = text;
    while let Some(at) = special(rest.as_bytes()) {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            byte => {
                // Writing to a `String` cannot fail.
                let _ = write!(out, "\\u{byte:04x}");
            }
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// Returns the position of the first byte that a JSON string must escape.
fn special(bytes: &[u8]) -> Option<usize> {
    let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    // A loop over a whole block without a branch compiles to vector instructions.
    let any = |block: &[u8]| block.iter().fold(false, |any, byte| any | is_special(byte));
    let plain = bytes.chunks_exact(BLOCK).take_while(|block| !any(block)).count() * BLOCK;
    bytes[plain..].iter().position(is_special).map(|at| plain + at)
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn escaped_strings_are_read_back() {
        let mut text = String::from("é 😀 \u{7f}\u{2028} plain text that is longer than a block …");
        for code in 0..0x80_u8 {
            text.push(char::from(code));
            let mut json = String::from("\"");
            escape(&text, &mut json);
            json.push('"');
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}
