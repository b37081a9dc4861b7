//! Text that is almost JSON, as models write it: which mistakes it has, and the JSON it stands for.
//!
//! A mistake is repaired only if there is one way to read it. A string that is cut off, or that contains
//! quotation marks without escapes, is not repaired.

use super::{Json, check, is_number, write_string};
use crate::limits::{DEEPEST, Limits};

/// A mistake in text that is almost JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    Empty,
    Fence,
    Encoded,
    Quotes,
    Key,
    Word,
    Number,
    Escape,
    Control,
    Comment,
    ExtraComma,
    MissingComma,
    ExtraBracket,
    MissingBracket,
}

impl Mistake {
    /// Returns what is written wrong.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "missing arguments",
            Self::Fence => "a code fence",
            Self::Encoded => "JSON in a string",
            Self::Quotes => "quotation marks other than `\"`",
            Self::Key => "a key without quotation marks",
            Self::Word => "a word of Python",
            Self::Number => "a number that JSON writes in another way",
            Self::Escape => "an unknown escape",
            Self::Control => "a control character without an escape",
            Self::Comment => "a comment",
            Self::ExtraComma => "an extra comma",
            Self::MissingComma => "a missing comma",
            Self::ExtraBracket => "an extra bracket",
            Self::MissingBracket => "a missing bracket",
        }
    }
}

/// Returns the JSON object that a text stands for, and the kinds of its mistakes in the order in which
/// they begin. `None` if it has another mistake, or stands for no object.
pub(crate) fn repair(text: &str, limits: &Limits) -> Option<(String, Vec<Mistake>)> {
    let mut found = Vec::new();
    let mut text = text.trim_ascii();
    if let Some(inner) = fenced(text) {
        found.push(Mistake::Fence);
        text = inner.trim_ascii();
    }
    if matches!(text, "" | "null" | "None") {
        found.push(Mistake::Empty);
        return Some(("{}".to_owned(), found));
    }
    let decoded;
    if let Some(inner) = encoded(text, limits) {
        found.push(Mistake::Encoded);
        decoded = inner;
        text = decoded.trim_ascii();
    }
    let mut repairer = Repairer {
        text,
        at: 0,
        out: String::with_capacity(text.len()),
        found,
        depth: 0,
        most: limits.json_depth.min(DEEPEST),
    };
    if !text.starts_with('{') {
        return None;
    }
    repairer.value()?;
    repairer.end()?;
    let checked = check(&repairer.out, limits);
    let is_valid = checked.error.is_none() && checked.duplicates.is_empty();
    is_valid.then_some((repairer.out, repairer.found))
}

/// Returns the text between the lines of a code fence.
fn fenced(text: &str) -> Option<&str> {
    let (language, rest) = text.strip_prefix("```")?.split_once('\n')?;
    let is_json = matches!(language.trim_ascii(), "" | "json" | "JSON");
    rest.strip_suffix("```").filter(|_| is_json)
}

/// Returns the text of a JSON string.
fn encoded(text: &str, limits: &Limits) -> Option<String> {
    let mut json = Json::new(text, limits);
    let (inner, _) = json.string().ok()?;
    json.end().ok()?;
    Some(inner.into_owned())
}

struct Repairer<'t> {
    text: &'t str,
    at: usize,
    out: String,
    found: Vec<Mistake>,
    depth: usize,
    most: usize,
}

impl Repairer<'_> {
    fn note(&mut self, mistake: Mistake) {
        if !self.found.contains(&mistake) {
            self.found.push(mistake);
        }
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Copies the text up to a position.
    fn copy(&mut self, end: usize) {
        self.out.push_str(self.text.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    /// Copies white space, and skips comments.
    fn space(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_ascii_start().len();
            self.copy(self.at + blank);
            let rest = self.rest();
            let len = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                let Some(end) = rest.find("*/") else { return };
                end + 2
            } else {
                return;
            };
            self.at += len;
            self.note(Mistake::Comment);
        }
    }

    fn value(&mut self) -> Option<()> {
        match self.peek()? {
            '{' => self.nested('}', Self::member),
            '[' => self.nested(']', Self::value),
            '"' => self.string('"'),
            '\'' => self.string('\''),
            '“' => self.string('”'),
            '-' | '+' | '.' | '0'..='9' => self.number(),
            _ => self.word(),
        }
    }

    /// Reads an object or a list, whose items `item` reads.
    fn nested(&mut self, close: char, item: fn(&mut Self) -> Option<()>) -> Option<()> {
        self.depth += 1;
        if self.depth > self.most {
            return None;
        }
        self.copy(self.at + 1);
        let mut comma = None;
        let mut is_first = true;
        loop {
            self.space();
            match self.peek() {
                Some(next) if next == close => {
                    self.drop_comma(comma.take());
                    self.copy(self.at + 1);
                    break;
                }
                Some('}' | ']') if self.depth > 1 => {
                    self.drop_comma(comma.take());
                    self.close(close);
                    break;
                }
                None if comma.is_none() && !is_first && self.is_whole() => {
                    self.close(close);
                    break;
                }
                Some(',') if comma.is_none() && !is_first => {
                    comma = Some(self.out.len());
                    self.copy(self.at + 1);
                }
                Some(_) if comma.is_some() || is_first => {
                    item(self)?;
                    (comma, is_first) = (None, false);
                }
                // The next key of an object, after a value.
                Some('"') if close == '}' => {
                    self.note(Mistake::MissingComma);
                    let len = self.out.trim_ascii_end().len();
                    self.out.insert(len, ',');
                    item(self)?;
                }
                _ => return None,
            }
        }
        self.depth -= 1;
        Some(())
    }

    /// Removes the comma at a position, which only white space follows.
    fn drop_comma(&mut self, comma: Option<usize>) {
        if let Some(at) = comma {
            self.out.remove(at);
            self.note(Mistake::ExtraComma);
        }
    }

    fn close(&mut self, close: char) {
        self.note(Mistake::MissingBracket);
        self.out.push(close);
    }

    /// Whether the last value is complete where the text ends. A number could go on.
    fn is_whole(&self) -> bool {
        !self.text.ends_with(|last: char| last.is_ascii_digit() || last == '.')
    }

    fn member(&mut self) -> Option<()> {
        match self.peek()? {
            '"' => self.string('"')?,
            '\'' => self.string('\'')?,
            '“' => self.string('”')?,
            first if first.is_ascii_alphabetic() || matches!(first, '_' | '$') => {
                let rest = self.rest();
                let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '-');
                let end = rest.find(|c| !is_key(c)).unwrap_or(rest.len());
                let key = self.text.get(self.at..self.at + end)?;
                write_string(&mut self.out, key);
                self.at += end;
                self.note(Mistake::Key);
            }
            _ => return None,
        }
        self.space();
        if self.peek()? != ':' {
            return None;
        }
        self.copy(self.at + 1);
        self.space();
        self.value()
    }

    /// Reads a string that ends in this quotation mark.
    fn string(&mut self, close: char) -> Option<()> {
        if close != '"' {
            self.note(Mistake::Quotes);
        }
        self.at += self.peek()?.len_utf8();
        self.out.push('"');
        loop {
            let rest = self.rest();
            let special = |c: char| c == close || c < ' ' || matches!(c, '"' | '\\');
            let end = self.at + rest.find(special)?;
            self.copy(end);
            let next = self.peek()?;
            self.at += next.len_utf8();
            match next {
                _ if next == close => break,
                '"' => self.out.push_str("\\\""),
                '\\' => self.escape()?,
                _ => {
                    self.note(Mistake::Control);
                    let mut escaped = String::new();
                    write_string(&mut escaped, next.encode_utf8(&mut [0; 4]));
                    self.out.push_str(escaped.trim_matches('"'));
                }
            }
        }
        self.out.push('"');
        Some(())
    }

    /// Reads an escape behind its backslash.
    fn escape(&mut self) -> Option<()> {
        let next = self.peek()?;
        match next {
            '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => {
                self.out.push('\\');
                self.copy(self.at + 1);
            }
            'u' => {
                let digits = self.rest().get(1..5)?;
                if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return None;
                }
                self.out.push('\\');
                self.copy(self.at + 5);
            }
            '\'' => {
                self.note(Mistake::Escape);
                self.copy(self.at + 1);
            }
            // As in the patterns of regular expressions.
            _ if !next.is_control() => {
                self.note(Mistake::Escape);
                self.out.push_str("\\\\");
                self.copy(self.at + next.len_utf8());
            }
            _ => return None,
        }
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let written = self.text.get(self.at..self.at + end)?;
        self.at += end;
        if is_number(written) {
            self.out.push_str(written);
            return Some(());
        }
        let (sign, digits) = match written.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", written.strip_prefix('+').unwrap_or(written)),
        };
        let lead = if digits.starts_with('.') { "0" } else { "" };
        let tail = if digits.ends_with('.') { "0" } else { "" };
        let number = [sign, lead, digits, tail].concat();
        self.note(Mistake::Number);
        self.out.push_str(&number);
        is_number(&number).then_some(())
    }

    fn word(&mut self) -> Option<()> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = match &rest[..end] {
            "true" | "false" | "null" => {
                self.copy(self.at + end);
                return Some(());
            }
            "True" => "true",
            "False" => "false",
            "None" => "null",
            _ => return None,
        };
        self.note(Mistake::Word);
        self.out.push_str(word);
        self.at += end;
        Some(())
    }

    /// Reads what follows the object: nothing but brackets.
    fn end(&mut self) -> Option<()> {
        self.space();
        while let Some('}' | ']') = self.peek() {
            self.note(Mistake::ExtraBracket);
            self.at += 1;
            self.space();
        }
        self.out.truncate(self.out.trim_ascii_end().len());
        self.rest().is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Mistake, repair};
    use crate::limits::Limits;

    /// Texts, the JSON that they stand for, and their mistakes.
    const REPAIRED: &[(&str, &str, &[Mistake])] = &[
        (r#"{"x": 1}"#, r#"{"x": 1}"#, &[]),
        (" ", "{}", &[Mistake::Empty]),
        ("None", "{}", &[Mistake::Empty]),
        ("```json\n{\"x\": 1}\n```", r#"{"x": 1}"#, &[Mistake::Fence]),
        (r#""{\"x\": \"1\"}""#, r#"{"x": "1"}"#, &[Mistake::Encoded]),
        (r#"{'x': 'say "hi"'}"#, r#"{"x": "say \"hi\""}"#, &[Mistake::Quotes]),
        ("{“x”: “1”}", r#"{"x": "1"}"#, &[Mistake::Quotes]),
        ("{x: 1, $y-z: 2}", r#"{"x": 1, "$y-z": 2}"#, &[Mistake::Key]),
        (
            r#"{"x": [True, False, None, null]}"#,
            r#"{"x": [true, false, null, null]}"#,
            &[Mistake::Word],
        ),
        (
            r#"{"x": [+1, .5, -.5, 2., 1e3]}"#,
            r#"{"x": [1, 0.5, -0.5, 2.0, 1e3]}"#,
            &[Mistake::Number],
        ),
        (r#"{"x": "\d\'\n\u0041"}"#, r#"{"x": "\\d'\n\u0041"}"#, &[Mistake::Escape]),
        ("{\"x\": \"a\nb\u{1}\"}", r#"{"x": "a\nb\u0001"}"#, &[Mistake::Control]),
        ("{ // one\n\"x\": /* two */ 1}", "{ \n\"x\":  1}", &[Mistake::Comment]),
        (r#"{"x": [1, 2, ], }"#, r#"{"x": [1, 2 ] }"#, &[Mistake::ExtraComma]),
        (r#"{"x": 1 "y": 2}"#, r#"{"x": 1, "y": 2}"#, &[Mistake::MissingComma]),
        (r#"{"x": 1}]}"#, r#"{"x": 1}"#, &[Mistake::ExtraBracket]),
        (r#"{"x": [{"y": "1""#, r#"{"x": [{"y": "1"}]}"#, &[Mistake::MissingBracket]),
        (r#"{"x": [1, 2}"#, r#"{"x": [1, 2]}"#, &[Mistake::MissingBracket]),
        ("{'x': True,}", r#"{"x": true}"#, &[Mistake::Quotes, Mistake::Word, Mistake::ExtraComma]),
    ];

    #[test]
    fn mistakes_with_one_reading_are_repaired() {
        for (text, json, mistakes) in REPAIRED {
            let repaired = repair(text, &Limits::default());
            assert_eq!(repaired, Some(((*json).to_owned(), mistakes.to_vec())), "{text}");
        }
    }

    #[test]
    fn other_mistakes_are_not() {
        for text in [
            "x",
            "[1]",
            "1",
            r#""x""#,
            r#"{"x": "1"#,
            r#"{"x": 1"#,
            r#"{"x": -"#,
            r#"{"x": "#,
            r#"{"x": 1,"#,
            r#"{"x""#,
            "{",
            r#"{"x": {"#,
            r#"{"x": "He said "hi" to me"}"#,
            r#"{'x': 'It's'}"#,
            r#"{"x": ["a" "b"]}"#,
            r#"{"x": 01}"#,
            r#"{"x": NaN}"#,
            r#"{"x": tRue}"#,
            r#"{"x": f("1")}"#,
            r#"{"x": (1, 2)}"#,
            r#"{"x": 1,, "y": 2}"#,
            r#"{, "x": 1}"#,
            r#"{"x": 1]"#,
            r#"{"x": 1} and more"#,
            r#"{"x": 1, "x": 2}"#,
            r#"{"x": "\u12"}"#,
            "{\"x\": \"\\\n\"}",
            "{\"x\": 1 /* two",
        ] {
            assert_eq!(repair(text, &Limits::default()), None, "{text}");
        }
        let limits = Limits { json_depth: 2, ..Limits::default() };
        assert!(repair(r#"{"x": [1,]}"#, &limits).is_some());
        assert_eq!(repair(r#"{"x": [[1,]]}"#, &limits), None);
    }
}
