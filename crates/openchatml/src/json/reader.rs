//! Reading JSON, pulled piece by piece.

use std::borrow::Cow;

use hifijson::SliceLexer;

use super::keys::Keys;
use crate::Span;
use crate::json::{Data, Value};
use crate::limits::{DEEPEST, Limits};

/// Why a text is not the JSON that was wanted, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonError {
    pub(crate) span: Span,
    pub(crate) message: Cow<'static, str>,
    /// The limit that was exceeded, if that is why.
    pub(crate) limit: Option<&'static str>,
}

/// What a reader repairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Half of a surrogate pair: JSON, but no text (RFC 8259 §8.2). U+FFFD stands for it.
    HalfPair,
    /// A control character as it is.
    Control,
    /// A comma before `]`.
    Comma,
}

impl Repair {
    /// What was found.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::HalfPair => "half of a surrogate pair: JSON allows it, but no text can hold it",
            Self::Control => "a control character that is not escaped",
            Self::Comma => "a comma before `]`",
        }
    }
}

/// What is done about half of a surrogate pair in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halves {
    Refuse,
    /// U+FFFD, and that is noted.
    Repair,
    /// Nothing: it is JSON.
    Pass,
}

pub(crate) type Result<T> = std::result::Result<T, JsonError>;

/// Reads one JSON text from its front.
///
/// What is at the front is known from [`peek`](Self::peek); each method takes one thing, with the
/// white space before it.
#[derive(Debug)]
pub(crate) struct Json<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    depth: usize,
    max_depth: usize,
    /// No more of each kind are noted: more findings than the limit are not shown.
    max_notes: usize,
    duplicates: Vec<(String, Span)>,
    /// Whether raw control characters in strings, and commas before `]`, are repaired.
    pub(crate) repairs: bool,
    pub(crate) halves: Halves,
    repaired: Vec<(Span, Repair)>,
    /// The text of the last string that had escapes.
    pub(crate) unescaped: String,
}

impl<'a> Json<'a> {
    /// A reader of `text` within the limits `json_depth` and `diagnostics`.
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
            unescaped: String::new(),
        }
    }

    /// Repairs what can be repaired: U+FFFD for half a surrogate pair, raw line breaks and other
    /// control characters taken as they are.
    pub(crate) fn repairing(mut self) -> Self {
        self.repairs = true;
        self.halves = Halves::Repair;
        self
    }

    /// Takes half a surrogate pair for what it is: JSON (RFC 8259 §8.2).
    pub(crate) fn passing_halves(mut self) -> Self {
        self.halves = Halves::Pass;
        self
    }

    /// Notes no keys that are given twice.
    pub(crate) fn without_notes(mut self) -> Self {
        self.max_notes = 0;
        self
    }

    /// Where the next thing begins.
    pub(crate) fn offset(&mut self) -> usize {
        self.white_space();
        self.at
    }

    /// Where the last thing ended.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The text that is not read yet.
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The text from `start` up to the end of the last thing.
    pub(crate) fn since(&self, start: usize) -> &'a str {
        &self.text[start..self.at]
    }

    /// Goes back to where something began, and forgets what was found since.
    pub(crate) fn rewind(&mut self, start: usize) {
        self.at = start;
        self.duplicates.retain(|(_, span)| span.start < start);
        self.repaired.retain(|(span, _)| span.start < start);
    }

    /// How much was repaired so far.
    pub(crate) fn repaired(&self) -> usize {
        self.repaired.len()
    }

    /// Takes `bytes` bytes without looking at them.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// The keys that were given twice in an object, and where.
    pub(crate) fn take_duplicates(&mut self) -> Vec<(String, Span)> {
        std::mem::take(&mut self.duplicates)
    }

    /// What was repaired, and where.
    pub(crate) fn take_repaired(&mut self) -> Vec<(Span, Repair)> {
        std::mem::take(&mut self.repaired)
    }

    /// Notes a key that is given twice.
    pub(crate) fn duplicate(&mut self, key: &str, span: Span) {
        if self.duplicates.len() < self.max_notes {
            self.duplicates.push((key.to_owned(), span));
        }
    }

    /// Notes something that is repaired.
    pub(crate) fn repair(&mut self, span: Span, what: Repair) {
        if self.repaired.len() < self.max_notes {
            self.repaired.push((span, what));
        }
    }

    /// The first byte of the next thing.
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

    /// An error at the next thing.
    #[cold]
    pub(crate) fn unexpected(&mut self, wanted: &'static str) -> JsonError {
        let found = match self.peek() {
            None => "the end",
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b'0'..=b'9' | b'-') => "a number",
            Some(b't' | b'f' | b'n') => "a word",
            Some(_) => "something else",
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

    /// Takes `byte`.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, wanted: &'static str) -> Result<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.unexpected(wanted))
    }

    /// Whether the first key of the object that comes next is one of these, as it is spelled.
    pub(crate) fn begins_with(&mut self, keys: &[&str]) -> bool {
        let at = self.offset();
        let inside = self.text[at..].strip_prefix('{').map(|rest| rest.trim_ascii_start());
        let Some(first) = inside.and_then(|rest| rest.strip_prefix('"')) else { return false };
        keys.iter().any(|key| first.strip_prefix(key).is_some_and(|rest| rest.starts_with('"')))
    }

    /// The first string under one of these `keys` in the object that comes next, if there is one
    /// before the keys in `stops`. Nothing is taken.
    pub(crate) fn ahead(&mut self, keys: &[&str], stops: &[&str]) -> Option<Cow<'a, str>> {
        let at = self.offset();
        let mut ahead = Json {
            duplicates: Vec::new(),
            repaired: Vec::new(),
            unescaped: String::new(),
            at,
            ..*self
        };
        let mut found = None;
        // That it was found ends the reading.
        let _ = ahead.object(|json, name, span| {
            if keys.contains(&name.as_ref()) && json.peek() == Some(b'"') {
                found = Some(json.string()?.0);
            } else if !stops.contains(&name.as_ref()) {
                return json.pass();
            }
            Err(json.error(span, "found"))
        });
        found
    }

    /// Nothing but white space may be left.
    pub(crate) fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => {
                let span = Span::new(self.at, self.text.len());
                Err(self.error(span, "more text after the JSON value"))
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

    /// Takes an array, calling `item` at each of its items.
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

    /// Takes an object, calling `entry` at the value of each key.
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

    /// Takes a number as it is spelled.
    pub(crate) fn number(&mut self) -> Result<&'a str> {
        use hifijson::num::LexWrite as _;
        let start = self.offset();
        let rest = &self.text.as_bytes()[start..];
        let mut lexer = SliceLexer::new(rest);
        let valid = lexer.num_string().validated().is_ok();
        let len = rest.len() - lexer.as_slice().len();
        if !valid || len == 0 {
            let end = (start + len.max(1)).min(self.text.len());
            return Err(self.error(Span::new(start, end), "this is not a number"));
        }
        self.at = start + len;
        Ok(&self.text[start..self.at])
    }

    /// Takes `true`, `false` or `null`.
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

    /// Takes a boolean.
    pub(crate) fn boolean(&mut self) -> Result<bool> {
        match self.peek() {
            Some(b't' | b'f') => Ok(self.word()?.unwrap_or_default()),
            _ => Err(self.unexpected("`true` or `false`")),
        }
    }

    /// Takes a value of any kind.
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
            // The last one counts, in the place of the first.
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

    /// Takes a value of any kind and leaves it. Whoever reads it has its keys to check.
    pub(crate) fn pass(&mut self) -> Result<()> {
        let noted = self.duplicates.len();
        self.skip()?;
        self.duplicates.truncate(noted);
        Ok(())
    }

    /// Takes a value of any kind and leaves it, noting repeated keys.
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
