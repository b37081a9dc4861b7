//! A JSON parser (RFC 8259) that keeps the spelling of numbers, duplicate keys and the positions of
//! values.

use std::ops::Range;

use super::Json;

/// A value in a text.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value, with its quotes or brackets.
    pub span: Range<usize>,
    /// The members of an object with their keys, or the items of a list with empty ones.
    pub children: Vec<(Range<usize>, Self)>,
}

/// The maximum depth of values.
const DEPTH: usize = 600;

/// Parses a document, with the positions of its values.
pub fn read(text: &str) -> Option<(Json, Node)> {
    let mut reader = Reader { text, at: 0 };
    let read = reader.value(DEPTH)?;
    reader.space();
    (reader.at == text.len()).then_some(read)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn take(&mut self, word: &str) -> bool {
        self.space();
        let is_next = self.text[self.at..].starts_with(word);
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    fn value(&mut self, depth: usize) -> Option<(Json, Node)> {
        self.space();
        let start = self.at;
        let mut children = Vec::new();
        let depth = depth.checked_sub(1)?;
        let value = if self.take("{") {
            let mut members = Vec::new();
            while !self.take("}") {
                if !members.is_empty() && !self.take(",") {
                    return None;
                }
                self.space();
                let key_start = self.at;
                let key = self.string()?;
                let key_span = key_start..self.at;
                if !self.take(":") {
                    return None;
                }
                let (value, node) = self.value(depth)?;
                members.push((key, value));
                children.push((key_span, node));
            }
            Json::Object(members)
        } else if self.take("[") {
            let mut items = Vec::new();
            while !self.take("]") {
                if !items.is_empty() && !self.take(",") {
                    return None;
                }
                let (value, node) = self.value(depth)?;
                items.push(value);
                children.push((node.span.start..node.span.start, node));
            }
            Json::List(items)
        } else if self.text[self.at..].starts_with('"') {
            Json::String(self.string()?)
        } else if let Some(word) = ["null", "true", "false"].into_iter().find(|it| self.take(it)) {
            Json::Word(word)
        } else {
            let rest = &self.text[self.at..];
            let is_of_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
            let len = rest.find(|c| !is_of_number(c)).unwrap_or(rest.len());
            self.at += len;
            (len > 0).then(|| Json::Number(rest[..len].to_owned()))?
        };
        Some((value, Node { span: start..self.at, children }))
    }

    fn string(&mut self) -> Option<String> {
        if !self.take("\"") {
            return None;
        }
        let mut units = Vec::new();
        loop {
            let c = self.text[self.at..].chars().next()?;
            self.at += c.len_utf8();
            match c {
                '"' => return Some(String::from_utf16_lossy(&units)),
                '\\' => units.push(self.escape()?),
                c => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
            }
        }
    }

    fn escape(&mut self) -> Option<u16> {
        let c = self.text[self.at..].chars().next()?;
        self.at += c.len_utf8();
        Some(match c {
            'n' => 10,
            't' => 9,
            'r' => 13,
            'b' => 8,
            'f' => 12,
            'u' => {
                let digits = self.text.get(self.at..self.at + 4)?;
                self.at += 4;
                u16::from_str_radix(digits, 16).ok()?
            }
            c => u16::try_from(u32::from(c)).ok()?,
        })
    }
}
