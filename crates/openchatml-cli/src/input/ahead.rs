//! Determines from its first lines whether each line of a file is a document.

use openchatml::{detect, detect_stream};
use serde::de::IgnoredAny;

use super::is_json;

/// The number of lines to look at, without blank lines.
const LOOK_LINES: usize = 8;

/// The state after the first lines. It depends only on the lines, not on the chunks in which they
/// arrive.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// The length of the text that was looked at.
    looked: usize,
    lines: Vec<Line>,
}

/// The kind of a line that is not blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// An object or a list.
    Json,
    String,
    /// Another JSON value, which is not a document.
    Value,
    /// A line that begins like an object, a list or a string, but is malformed.
    Broken,
    Other,
}

impl Look {
    /// Returns whether the lines of a text are JSON documents, from its beginning, or from the
    /// whole text if it `ends` here. `None` if this is not decided yet.
    pub(super) fn at(&mut self, begin: &[u8], ends: bool) -> Option<bool> {
        while self.lines.len() < LOOK_LINES {
            let rest = &begin[self.looked..];
            let line = match memchr::memchr(b'\n', rest) {
                Some(end) => &rest[..=end],
                None if ends && !rest.is_empty() => rest,
                None => break,
            };
            // The events of a streamed response are one document. Blank lines decide nothing.
            let is_blank = line.trim_ascii().is_empty();
            if !is_blank && self.lines.is_empty() && is_stream(&begin[..self.looked + line.len()]) {
                return Some(false);
            }
            self.looked += line.len();
            self.lines.extend(Line::of(line));
            if let [first, second, ..] = self.lines[..]
                && let Some(answer) = of_two(first, second)
            {
                return Some(answer);
            }
        }
        if !ends && self.lines.len() < LOOK_LINES {
            return None;
        }
        // The first line is malformed or unrelated. A text may quote lines of JSON.
        let json = self.lines.iter().filter(|line| **line == Line::Json).count();
        let are_many = json > 0 && self.lines.len() > 1 && 2 * json >= self.lines.len();
        Some(are_many && !is_markup(begin))
    }
}

impl Line {
    fn of(line: &[u8]) -> Option<Self> {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        let kind = match line.first()? {
            b'{' | b'[' => Self::Json,
            b'"' => Self::String,
            _ => Self::Value,
        };
        let is_whole = serde_json::from_slice::<IgnoredAny>(line).is_ok();
        Some(match (is_whole, kind) {
            (true, kind) => kind,
            (false, Self::Value) => Self::Other,
            (false, _) => Self::Broken,
        })
    }
}

/// Decides from two lines: each line is a document if the first is one and more follows. A
/// marked-up text may also begin with a quoted line. Therefore, after a string, another value must
/// follow.
fn of_two(first: Line, second: Line) -> Option<bool> {
    match (first, second) {
        (Line::Json, _) => Some(true),
        (Line::String, second) => Some(second != Line::Other),
        (Line::Value | Line::Broken | Line::Other, _) => None,
    }
}

/// Looks for the first line that is not blank, in a text that arrives in chunks.
#[derive(Debug, Default)]
pub(super) struct LookForEvent {
    /// The length of the text that was searched for the end of the line.
    looked: usize,
}

impl LookForEvent {
    /// Returns whether the line is an event of a streamed response. `None` if this is not decided
    /// yet.
    pub(super) fn at(&mut self, begin: &[u8], ends: bool) -> Option<bool> {
        let blank = begin.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let from = self.looked.max(blank);
        let end = memchr::memchr(b'\n', &begin[from..]).map(|end| from + end);
        self.looked = begin.len();
        let line = &begin[blank..end.unwrap_or(begin.len())];
        (end.is_some() || ends).then(|| is_stream(line))
    }
}

/// Whether a text begins like the events of a streamed response.
pub(super) fn is_stream(begin: &[u8]) -> bool {
    detect_stream(&String::from_utf8_lossy(begin)).is_some()
}

/// Whether a text is marked up, so that its lines are not documents.
fn is_markup(begin: &[u8]) -> bool {
    let text = String::from_utf8_lossy(begin);
    let found = detect(&text);
    found.first().is_some_and(|best| best.is_certain() && !is_json(best.format))
}

#[cfg(test)]
mod tests {
    use super::Look;

    /// The answer for a text, however it arrives.
    fn are_documents(text: &str) -> bool {
        let text = text.as_bytes();
        let at_once = Look::default().at(text, true);
        let mut slowly = Look::default();
        let early = (0..text.len()).find_map(|end| slowly.at(&text[..end], false));
        assert_eq!(early.or_else(|| slowly.at(text, true)), at_once, "{text:?}");
        at_once.unwrap_or(false)
    }

    #[test]
    fn lines_of_json_are_documents() {
        let record = r#"{"messages":[]}"#;
        for text in [
            format!("{record}\n{record}\n"),
            format!("\u{feff}{record}\n\n{record}"),
            format!("{record}\ngarbage\n"),
            "\"a\"\n\"b\"".to_owned(),
            "\"a\"\nnull\n".to_owned(),
            // The first line is damaged.
            format!("garbage\n{record}\n{record}\n"),
            format!("null\n{record}"),
            format!("// a comment\n{record}\n"),
            format!("{{\"messages\":[{{\"ro\n{record}\n"),
        ] {
            assert!(are_documents(&text), "{text:?}");
        }
    }

    #[test]
    fn documents_of_several_lines_are_not_split() {
        for text in [
            "",
            "\n\n",
            "{\"messages\":[]}\n",
            "{\"messages\":[]}",
            "{}\n",
            "{\n\"messages\": []\n}\n",
            "[\n{\"role\":\"user\"}\n]\n",
            "[\n{\"role\":\"user\"},\n{\"role\":\"user\"}\n]\n",
            "\"quoted\"\nand more\n",
            "one\ntwo\n{}\n",
            "<|im_start|>user\n{}\n{}\n{}\n{}\n{}<|im_end|>\n",
            "<|im_start|>user\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}<|im_end|>\n",
        ] {
            assert!(!are_documents(text), "{text:?}");
        }
    }
}
