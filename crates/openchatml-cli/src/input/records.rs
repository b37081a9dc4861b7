//! Finds the records of a JSON array, which are processed like the lines of JSONL.

use openchatml::detect;

use super::ahead::is_stream;
use super::is_json;

/// Finds the ends of values in a JSON array, as its bytes arrive. It does not check that they are
/// valid JSON: the reader of each record does.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scanner {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

/// What a byte means for the records of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is part of a record, or of the white space around it.
    Inside,
    /// It opens the array.
    Open,
    /// It separates two records.
    Comma,
    /// It closes the array.
    Close,
    /// It is not part of the array: the text before or after it.
    Outside,
}

impl Scanner {
    /// Whether the array has begun and not ended.
    pub(super) fn is_open(self) -> bool {
        self.depth > 0
    }

    pub(super) fn step(&mut self, byte: u8) -> Step {
        if self.in_string {
            match byte {
                _ if std::mem::take(&mut self.is_escaped) => {}
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return Step::Inside;
        }
        match (byte, self.depth) {
            (b'[', 0) => {
                self.depth = 1;
                return Step::Open;
            }
            (_, 0) => return Step::Outside,
            (b',', 1) => return Step::Comma,
            (b']' | b'}', 1) => {
                self.depth = 0;
                return Step::Close;
            }
            (b'"', _) => self.in_string = true,
            (b'[' | b'{', _) => self.depth += 1,
            (b']' | b'}', _) => self.depth -= 1,
            _ => {}
        }
        Step::Inside
    }
}

/// Decides whether a text is an array of records, from its beginning.
#[derive(Debug, Default)]
pub(super) struct Look {
    scanner: Scanner,
    looked: usize,
    /// Where the first record begins.
    start: usize,
}

/// The byte order mark of UTF-8.
const BOM: &[u8] = b"\xEF\xBB\xBF";

impl Look {
    /// Returns the answer, or `None` if it depends on bytes after `begin`.
    pub(super) fn at(&mut self, begin: &[u8]) -> Option<bool> {
        for byte in &begin[self.looked..] {
            let at = self.looked;
            self.looked += 1;
            match self.scanner.step(*byte) {
                Step::Inside => {}
                Step::Open => self.start = at + 1,
                Step::Comma | Step::Close => {
                    let record = std::str::from_utf8(&begin[self.start..at]);
                    // The events of a streamed response are one document.
                    return Some(record.is_ok_and(is_record) && !is_stream(&begin[..at]));
                }
                Step::Outside if byte.is_ascii_whitespace() || BOM.contains(byte) => {}
                Step::Outside => return Some(false),
            }
        }
        None
    }
}

/// Whether the first value of an array is a whole conversation, and not a message, an item or a
/// token of one.
fn is_record(text: &str) -> bool {
    let text = text.trim();
    let keys =
        serde_json::from_str::<std::collections::BTreeMap<String, serde::de::IgnoredAny>>(text);
    let is_part = keys.is_ok_and(|keys| PARTS.iter().any(|key| keys.contains_key(*key)));
    let found = detect(text);
    !is_part && found.first().is_some_and(|best| best.is_certain() && is_json(best.format))
}

/// The keys of messages, items, tokens and tools.
const PARTS: &[&str] = &["role", "from", "token", "type", "author"];

#[cfg(test)]
mod tests {
    use super::Look;

    /// The answer for a text, however it arrives.
    fn are_records(text: &str) -> bool {
        let at_once = Look::default().at(text.as_bytes());
        let mut slowly = Look::default();
        let early = (0..=text.len()).find_map(|end| slowly.at(&text.as_bytes()[..end]));
        assert_eq!(early, at_once, "{text:?}");
        at_once.unwrap_or(false)
    }

    #[test]
    fn arrays_of_conversations_are_records() {
        let chat = r#"{"messages":[{"role":"user","content":"[Hi, \"you\"]"}]}"#;
        for text in [
            format!("[{chat}]"),
            format!("\u{feff}\n [\n{chat},\n{chat}\n]"),
            r#"[{"conversations":[{"from":"human","value":"Hi"}]}]"#.to_owned(),
            r#"[[{"role":"user","content":"Hi."}],[{"role":"user","content":"Hi."}]]"#.to_owned(),
        ] {
            assert!(are_records(&text), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"messages":[{"role":"user","content":"Hi."}]}"#,
            r#"[{"role":"user","content":"Hi."}]"#,
            r#"[{"from":"human","value":"Hi"}]"#,
            r#"[{"token":"<|start|>"},"user"]"#,
            r#"[{"type":"message","role":"user","content":[]}]"#,
            "[INST] Hi [/INST], you",
            "[1, 2]",
        ] {
            assert!(!are_records(text), "{text}");
        }
    }
}
