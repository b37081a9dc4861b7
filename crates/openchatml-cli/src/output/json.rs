//! Writes JSON for people: indented documents.

use std::fmt::Write as _;

use openchatml::render::JsonStyle;

/// Formats `json` for a terminal: with line breaks and indentation, and with escaped control
/// characters.
pub(crate) fn pretty(json: &str) -> String {
    let json = JsonStyle::indented(2).apply(json);
    let is_raw = |c: char| c.is_control() && c != '\n';
    if !json.contains(is_raw) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match is_raw(c) {
            true => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            false => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::pretty;

    #[test]
    fn json_is_indented() {
        let json = r#"{"a":[1,{"b":"x\",:{}"}],"c":[],"d":{}}"#;
        let expected = "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x\\\",:{}\"\n    }\n  ],\n  \
            \"c\": [],\n  \"d\": {}\n}";
        assert_eq!(pretty(json), expected);
        assert_eq!(pretty("\"\u{9b}\u{7f}\""), r#""\u009b\u007f""#);
    }
}
