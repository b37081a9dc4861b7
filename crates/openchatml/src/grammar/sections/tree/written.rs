//! Writes JSON in the syntax of arguments.

use std::borrow::Cow;

use crate::grammar::sections::Rules;
use crate::grammar::sections::in_body::Piece;
use crate::json::{Data, Value, write_string};
use crate::lex::{Lexeme, Lexer, Mode};
use crate::limits::Limits;
use crate::rules::Tree;

/// Returns arguments as they are read back. `None` if they are no JSON object, or cannot be written.
pub(in crate::grammar::sections) fn respelled(text: &str, limits: &Limits) -> Option<String> {
    let value = object(text, limits)?;
    let mut out = String::with_capacity(text.len());
    spell(&value, &mut out)?;
    Some(out)
}

/// Sorts the keys of objects like templates do: ignoring case.
pub(in crate::grammar::sections) fn sorted(value: Value<'_>) -> Value<'_> {
    let Value { data, span, .. } = value;
    let data = match data {
        Data::List(items) => Data::List(items.into_iter().map(sorted).collect()),
        Data::Map(entries) => {
            let mut entries: Vec<_> =
                entries.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by_cached_key(|(key, _)| key.to_lowercase());
            Data::Map(entries)
        }
        data => data,
    };
    Value { data, span }
}

fn object<'t>(text: &'t str, limits: &Limits) -> Option<Value<'t>> {
    let value = Value::from_json(text, limits).ok()?;
    matches!(value.data, Data::Map(_)).then_some(value)
}

/// Writes a value as it is read. Returns `None` for a key that cannot be written.
fn spell(value: &Value<'_>, out: &mut String) -> Option<()> {
    match &value.data {
        Data::Null => out.push_str("null"),
        Data::Bool(true) => out.push_str("true"),
        Data::Bool(false) => out.push_str("false"),
        Data::Number(number) => out.push_str(number),
        Data::String(text) => write_string(out, text),
        Data::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                spell(item, out)?;
            }
            out.push(']');
        }
        Data::Map(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                let is_bare = key.trim_ascii().len() == key.len() && !key.starts_with('"');
                if !is_bare || key.is_empty() || key.contains(['{', '}', '[', ']', ',', ':']) {
                    return None;
                }
                out.push_str(if index == 0 { "" } else { ", " });
                write_string(out, key);
                out.push_str(": ");
                spell(value, out)?;
            }
            out.push('}');
        }
    }
    Some(())
}

/// Gives the pieces of arguments to `put`, each with its place. Text that is no JSON object is one
/// piece, which is not read back.
pub(in crate::grammar::sections) fn pieces<E>(
    rules: &Rules,
    tree: &Tree,
    text: &str,
    put: &mut impl FnMut(usize, Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let Some(value) = object(text, &Limits::default()) else { return put(0, Piece::Text(text)) };
    let mut writer = Writer { rules, tree, put };
    let Data::Map(entries) = &value.data else { return Ok(()) };
    writer.members(entries)
}

struct Writer<'w, P> {
    rules: &'w Rules,
    tree: &'w Tree,
    put: &'w mut P,
}

impl<P> Writer<'_, P> {
    fn value<E>(&mut self, value: &Value<'_>) -> Result<(), E>
    where
        P: FnMut(usize, Piece<'_>) -> Result<(), E>,
    {
        let at = value.span.start;
        match &value.data {
            Data::Null => (self.put)(at, Piece::Word("null")),
            Data::Bool(true) => (self.put)(at, Piece::Word("true")),
            Data::Bool(false) => (self.put)(at, Piece::Word("false")),
            Data::Number(number) => (self.put)(at, Piece::Text(number)),
            Data::String(text) => {
                (self.put)(at, Piece::Token(self.tree.quote))?;
                self.string(at, text)?;
                (self.put)(at, Piece::Token(self.tree.quote))
            }
            Data::List(items) => {
                (self.put)(at, Piece::Word("["))?;
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        (self.put)(item.span.start, Piece::Word(","))?;
                    }
                    self.value(item)?;
                }
                (self.put)(at, Piece::Word("]"))
            }
            Data::Map(entries) => {
                (self.put)(at, Piece::Word("{"))?;
                self.members(entries)
            }
        }
    }

    /// Writes the members of an object, and the brace after them.
    fn members<E>(&mut self, entries: &[(Cow<'_, str>, Value<'_>)]) -> Result<(), E>
    where
        P: FnMut(usize, Piece<'_>) -> Result<(), E>,
    {
        let mut end = 0;
        for (index, (key, value)) in entries.iter().enumerate() {
            end = value.span.start;
            if index > 0 {
                (self.put)(end, Piece::Word(","))?;
            }
            if !key.is_empty() {
                (self.put)(end, Piece::Text(key))?;
            }
            (self.put)(end, Piece::Word(":"))?;
            self.value(value)?;
        }
        (self.put)(end, Piece::Word("}"))
    }

    /// Writes the text of a string. Tokens in it are read as text, except those that are read
    /// everywhere, which the sink refuses.
    fn string<E>(&mut self, at: usize, text: &str) -> Result<(), E>
    where
        P: FnMut(usize, Piece<'_>) -> Result<(), E>,
    {
        let mut lexer = Lexer::new(self.rules.controls, Mode::Body, 0);
        let (mut rest, mut done) = (text, 0);
        while let Some(lexeme) = lexer.next(&mut rest, true) {
            let Lexeme::Control(control, span) = lexeme else { continue };
            if self.rules.frames(control) || control == self.tree.quote {
                continue;
            }
            if done < span.start {
                (self.put)(at, Piece::Text(&text[done..span.start]))?;
            }
            (self.put)(at, Piece::Quoted(control))?;
            done = span.end;
        }
        if done < text.len() { (self.put)(at, Piece::Text(&text[done..])) } else { Ok(()) }
    }
}
