//! Writes JSON as elements.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::declare::Types;
use crate::grammar::sections::Rules;
use crate::grammar::sections::in_body::Piece;
use crate::grammar::sections::parameters::as_json;
use crate::json::{Data, Value, write_string};
use crate::lex::{Lexeme, Lexer, Mode};
use crate::limits::Limits;
use crate::rules::{Elements, Words};

type Entries<'v> = [(Cow<'v, str>, Value<'v>)];

/// Returns arguments as they are read back if no tools are declared. `None` if they are no JSON
/// object, or cannot be written.
pub(in crate::grammar::sections) fn respelled(
    rules: &Rules,
    form: &Elements,
    text: &str,
    limits: &Limits,
) -> Option<String> {
    let value = Value::from_json(text, limits).ok()?;
    let Data::Map(entries) = &value.data else { return None };
    let mut speller = Speller { rules, form, limits, out: String::with_capacity(text.len()) };
    speller.object(entries)?;
    Some(speller.out)
}

struct Speller<'s> {
    rules: &'s Rules,
    form: &'s Elements,
    limits: &'s Limits,
    out: String,
}

impl Speller<'_> {
    /// Writes a value as it is read. Returns `None` if it cannot be written.
    fn value(&mut self, value: &Value<'_>) -> Option<()> {
        match &value.data {
            Data::Null => self.out.push_str("null"),
            Data::Bool(value) => self.out.push_str(word(*value)),
            Data::Number(number) => self.out.push_str(number),
            Data::String(text) => match as_json(text, Types::ANY, Words::Json, self.limits) {
                Some(json) => self.out.push_str(json),
                None => write_string(&mut self.out, text),
            },
            Data::List(items) if items.is_empty() => self.out.push_str("\"\""),
            Data::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.out.push_str(if index == 0 { "[" } else { ", " });
                    self.value(item)?;
                }
                self.out.push(']');
            }
            Data::Map(entries) => {
                let mut keys = members(entries).map(|(key, _)| key);
                match keys.next() {
                    None => self.out.push_str("\"\""),
                    // It is read as a list with one item.
                    Some(first) if first == self.form.item => {
                        if keys.next().is_some() {
                            return None;
                        }
                        let (_, item) = members(entries).next()?;
                        self.out.push('[');
                        self.value(item)?;
                        self.out.push(']');
                    }
                    Some(_) => self.object(entries)?,
                }
            }
        }
        Some(())
    }

    fn object(&mut self, entries: &Entries<'_>) -> Option<()> {
        let mut keys = HashSet::new();
        self.out.push('{');
        for (key, value) in members(entries) {
            if !self.can_be_named(key) || !keys.insert(key) {
                return None;
            }
            self.out.push_str(if keys.len() == 1 { "" } else { ", " });
            write_string(&mut self.out, key);
            self.out.push_str(": ");
            self.value(value)?;
        }
        self.out.push('}');
        Some(())
    }

    /// Whether an element can have this name: both of its tags are read as tags with this name.
    fn can_be_named(&self, name: &str) -> bool {
        let is_read = |token| {
            let tag = [self.rules.spelling(token), name, self.form.end].concat();
            let mut lexer = Lexer::new(self.rules.controls, Mode::Body, 0);
            let mut rest = &*tag;
            let is_token =
                |lexeme| matches!(lexeme, Lexeme::Control(control, _) if control == token);
            lexer.next(&mut rest, true).is_some_and(is_token)
        };
        !name.is_empty()
            && !name.contains(self.form.end)
            && [self.form.open, self.form.close].into_iter().all(is_read)
    }
}

/// Returns the members of an object that are written: those that are not `null`.
fn members<'e, 'v>(entries: &'e Entries<'v>) -> impl Iterator<Item = (&'e str, &'e Value<'v>)> {
    let members = entries.iter().map(|(key, value)| (&**key, value));
    members.filter(|(_, value)| !matches!(value.data, Data::Null))
}

fn word(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

/// Gives the pieces of arguments to `put`, each with its place. Text that is no JSON object is one
/// piece, which is not read back.
pub(in crate::grammar::sections) fn pieces<E>(
    rules: &Rules,
    form: &'static Elements,
    text: &str,
    put: &mut impl FnMut(usize, Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    match Value::from_json(text, &Limits::default()) {
        Ok(Value { data: Data::Map(entries), .. }) => Writer { rules, form, put }.object(&entries),
        _ => put(0, Piece::Text(text)),
    }
}

struct Writer<'w, P> {
    rules: &'w Rules,
    form: &'static Elements,
    put: &'w mut P,
}

impl<P> Writer<'_, P> {
    fn object<E>(&mut self, entries: &Entries<'_>) -> Result<(), E>
    where
        P: FnMut(usize, Piece<'_>) -> Result<(), E>,
    {
        members(entries).try_for_each(|(key, value)| self.element(Piece::Text(key), value))
    }

    fn element<E>(&mut self, name: Piece<'_>, value: &Value<'_>) -> Result<(), E>
    where
        P: FnMut(usize, Piece<'_>) -> Result<(), E>,
    {
        let at = value.span.start;
        let end = Piece::Word(self.form.end);
        for piece in [Piece::Token(self.form.open), name, end] {
            (self.put)(at, piece)?;
        }
        self.value(value)?;
        for piece in [Piece::Token(self.form.close), name, end] {
            (self.put)(at, piece)?;
        }
        Ok(())
    }

    fn value<E>(&mut self, value: &Value<'_>) -> Result<(), E>
    where
        P: FnMut(usize, Piece<'_>) -> Result<(), E>,
    {
        let at = value.span.start;
        match &value.data {
            Data::Null => (self.put)(at, Piece::Word("null")),
            Data::Bool(value) => (self.put)(at, Piece::Word(word(*value))),
            Data::Number(number) => (self.put)(at, Piece::Text(number)),
            Data::String(text) => self.rules.said(text, at, self.put),
            Data::List(items) => {
                let item = Piece::Word(self.form.item);
                items.iter().try_for_each(|value| self.element(item, value))
            }
            Data::Map(entries) => self.object(entries),
        }
    }
}
