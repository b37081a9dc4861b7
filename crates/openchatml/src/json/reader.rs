//! Reads JSON step by step.

use std::borrow::Cow;

use hifijson::SliceLexer;

use super::keys::Keys;
use crate::Span;
use crate::json::{Data, Value};
use crate::limits::{DEEPEST, Limits};

/// The error for invalid JSON, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonError {
    pub(crate) span: Span,
    pub(crate) message: Cow<'static, str>,
    /// The exceeded limit, if that is the reason.
    pub(crate) limit: Option<&'static str>,
}

/// What a reader repairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Half of a surrogate pair: valid JSON, but not valid text (RFC 8259 §8.2). U+FFFD replaces
    /// it.
    HalfPair,
    /// A control character without an escape.
    Control,
    /// A comma before `]`.
    Comma,
}

impl Repair {
    /// Returns the message for the repair.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::HalfPair => "half of a surrogate pair is not valid text",
            Self::Control => "a control character must be escaped",
            Self::Comma => "a comma is not allowed before `]`",
        }
    }
}

/// How to handle half of a surrogate pair in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halves {
    Refuse,
    /// Replace it with U+FFFD and record that.
    Repair,
    /// Accept it: it is valid JSON.
    Pass,
}

pub(crate) type Result<T> = std::result::Result<T, JsonError>;

/// Reads a JSON text from the front.
///
/// [`peek`](Self::peek) shows what is next. Each method reads one item, with the white space before
/// it.
#[derive(Debug)]
pub(crate) struct Json<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    depth: usize,
    max_depth: usize,
    /// The maximum number of notes of each kind. More diagnostics would not be shown.
    max_notes: usize,
    duplicates: Vec<(String, Span)>,
    /// Whether to repair control characters in strings, and commas before `]`.
    pub(crate) repairs: bool,
    pub(crate) halves: Halves,
    repaired: Vec<(Span, Repair)>,
    /// The number of repairs, also of those that are not noted.
    repair_count: usize,
    /// The text of the last string with escapes.
    pub(crate) unescaped: String,
}

impl<'a> Json<'a> {
    /// Creates a reader of `text` with the limits `json_depth` and `diagnostics`.
    pub(crate) fn new(text: &'a str, limits: &Limits) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            max_depth: limits.json_depth.min(DEEPEST),
            max_notes: limits.diagnostics.saturating_add(1),
            duplicates: Vec::new(),
            repairs: false,
            halves: Halves::Refuse,
            repaired: Vec::new(),
            repair_count: 0,
            unescaped: String::new(),
        }
    }

    /// Makes the reader repair what it can: U+FFFD replaces half of a surrogate pair, and control
    /// characters are accepted.
    pub(crate) fn repairing(mut self) -> Self {
        self.repairs = true;
        self.halves = Halves::Repair;
        self
    }

    /// Makes the reader accept half of a surrogate pair (RFC 8259 §8.2).
    pub(crate) fn passing_halves(mut self) -> Self {
        self.halves = Halves::Pass;
        self
    }

    /// Makes the reader ignore duplicate keys.
    pub(crate) fn without_notes(mut self) -> Self {
        self.max_notes = 0;
        self
    }

    /// Returns the start of the next item.
    pub(crate) fn offset(&mut self) -> usize {
        self.white_space();
        self.at
    }

    /// Returns the end of the last item.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Returns the text that is not read yet.
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Returns the text from `start` to the end of the last item.
    pub(crate) fn since(&self, start: usize) -> &'a str {
        &self.text[start..self.at]
    }

    /// Goes back to the start of an item, and forgets the notes since then.
    pub(crate) fn rewind(&mut self, start: usize) {
        self.at = start;
        self.forget(start);
    }

    /// Forgets the notes about the text from `start`, which another reader makes.
    pub(crate) fn forget(&mut self, start: usize) {
        self.duplicates.retain(|(_, span)| span.start < start);
        self.repaired.retain(|(span, _)| span.start < start);
    }

    /// Returns the number of repairs so far.
    pub(crate) fn repaired(&self) -> usize {
        self.repair_count
    }

    /// Returns the number of duplicate keys so far.
    pub(crate) fn duplicates(&self) -> usize {
        self.duplicates.len()
    }

    /// Whether one of the duplicate keys after the first `noted` is one of these. If there are too
    /// many to be recorded, it can be.
    pub(crate) fn has_duplicate(&self, noted: usize, is_one: impl Fn(&str) -> bool) -> bool {
        let new = self.duplicates.get(noted..).unwrap_or_default();
        self.duplicates.len() >= self.max_notes.max(1) || new.iter().any(|it| is_one(&it.0))
    }

    /// Skips `bytes` bytes without checks.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Returns the duplicate keys and their places.
    pub(crate) fn take_duplicates(&mut self) -> Vec<(String, Span)> {
        std::mem::take(&mut self.duplicates)
    }

    /// Returns the repairs and their places.
    pub(crate) fn take_repaired(&mut self) -> Vec<(Span, Repair)> {
        std::mem::take(&mut self.repaired)
    }

    /// Records a duplicate key.
    pub(crate) fn duplicate(&mut self, key: &str, span: Span) {
        if self.duplicates.len() < self.max_notes {
            self.duplicates.push((key.to_owned(), span));
        }
    }

    /// Records a repair.
    pub(crate) fn repair(&mut self, span: Span, what: Repair) {
        self.repair_count += 1;
        if self.repaired.len() < self.max_notes {
            self.repaired.push((span, what));
        }
    }

    /// Returns the first byte of the next item.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.white_space();
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn white_space(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// Creates an error at the next item.
    #[cold]
    pub(crate) fn unexpected(&mut self, wanted: &'static str) -> JsonError {
        let found = match self.peek() {
            None => "the end of the text",
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b'0'..=b'9' | b'-') => "a number",
            Some(b't' | b'f' | b'n') => "a word",
            Some(_) => "an unexpected character",
        };
        let end = self.at + self.rest().chars().next().map_or(0, char::len_utf8);
        JsonError {
            span: Span::new(self.at, end),
            message: format!("expected {wanted}, found {found}").into(),
            limit: None,
        }
    }

    #[cold]
    pub(crate) fn error(&self, span: Span, message: impl Into<Cow<'static, str>>) -> JsonError {
        JsonError { span, message: message.into(), limit: None }
    }

    /// Reads `byte`.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, wanted: &'static str) -> Result<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.unexpected(wanted))
    }

    /// Whether the first key of the next object is one of these, in the same spelling.
    pub(crate) fn begins_with(&mut self, keys: &[&str]) -> bool {
        let at = self.offset();
        let inside = self.text[at..].strip_prefix('{').map(|rest| rest.trim_ascii_start());
        let Some(first) = inside.and_then(|rest| rest.strip_prefix('"')) else { return false };
        keys.iter().any(|key| first.strip_prefix(key).is_some_and(|rest| rest.starts_with('"')))
    }

    /// Returns the first string under one of these `keys` in the next object, if it precedes the
    /// keys in `stops`. Nothing is consumed.
    pub(crate) fn ahead(&mut self, keys: &[&str], stops: &[&str]) -> Option<Cow<'a, str>> {
        let at = self.offset();
        let mut found = None;
        // Finding it stops the reading.
        let _ = self.reader_at(at).object(|json, name, span| {
            if keys.contains(&name.as_ref()) && json.peek() == Some(b'"') {
                found = Some(json.string()?.0);
            } else if !stops.contains(&name.as_ref()) {
                return json.pass();
            }
            Err(json.error(span, "found"))
        });
        found
    }

    /// Returns the first byte of the text from `at`.
    pub(crate) fn byte_at(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Returns the place of the value under this key in the object at byte `at`. Nothing is
    /// consumed.
    pub(crate) fn value_at(&self, key: &str, at: usize) -> Option<usize> {
        let mut found = None;
        // Finding it stops the reading.
        let _ = self.reader_at(at).object(|json, name, span| {
            if name != key {
                return json.pass();
            }
            found = Some(json.offset());
            Err(json.error(span, "found"))
        });
        found
    }

    /// Returns a reader of the text from byte `at`, which makes no notes.
    fn reader_at(&self, at: usize) -> Self {
        let (duplicates, repaired, unescaped) = (Vec::new(), Vec::new(), String::new());
        Json { duplicates, repaired, unescaped, at, ..*self }
    }

    /// Checks that only white space follows.
    pub(crate) fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => {
                let span = Span::new(self.at, self.text.len());
                Err(self.error(span, "unexpected text after the JSON value"))
            }
        }
    }

    fn enter(&mut self) -> Result<()> {
        if self.depth == self.max_depth {
            let message = format!("JSON exceeds the limit `json_depth` of {}", self.max_depth);
            let mut error = self.error(Span::new(self.at, self.at + 1), message);
            error.limit = Some("json_depth");
            return Err(error);
        }
        self.depth += 1;
        Ok(())
    }

    /// Reads an array and calls `item` at each item.
    pub(crate) fn array(&mut self, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<Span> {
        let start = self.offset();
        self.expect(b'[', "an array")?;
        self.at -= 1;
        self.enter()?;
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
        } else {
            loop {
                item(self)?;
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b']') => break self.at += 1,
                    _ => return Err(self.unexpected("`,` or `]`")),
                }
                let comma = Span::new(self.at - 1, self.at);
                if self.repairs && self.peek() == Some(b']') {
                    self.repair(comma, Repair::Comma);
                    break self.at += 1;
                }
            }
        }
        self.depth -= 1;
        Ok(Span::new(start, self.at))
    }

    /// Reads an object and calls `entry` at the value of each key.
    pub(crate) fn object(
        &mut self,
        mut entry: impl FnMut(&mut Self, Cow<'a, str>, Span) -> Result<()>,
    ) -> Result<Span> {
        let start = self.offset();
        self.expect(b'{', "an object")?;
        self.at -= 1;
        self.enter()?;
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
        } else {
            loop {
                if self.peek() != Some(b'"') {
                    return Err(self.unexpected("a key"));
                }
                let (key, span) = self.string()?;
                self.expect(b':', "`:`")?;
                entry(self, key, span)?;
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b'}') => break self.at += 1,
                    _ => return Err(self.unexpected("`,` or `}`")),
                }
            }
        }
        self.depth -= 1;
        Ok(Span::new(start, self.at))
    }

    /// Reads a number and returns its spelling.
    pub(crate) fn number(&mut self) -> Result<&'a str> {
        use hifijson::num::LexWrite as _;
        let start = self.offset();
        let rest = &self.text.as_bytes()[start..];
        let mut lexer = SliceLexer::new(rest);
        let valid = lexer.num_string().validated().is_ok();
        let len = rest.len() - lexer.as_slice().len();
        if !valid || len == 0 {
            let end = (start + len.max(1)).min(self.text.len());
            return Err(self.error(Span::new(start, end), "invalid number"));
        }
        self.at = start + len;
        Ok(&self.text[start..self.at])
    }

    /// Reads `true`, `false` or `null`.
    pub(crate) fn word(&mut self) -> Result<Option<bool>> {
        self.white_space();
        for (word, value) in [("true", Some(true)), ("false", Some(false)), ("null", None)] {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.unexpected("a value"))
    }

    /// Reads a boolean.
    pub(crate) fn boolean(&mut self) -> Result<bool> {
        match self.peek() {
            Some(b't' | b'f') => Ok(self.word()?.unwrap_or_default()),
            _ => Err(self.unexpected("`true` or `false`")),
        }
    }

    /// Reads a value of any kind.
    pub(crate) fn value(&mut self) -> Result<Value<'a>> {
        let start = self.offset();
        let data = match self.peek() {
            Some(b'"') => Data::String(self.string()?.0),
            Some(b'0'..=b'9' | b'-') => Data::Number(self.number()?.into()),
            Some(b'[') => {
                let mut items = Vec::new();
                self.array(|json| {
                    items.push(json.value()?);
                    Ok(())
                })?;
                Data::List(items)
            }
            Some(b'{') => self.map()?,
            _ => self.word()?.map_or(Data::Null, Data::Bool),
        };
        Ok(Value { data, span: Span::new(start, self.at) })
    }

    fn map(&mut self) -> Result<Data<'a>> {
        let mut entries: Vec<(Cow<'a, str>, Value<'a>)> = Vec::new();
        let mut keys = Keys::default();
        let mut repeats = false;
        self.object(|json, key, span| {
            if let Err(key) = keys.insert(key.clone()) {
                json.duplicate(&key, span);
                repeats = true;
            }
            let value = json.value()?;
            entries.push((key, value));
            Ok(())
        })?;
        if repeats {
            // The last value is used, at the position of the first.
            let mut at = std::collections::HashMap::new();
            let mut unique: Vec<(Cow<'a, str>, Value<'a>)> = Vec::new();
            for (key, value) in entries {
                match at.get(&key) {
                    Some(place) => {
                        let entry: &mut (_, _) = &mut unique[*place];
                        entry.1 = value;
                    }
                    None => {
                        at.insert(key.clone(), unique.len());
                        unique.push((key, value));
                    }
                }
            }
            entries = unique;
        }
        Ok(Data::Map(entries))
    }

    /// Skips a value of any kind. The caller checks its keys when it reads the value later.
    pub(crate) fn pass(&mut self) -> Result<()> {
        let noted = self.duplicates.len();
        self.skip()?;
        self.duplicates.truncate(noted);
        Ok(())
    }

    /// Skips a value of any kind, but records duplicate keys.
    pub(crate) fn skip(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'"') => self.skip_string(),
            Some(b'0'..=b'9' | b'-') => self.number().map(|_| ()),
            Some(b'[') => self.array(Self::skip).map(|_| ()),
            Some(b'{') => {
                let mut keys = (self.max_notes > 0).then(Keys::default);
                self.object(|json, key, span| {
                    if let Some(Err(key)) = keys.as_mut().map(|keys| keys.insert(key)) {
                        json.duplicate(&key, span);
                    }
                    json.skip()
                })
                .map(|_| ())
            }
            _ => self.word().map(|_| ()),
        }
    }
}
