//! Preserves data that `serde_json` would change: numbers with more than 64 bits or an unusual
//! spelling, and keys that it reserves.
//!
//! The types of the SDK contain JSON as [`serde_json::Value`], which has 64 bits for a number. A
//! number that does not fit passes through the SDK as a string with a secret mark. The mark is
//! removed before the text reaches the server, the model or a header. Keys that `serde_json`
//! reserves get the same mark: it would replace the object by the JSON in its string.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use memchr::{memchr2, memmem};
use serde_json::{Map, Number, Value};
use tokio::io::AsyncWrite;

use crate::Failure;

/// The keys whose values are JSON in the SDK. Other values have types of the SDK, where a string
/// would be wrong.
const KEYS: [&[u8]; 2] = [b"structuredContent", b"inputSchema"];

/// The keys that `serde_json` reserves. The second one has a meaning only in builds that store
/// numbers as text.
const PRIVATE: [&str; 2] = ["$serde_json::private::RawValue", "$serde_json::private::Number"];

/// Masks and restores numbers, with the mark of one connection.
#[derive(Clone, Debug)]
pub(super) struct ExactNumbers {
    mark: Arc<str>,
}

impl ExactNumbers {
    pub(super) fn new() -> Self {
        // Each `RandomState` has its own random keys.
        let [first, second] = [0; 2].map(|none: u64| RandomState::new().hash_one(none));
        Self { mark: format!("openchatml-digits-{first:016x}{second:016x}:").into() }
    }

    /// Returns a masker for the messages of a server.
    pub(super) fn hider(&self) -> NumberHider {
        NumberHider::new(self.mark.clone(), false)
    }

    /// Masks the numbers in a message of a server.
    pub(super) fn hide(&self, text: &[u8]) -> Vec<u8> {
        hidden(self.hider(), text)
    }

    /// Masks the numbers in the arguments of a call.
    pub(super) fn arguments(&self, text: &str) -> Result<Map<String, Value>, Failure> {
        let text = hidden(NumberHider::new(self.mark.clone(), true), text.as_bytes());
        serde_json::from_slice(&text)
            .map_err(|_| Failure::new("the arguments are not a JSON object"))
    }

    /// Restores the numbers and keys in JSON.
    pub(super) fn restore<'t>(&self, json: &'t str) -> Cow<'t, str> {
        let quoted = format!("\"{}", self.mark);
        let mut parts = json.split(&quoted);
        let first = parts.next().unwrap_or_default();
        if first.len() == json.len() {
            return Cow::Borrowed(json);
        }
        let mut text = first.to_owned();
        for part in parts {
            if !part.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
                // A key.
                text.push('"');
                text.push_str(part);
                continue;
            }
            let (number, rest) = part.split_once('"').unwrap_or((part, ""));
            text.push_str(number);
            text.push_str(rest);
        }
        Cow::Owned(text)
    }

    /// Removes the mark from text that is not JSON.
    pub(super) fn without_mark<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if text.contains(&*self.mark) {
            Cow::Owned(text.replace(&*self.mark, ""))
        } else {
            Cow::Borrowed(text)
        }
    }
}

fn hidden(mut hider: NumberHider, text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    hider.feed(text, &mut out);
    hider.end(&mut out);
    out
}

/// Masks numbers and the keys in [`PRIVATE`] in JSON that arrives in parts. Text that is not JSON
/// is not changed.
pub(super) struct NumberHider {
    mark: Arc<str>,
    /// Whether all numbers are masked, and not only those in the values of [`KEYS`].
    is_everywhere: bool,
    depth: usize,
    /// The depth of the value in which numbers are masked.
    hides_from: Option<usize>,
    /// Whether numbers are masked in the next value.
    is_next: bool,
    place: Place,
    /// The beginning of the last string, up to the length of a key.
    key: Vec<u8>,
    number: Vec<u8>,
    /// A string that may be a key in [`PRIVATE`], including its quote. It is held back until this
    /// is known.
    held: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Value,
    String,
    Escape,
    Number,
    /// After a string, which may be a key.
    AfterString,
}

impl NumberHider {
    fn new(mark: Arc<str>, is_everywhere: bool) -> Self {
        let (key, number, held) = (Vec::new(), Vec::new(), Vec::new());
        let (depth, hides_from, is_next, place) = (0, None, false, Place::Value);
        Self { mark, is_everywhere, depth, hides_from, is_next, place, key, number, held }
    }

    pub(super) fn feed(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while let Some((&byte, rest)) = bytes.split_first() {
            match self.place {
                Place::String => {
                    let end = memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
                    let (text, rest) = bytes.split_at(end);
                    self.key_part(text);
                    self.string_part(text, out);
                    let Some((&byte, rest)) = rest.split_first() else { return };
                    self.string_part(&[byte], out);
                    self.place = if byte == b'"' { Place::AfterString } else { Place::Escape };
                    if byte == b'"' && !is_private(&self.held) {
                        out.append(&mut self.held);
                    }
                    bytes = rest;
                    continue;
                }
                Place::Escape => {
                    self.key_part(b"\\");
                    self.string_part(&[byte], out);
                    self.place = Place::String;
                }
                Place::Number if is_of_number(byte) => self.number.push(byte),
                Place::Number => {
                    self.end(out);
                    continue;
                }
                Place::Value | Place::AfterString => self.value(byte, out),
            }
            bytes = rest;
        }
    }

    /// Ends a message, and resets the state for the next one.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
        if self.place == Place::Number {
            self.end_number(out);
            self.place = Place::Value;
        }
    }

    /// Drops the state of the current message.
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.mark.clone(), self.is_everywhere);
    }

    fn value(&mut self, byte: u8, out: &mut Vec<u8>) {
        if !self.held.is_empty() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => return self.held.push(byte),
                b':' => {
                    out.push(b'"');
                    out.extend_from_slice(self.mark.as_bytes());
                    out.extend_from_slice(&self.held[1..]);
                    self.held.clear();
                }
                _ => out.append(&mut self.held),
            }
        }
        let is_hidden = self.is_everywhere || self.is_next || self.hides_from.is_some();
        match byte {
            b'"' => {
                self.key.clear();
                self.place = Place::String;
                self.held.push(byte);
                return;
            }
            b'-' | b'0'..=b'9' if is_hidden => {
                self.number.push(byte);
                self.place = Place::Number;
                return;
            }
            b':' if self.place == Place::AfterString => {
                self.is_next = KEYS.contains(&&*self.key);
                self.place = Place::Value;
            }
            b'{' | b'[' => {
                if std::mem::take(&mut self.is_next) && self.hides_from.is_none() {
                    self.hides_from = Some(self.depth);
                }
                self.depth += 1;
                self.place = Place::Value;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.hides_from == Some(self.depth) {
                    self.hides_from = None;
                }
                self.is_next = false;
                self.place = Place::Value;
            }
            b',' => {
                self.is_next = false;
                self.place = Place::Value;
            }
            _ => {}
        }
        out.push(byte);
    }

    /// Adds a part of a string, up to the length of the longest of [`KEYS`].
    fn key_part(&mut self, part: &[u8]) {
        const LONGEST: usize = 32;
        let room = LONGEST.saturating_sub(self.key.len());
        self.key.extend_from_slice(&part[..part.len().min(room)]);
    }

    /// Adds a part of a string in its spelling.
    fn string_part(&mut self, part: &[u8], out: &mut Vec<u8>) {
        /// An escape such as `\u0024` has six characters for one.
        const LONGEST: usize = 6 * PRIVATE[0].len() + 2;
        if self.held.is_empty() {
            return out.extend_from_slice(part);
        }
        let room = LONGEST.saturating_sub(self.held.len());
        let fits = part.len() <= room;
        self.held.extend_from_slice(&part[..part.len().min(room)]);
        let may_be_private = self.held.get(1).is_none_or(|it| matches!(it, b'$' | b'\\' | b'"'));
        if !fits || !may_be_private {
            out.append(&mut self.held);
            out.extend_from_slice(&part[part.len().min(room)..]);
        }
    }

    fn end_number(&mut self, out: &mut Vec<u8>) {
        let number = std::mem::take(&mut self.number);
        let text = str::from_utf8(&number).unwrap_or_default();
        let is_kept = match serde_json::from_str::<Number>(text) {
            Ok(read) => read.to_string() == text,
            // The text is not a JSON number, or the number is out of range.
            Err(_) => openchatml::Value::from_json(text, &openchatml::Limits::default()).is_err(),
        };
        if is_kept {
            out.extend_from_slice(&number);
        } else {
            out.push(b'"');
            out.extend_from_slice(self.mark.as_bytes());
            out.extend_from_slice(&number);
            out.push(b'"');
        }
    }
}

/// Whether a string, with its quotes, is one of [`PRIVATE`].
fn is_private(string: &[u8]) -> bool {
    serde_json::from_slice::<String>(string).is_ok_and(|it| PRIVATE.contains(&&*it))
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}

/// Restores the numbers in the lines that are written.
pub(super) struct RestoringWriter<W> {
    inner: W,
    exact_numbers: ExactNumbers,
    /// The incomplete line.
    line: Vec<u8>,
    /// The bytes to write.
    out: Vec<u8>,
    written: usize,
}

impl<W: AsyncWrite + Unpin> RestoringWriter<W> {
    pub(super) fn new(inner: W, exact_numbers: ExactNumbers) -> Self {
        Self { inner, exact_numbers, line: Vec::new(), out: Vec::new(), written: 0 }
    }

    fn take(&mut self, bytes: &[u8]) {
        let Some(end) = memchr::memrchr(b'\n', bytes) else {
            return self.line.extend_from_slice(bytes);
        };
        let (whole, rest) = bytes.split_at(end + 1);
        self.line.extend_from_slice(whole);
        match str::from_utf8(&self.line) {
            Ok(text) if memmem::find(&self.line, self.exact_numbers.mark.as_bytes()).is_some() => {
                self.out.extend_from_slice(self.exact_numbers.restore(text).as_bytes());
            }
            _ => self.out.extend_from_slice(&self.line),
        }
        self.line.clear();
        self.line.extend_from_slice(rest);
    }

    fn drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.out.len() {
            let rest = &self.out[self.written..];
            let written = ready!(Pin::new(&mut self.inner).poll_write(context, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += written;
        }
        self.out.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for RestoringWriter<W> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.drain(context))?;
        this.take(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.drain(context))?;
        Pin::new(&mut this.inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.drain(context))?;
        Pin::new(&mut this.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::{ExactNumbers, RestoringWriter};

    const MESSAGE: &str = r#"{"id":18446744073709551616,"result":{"structuredContent":
        {"a":18446744073709551616,"b":[-0,1.50,1e400,0.1,7],"c\"":{"d":1E2}},"e":1.50},"f":"1.50"}"#;

    #[test]
    fn numbers_pass_through_the_sdk_as_they_are_spelled() {
        let exact_numbers = ExactNumbers::new();
        let hidden = exact_numbers.hide(MESSAGE.as_bytes());
        let value: serde_json::Value = serde_json::from_slice(&hidden).unwrap();
        assert!(value["result"]["structuredContent"]["a"].is_string());
        assert!(value["result"]["structuredContent"]["b"][3].is_f64());
        // Values that are not JSON in the SDK are not changed.
        assert!(value["id"].is_f64() && value["result"]["e"].is_f64());
        assert_eq!(value["f"], "1.50");
        assert_eq!(exact_numbers.restore(str::from_utf8(&hidden).unwrap()), MESSAGE);
        // Splitting the input anywhere gives the same result.
        for at in 0..MESSAGE.len() {
            let (mut hider, mut out) = (exact_numbers.hider(), Vec::new());
            hider.feed(&MESSAGE.as_bytes()[..at], &mut out);
            hider.feed(&MESSAGE.as_bytes()[at..], &mut out);
            assert_eq!(out, hidden, "cut at {at}");
        }
    }

    #[test]
    fn private_keys_pass_through_the_sdk_as_they_are() {
        const KEY: &str = "$serde_json::private::RawValue";
        let spelled = KEY.replace('$', r"\u0024").replace("private", r"priv\u0061te");
        let exact_numbers = ExactNumbers::new();
        for key in [KEY, &spelled] {
            let text = format!(
                r#"{{"_meta":[{{"{key}" : "{{]"}}],"inputSchema":{{"a":{{"{key}":"[1]","b":"{key}"}}}}}}"#
            );
            let hidden = exact_numbers.hide(text.as_bytes());
            let value: serde_json::Value = serde_json::from_slice(&hidden).unwrap();
            let value = value.to_string();
            let plain: openchatml::Value<'_> =
                openchatml::Value::from_json(&text, &openchatml::Limits::default()).unwrap();
            assert_eq!(exact_numbers.restore(&value), plain.to_json());
            for at in 0..text.len() {
                let (mut hider, mut out) = (exact_numbers.hider(), Vec::new());
                hider.feed(&text.as_bytes()[..at], &mut out);
                hider.feed(&text.as_bytes()[at..], &mut out);
                hider.end(&mut out);
                assert_eq!(out, hidden, "cut at {at}");
            }
            let arguments =
                exact_numbers.arguments(&format!(r#"{{"a":{{"{key}":"1"}},"{key}":"2"}}"#));
            let arguments = serde_json::to_string(&arguments.unwrap()).unwrap();
            assert_eq!(
                exact_numbers.restore(&arguments),
                format!(r#"{{"a":{{"{KEY}":"1"}},"{KEY}":"2"}}"#)
            );
        }
    }

    #[test]
    fn text_that_is_not_a_json_number_is_not_changed() {
        let exact_numbers = ExactNumbers::new();
        for text in ["{", "01", "1.", "-", "structuredContent: 1.50", r#""a": 1.50"#, "1e", "\"1"] {
            assert_eq!(exact_numbers.hide(text.as_bytes()), text.as_bytes());
        }
        assert!(exact_numbers.arguments("[1]").is_err());
        let arguments = exact_numbers.arguments(r#"{"a":1.50}"#).unwrap();
        assert!(exact_numbers.without_mark(arguments["a"].as_str().unwrap()) == "1.50");
    }

    #[tokio::test]
    async fn written_lines_keep_their_digits() {
        use tokio::io::AsyncWriteExt as _;
        let exact_numbers = ExactNumbers::new();
        let hidden = exact_numbers.hide(br#"{"inputSchema":{"maximum":100000000000000000000}}"#);
        let line = [hidden, b"\n".to_vec()].concat();
        for at in 0..line.len() {
            let mut out = Vec::new();
            let mut writer = RestoringWriter::new(&mut out, exact_numbers.clone());
            writer.write_all(&line[..at]).await.unwrap();
            writer.write_all(&line[at..]).await.unwrap();
            writer.flush().await.unwrap();
            assert_eq!(out, b"{\"inputSchema\":{\"maximum\":100000000000000000000}}\n");
        }
    }
}
