//! Decides whether text can be calls in JSON, as it arrives.

use super::GuardedCall;
use crate::Span;
use crate::grammar::brackets::Brackets;
use crate::json::Json;
use crate::limits::Limits;
use crate::rules::CallForm;

/// One or more objects, each with a key for the name, a key for the arguments, and no others. The
/// arguments are checked only when the text is complete.
#[derive(Debug)]
pub(super) struct JsonCalls {
    names: &'static [&'static str],
    arguments: &'static [&'static str],
    ignored: &'static [(&'static str, &'static str)],
    /// Whether the objects are in a list.
    is_list: bool,
    state: State,
    /// The key or the value that is read.
    word: String,
    has_name: bool,
    has_arguments: bool,
    /// The number of complete objects.
    count: usize,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before the bracket of a list.
    List,
    /// Before an object.
    Object,
    /// Before a key.
    Key,
    InKey,
    /// Between a key and its colon.
    Colon(Value),
    /// Before a value.
    Value(Value),
    /// In a name or an ignored value, and whether the next byte is escaped.
    String(Value, bool),
    Arguments(Brackets),
    /// After a value.
    Comma,
    /// After an object.
    End,
    /// After the whole list.
    Closed,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Name,
    Arguments,
    Ignored(&'static str),
}

impl JsonCalls {
    pub(super) fn new(form: &CallForm) -> Self {
        let (names, arguments, ignored) = match *form {
            CallForm::Json { names, arguments, ignored } => (names, arguments, ignored),
            CallForm::JsonList { names, arguments } => (names, arguments, Default::default()),
            _ => Default::default(),
        };
        let is_list = matches!(form, CallForm::JsonList { .. });
        Self {
            names,
            arguments,
            ignored,
            is_list,
            state: if is_list { State::List } else { State::Object },
            word: String::new(),
            has_name: false,
            has_arguments: false,
            count: 0,
        }
    }

    /// Reads more text. Returns the number of bytes before the first character with which the text
    /// cannot be calls.
    pub(super) fn push(&mut self, text: &str) -> Result<(), usize> {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            if let State::Arguments(brackets) = &mut self.state {
                at += brackets.idle(&bytes[at..]);
                let Some(byte) = bytes.get(at) else { break };
                brackets.step(*byte);
                if brackets.are_closed() {
                    self.state = State::Comma;
                }
            } else {
                self.state = self.next(*byte).ok_or(text.floor_char_boundary(at))?;
            }
            at += 1;
        }
        Ok(())
    }

    pub(super) fn is_in_string(&self) -> bool {
        match self.state {
            State::Arguments(brackets) => brackets.is_in_string(),
            _ => false,
        }
    }

    fn next(&mut self, byte: u8) -> Option<State> {
        match self.state {
            State::InKey if byte == b'"' => return self.key(),
            State::InKey => return self.may_be_key(byte).then_some(State::InKey),
            State::String(value, is_escaped) => return self.string(value, is_escaped, byte),
            _ => {}
        }
        if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            return Some(self.state);
        }
        Some(match (self.state, byte) {
            (State::List, b'[') => State::Object,
            (State::End, b',') if self.is_list => State::Object,
            (State::End, b']') if self.is_list => State::Closed,
            (State::End, _) if self.is_list => return None,
            (State::Object | State::End, b'{') => {
                (self.has_name, self.has_arguments) = (false, false);
                State::Key
            }
            (State::End, b';') => State::Object,
            (State::Key, b'"') => {
                self.word.clear();
                State::InKey
            }
            (State::Colon(value), b':') => State::Value(value),
            (State::Value(Value::Arguments), b'{') => {
                let mut brackets = Brackets::default();
                brackets.step(byte);
                State::Arguments(brackets)
            }
            (State::Value(value @ (Value::Name | Value::Ignored(_))), b'"') => {
                self.word.clear();
                State::String(value, false)
            }
            (State::Comma, b',') => State::Key,
            (State::Comma, b'}') if self.has_name && self.has_arguments => {
                self.count += 1;
                State::End
            }
            _ => return None,
        })
    }

    /// Whether a key can begin with the key so far and this byte.
    fn may_be_key(&mut self, byte: u8) -> bool {
        self.word.push(char::from(byte));
        let ignored = self.ignored.iter().map(|(key, _)| key);
        let mut keys = self.names.iter().chain(self.arguments).chain(ignored);
        keys.any(|key| key.starts_with(&self.word))
    }

    fn key(&mut self) -> Option<State> {
        let word = self.word.as_str();
        let value = match self.ignored.iter().find(|(key, _)| *key == word) {
            Some((_, value)) => Value::Ignored(value),
            None if self.names.contains(&word) => Value::Name,
            None if self.arguments.contains(&word) => Value::Arguments,
            None => return None,
        };
        let is_double = match value {
            Value::Name => std::mem::replace(&mut self.has_name, true),
            Value::Arguments => std::mem::replace(&mut self.has_arguments, true),
            Value::Ignored(_) => false,
        };
        (!is_double).then_some(State::Colon(value))
    }

    fn string(&mut self, value: Value, is_escaped: bool, byte: u8) -> Option<State> {
        if let Value::Ignored(wanted) = value {
            if byte == b'"' {
                return (self.word == wanted).then_some(State::Comma);
            }
            self.word.push(char::from(byte));
            return wanted.starts_with(&self.word).then_some(State::String(value, false));
        }
        match byte {
            _ if is_escaped => {}
            b'\\' => return Some(State::String(value, true)),
            b'"' => return Some(State::Comma),
            _ => {}
        }
        Some(State::String(value, false))
    }

    /// Returns the calls of the whole text, if it is complete and valid.
    pub(super) fn calls(self, text: &str, limits: &Limits) -> Option<Vec<GuardedCall>> {
        if !matches!((self.state, self.is_list), (State::End, false) | (State::Closed, true)) {
            return None;
        }
        let mut json = Json::new(text, limits).without_notes();
        let mut calls = Vec::with_capacity(self.count);
        while let Some(byte) = json.peek() {
            if matches!(byte, b';' | b'[' | b',') {
                json.advance(1);
            }
            if byte == b']' {
                break;
            }
            let (mut name, mut place) = (None, None);
            let mut keys = Vec::new();
            json.object(|json, key, _| {
                keys.push(key.clone());
                if self.names.contains(&&*key) {
                    name = Some(json.string()?.0.into_owned());
                    return Ok(());
                }
                let start = json.offset();
                json.skip()?;
                if self.arguments.contains(&&*key) {
                    place = Some(Span::new(start, json.position()));
                }
                Ok(())
            })
            .ok()?;
            let name = name.filter(|name| !name.trim().is_empty())?;
            let is_plain = keys.iter().map(|key| &**key).eq(self
                .names
                .iter()
                .take(1)
                .chain(self.arguments.iter().take(1))
                .copied());
            let (place, end) = (place?, json.position());
            calls.push(GuardedCall { name, place, json: None, end, is_plain });
        }
        Some(calls)
    }
}
