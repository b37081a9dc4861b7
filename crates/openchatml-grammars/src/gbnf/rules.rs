//! The rules of a grammar, and literals in them.

use std::collections::HashSet;
use std::fmt::Write as _;

/// The rules, in the order of their addition.
#[derive(Debug, Default)]
pub(super) struct Rules {
    text: String,
    names: HashSet<String>,
}

impl Rules {
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Adds a rule.
    pub(super) fn add(&mut self, name: &str, body: &str) {
        if self.names.insert(name.to_owned()) {
            let _ = writeln!(self.text, "{name} ::= {body}");
        }
    }

    /// Returns the grammar that starts with the rule `root`.
    pub(super) fn finish(self, root: &str) -> String {
        format!("root ::= {root}\n{}", self.text)
    }

    /// Returns the name of a shared rule, and adds it with the rules that it needs.
    pub(super) fn shared(&mut self, name: &'static str) -> &'static str {
        if !self.has(name)
            && let Some((_, body, needs)) = SHARED.iter().find(|rule| rule.0 == name)
        {
            self.add(name, body);
            for need in *needs {
                self.shared(need);
            }
        }
        name
    }

    /// Returns the name of the rule for an escape in a JSON string.
    pub(super) fn escape(&mut self) -> &'static str {
        self.shared("escape")
    }
}

/// The shared rules: name, body, and the other rules that they need.
const SHARED: &[(&str, &str, &[&str])] = &[
    // Limited, because a model could repeat white space forever.
    ("ws", r"[ \t\n\r]{0,32}", &[]),
    ("escape", r#""\\" (["\\/bfnrt] | "u" hex hex hex hex)"#, &["hex"]),
    ("short-escape", r#""\\" ["\\bfnrt]"#, &[]),
    ("hex", "[0-9a-fA-F]", &[]),
    ("integer", r#""-"? ("0" | [1-9] [0-9]{0,38})"#, &[]),
    ("number", r#"integer ("." [0-9]{1,38})? ([eE] [-+]? [0-9]{1,4})?"#, &["integer"]),
    ("boolean", r#""true" | "false""#, &[]),
    // A class without any character matches nothing.
    ("never", r"[^\U00000000-\U0010FFFF]", &[]),
    ("year", "[0-9]{4}", &[]),
    ("month", r#"("0" [1-9] | "1" [0-2])"#, &[]),
    ("day", r#"("0" [1-9] | [12] [0-9] | "3" [01])"#, &[]),
    ("clock", r#"([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,9})?"#, &[]),
    ("zone", r#""Z" | [-+] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]"#, &[]),
    ("date", r#""\"" year "-" month "-" day "\"""#, &["year", "month", "day"]),
    ("time", r#""\"" clock zone "\"""#, &["clock", "zone"]),
    (
        "date-time",
        r#""\"" year "-" month "-" day "T" clock zone "\"""#,
        &["year", "month", "day", "clock", "zone"],
    ),
    ("uuid", r#""\"" hex{8} "-" hex{4} "-" hex{4} "-" hex{4} "-" hex{12} "\"""#, &["hex"]),
];

/// The string formats that have rules.
pub(super) const FORMATS: &[&str] = &["date", "time", "date-time", "uuid"];

/// Quotes text as a literal.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => character(&mut out, c),
        }
    }
    out.push('"');
    out
}

/// Escapes characters for a character class.
pub(super) fn class(characters: &str) -> String {
    let mut out = String::new();
    for c in characters.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() {
            let _ = write!(out, "\\u{:04X}", u32::from(c));
        } else {
            character(&mut out, c);
        }
    }
    out
}

/// `\x` is not usable: some engines read all digits that follow it.
fn character(out: &mut String, c: char) {
    let code = u32::from(c);
    // Line separators, direction marks and similar characters, which editors display in confusing
    // ways.
    let is_odd = c.is_control() || (0x2000..0x2070).contains(&code) || code == 0xFEFF;
    if is_odd {
        let _ = write!(out, "\\u{code:04X}");
    } else {
        out.push(c);
    }
}
