//! JSON for somebody to read.

use std::fmt::Write as _;

/// `json`, which is valid and on one line, with line breaks and indentation. Control characters
/// are escaped: it is meant for a terminal.
pub(crate) fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth: usize = 0;
    let mut in_string = false;
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                in_string = !in_string;
                out.push(c);
            }
            '\\' if in_string => {
                out.push(c);
                out.extend(chars.next());
            }
            _ if in_string && c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ if in_string => out.push(c),
            '{' | '[' => {
                out.push(c);
                match chars.next_if(|next| matches!(next, '}' | ']')) {
                    Some(close) => out.push(close),
                    None => {
                        depth += 1;
                        break_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c => out.push(c),
        }
    }
    out
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
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
