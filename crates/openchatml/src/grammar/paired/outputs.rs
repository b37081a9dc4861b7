//! Splits lists of replies: `[`, the outputs of the tools, `]`. The format does not escape outputs,
//! so the end of a list must be found (Apertus, decision on tool outputs).

use crate::Span;
use crate::grammar::brackets::Brackets;
use crate::json::Json;
use crate::limits::Limits;

/// The contents of a list of replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outputs {
    /// The position of each reply.
    pub(crate) bodies: Vec<Span>,
    /// The end of the list, after its `]`.
    pub(crate) end: usize,
    /// How certain the positions are.
    pub(crate) found: Found,
}

impl Outputs {
    /// Whether the list has an end.
    pub(crate) fn has_end(&self) -> bool {
        self.found != Found::Open
    }

    /// Whether the call that each reply answers is known, for this number of calls.
    pub(crate) fn are_paired(&self, calls: usize) -> bool {
        let count = self.bodies.len();
        self.found != Found::OtherCount && (count == calls || count == 1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// JSON values, one for each call.
    Values,
    /// JSON values, but not one for each call. They are kept as one reply.
    OtherCount,
    /// No JSON, and only one possible end: one reply.
    Text,
    /// No JSON, and several possible ends: one reply, up to the last of them.
    Guess,
    /// No `]`: one reply, up to the end of the text.
    Open,
}

/// Finds the `]` that ends a list of JSON values, in text that arrives in pieces.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    /// The number of bytes that were searched.
    at: usize,
    brackets: Brackets,
    is_done: bool,
}

impl Scan {
    /// Returns the end of the list, after its `]`, once that has arrived.
    pub(super) fn next(&mut self, text: &str) -> Option<usize> {
        if self.is_done {
            return None;
        }
        let bytes = text.as_bytes();
        loop {
            self.at += self.brackets.idle(&bytes[self.at..]);
            let byte = bytes.get(self.at)?;
            self.at += 1;
            self.brackets.step(*byte);
            if matches!(byte, b']' | b'}') && self.brackets.are_closed() {
                self.is_done = true;
                return Some(self.at);
            }
        }
    }
}

/// Splits a whole list of JSON values into replies to this number of calls. Returns `None` if it is
/// not JSON.
pub(super) fn values(list: &str, calls: usize, limits: &Limits) -> Option<Outputs> {
    if !begins_value(&list[1..]) && !list[1..].trim_ascii_start().starts_with(']') {
        return None;
    }
    let mut json = Json::new(list, limits).without_notes();
    let mut ends = Vec::new();
    json.array(|json| {
        json.skip()?;
        ends.push(json.position());
        Ok(())
    })
    .ok()?;
    if json.position() != list.len() {
        return None;
    }
    let end = list.len();
    if ends.len() != calls || ends.len() < 2 {
        let found = match ends.len() {
            1 => Found::Values,
            // An empty reply.
            0 if calls == 1 => Found::Text,
            _ => Found::OtherCount,
        };
        return Some(Outputs { bodies: vec![Span::new(1, end - 1)], end, found });
    }
    let mut bodies = Vec::with_capacity(ends.len());
    let mut start = 1;
    for (index, value) in ends.iter().enumerate() {
        if index + 1 == ends.len() {
            bodies.push(Span::new(start, end - 1));
            break;
        }
        let comma = value + list[*value..].find(',')?;
        bodies.push(Span::new(start, comma));
        start = comma + 1;
        start += usize::from(list[start..].starts_with(' '));
    }
    Some(Outputs { bodies, end, found: Found::Values })
}

/// Whether a reply is a JSON value. The only reply of a list is then read back exactly, whatever
/// text follows the list.
pub(crate) fn is_value(body: &str) -> bool {
    if !begins_value(body) {
        return false;
    }
    let mut limits = Limits::default();
    // Its position in the list is after the `[`.
    limits.json_depth -= 1;
    let mut json = Json::new(body, &limits).without_notes();
    json.skip().is_ok() && json.end().is_ok()
}

/// Whether a text begins like a JSON value. Most outputs that are not JSON do not, and then no JSON
/// error has to be formatted.
fn begins_value(text: &str) -> bool {
    let first = text.trim_ascii_start().bytes().next();
    matches!(first, Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'))
}

/// Splits text that begins with `[`, up to the next control token, into replies to this number of
/// calls and the text after them.
pub(crate) fn split(text: &str, calls: usize, limits: &Limits) -> Outputs {
    let list = Scan::default().next(text);
    list.and_then(|end| values(&text[..end], calls, limits)).unwrap_or_else(|| guess(text))
}

/// Finds the end of a reply that is not JSON. It is the last possible end, because the output of a
/// tool must not be shown as an answer.
pub(super) fn guess(text: &str) -> Outputs {
    let Some(close) = last_end(text) else {
        let end = text.len();
        return Outputs { bodies: vec![Span::new(1, end)], end, found: Found::Open };
    };
    let is_sure = memchr::memchr(b']', text.as_bytes()) == Some(close);
    let found = if is_sure { Found::Text } else { Found::Guess };
    Outputs { bodies: vec![Span::new(1, close)], end: close + 1, found }
}

/// Returns the last `]` that closes everything opened before it. Quotation marks and braces count
/// only if the first reply begins like JSON.
fn last_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut last = None;
    if !text[1..].trim_ascii_start().starts_with(['{', '[', '"']) {
        let mut depth = 0_usize;
        for at in memchr::memchr2_iter(b'[', b']', bytes) {
            match bytes[at] {
                b'[' => depth += 1,
                _ => depth = depth.saturating_sub(1),
            }
            if bytes[at] == b']' && depth == 0 {
                last = Some(at);
            }
        }
        return last;
    }
    let (mut brackets, mut at) = (Brackets::default(), 0);
    while at < bytes.len() {
        at += brackets.idle(&bytes[at..]);
        let Some(byte) = bytes.get(at) else { break };
        brackets.step(*byte);
        if *byte == b']' && brackets.are_closed() {
            last = Some(at);
        }
        at += 1;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_end_where_they_can() {
        let cases: &[(&str, usize, &[&str], &str)] = &[
            ("[4]The answer", 1, &["4"], "The answer"),
            ("[4, 5] and", 2, &["4", "5"], " and"),
            ("[ 4 ,5]", 2, &[" 4 ", "5"], ""),
            (r#"["a]", {"b": ["]"]}]x"#, 2, &[r#""a]""#, r#"{"b": ["]"]}"#], "x"),
            (r#"[{"b": "\"}]"}]see [1]"#, 1, &[r#"{"b": "\"}]"}"#], "see [1]"),
            (r#"["\\"]see [1]"#, 1, &[r#""\\""#], "see [1]"),
            ("[4, 5]x", 1, &["4, 5"], "x"),
            ("[[1, 2]]x", 1, &["[1, 2]"], "x"),
            ("[]x", 1, &[""], "x"),
            ("[plain text]so", 1, &["plain text"], "so"),
            ("[plain text]see [1].", 1, &["plain text]see [1"], "."),
            ("[see [1]]so", 1, &["see [1]"], "so"),
            ("[a] b]so", 1, &["a] b"], "so"),
            ("[array[0]so", 1, &["array[0]so"], ""),
            ("[\"unclosed]so", 1, &["\"unclosed]so"], ""),
            ("[5\" long]so", 1, &["5\" long"], "so"),
            (r#"[{"log":"[INFO] so"#, 1, &[r#"{"log":"[INFO] so"#], ""),
            (r#"["a","k] so"#, 1, &[r#""a","k] so"#], ""),
            (r#"[["a"] so"#, 1, &[r#"["a"] so"#], ""),
            (r#"[{"x":"]"},so"#, 1, &[r#"{"x":"]"},so"#], ""),
            ("[log: [INFO] so", 1, &["log: [INFO] so"], ""),
            ("[no end", 1, &["no end"], ""),
            ("[a, b]x", 2, &["a, b"], "x"),
        ];
        for (text, calls, bodies, rest) in cases {
            let found = split(text, *calls, &Limits::default());
            let got: Vec<&str> = found.bodies.iter().map(|it| &text[it.range()]).collect();
            assert_eq!((got.as_slice(), &text[found.end..]), (*bodies, *rest), "{text}");
        }
    }
}
