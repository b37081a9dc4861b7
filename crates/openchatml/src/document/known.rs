//! Values with a known structure. Everything else in them is reported and dropped.

use std::borrow::Cow;
use std::collections::HashSet;

use super::DocumentReader;
use crate::diagnostic::{did_you_mean, quote};
use crate::json::{Data, Json, Keys, Result, Value};
use crate::{Code, Dropped, Span};

/// The known structure of a value. `null` means that the value is missing, except in lists.
#[derive(Debug)]
pub(crate) enum Known {
    /// A string.
    Text,
    /// One of these words. Case is ignored.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// Any value.
    Any,
    /// An array of values with this structure.
    List(&'static Self),
    /// An object of values with this structure, with any keys.
    Map(&'static Self),
    /// An object with these keys.
    Object(&'static [(&'static str, Self)]),
}

impl DocumentReader<'_> {
    /// Reads a value with a `known` structure. Returns `None` for another kind of value.
    pub(crate) fn known<'a>(
        &mut self,
        json: &mut Json<'a>,
        known: &Known,
    ) -> Result<Option<Value<'a>>> {
        let start = json.offset();
        let data = match (known, json.peek()) {
            (Known::Any, _) => return json.value().map(Some),
            (_, Some(b'n')) => json.word().map(|_| Some(Data::Null))?,
            (Known::Text, _) => self.string(json)?.map(|(text, _)| Data::String(text)),
            (Known::Word(words), _) => self.one_of(json, words)?,
            (Known::Flag, Some(b't' | b'f')) => Some(Data::Bool(json.boolean()?)),
            (Known::Flag, _) => self.wrong(json, "`true` or `false`").map(|()| None)?,
            (Known::List(item), Some(b'[')) => {
                let mut items = Vec::new();
                self.array(json, |reader, json| {
                    if json.peek() == Some(b'n') {
                        return reader.wrong(json, "a value");
                    }
                    items.extend(reader.known(json, item)?);
                    Ok(())
                })?;
                Some(Data::List(items))
            }
            (Known::List(_), _) => self.wrong(json, "an array").map(|()| None)?,
            (Known::Map(value), Some(b'{')) => Some(self.map_of(json, value)?),
            (Known::Map(_), _) => self.wrong(json, "an object").map(|()| None)?,
            (Known::Object(fields), _) => self.fields(json, fields)?,
        };
        let span = Span::new(start, json.position());
        Ok(data.map(|data| Value { data, span }))
    }

    fn one_of<'a>(&mut self, json: &mut Json<'a>, words: &[&str]) -> Result<Option<Data<'a>>> {
        let Some((word, span)) = self.string(json)? else { return Ok(None) };
        if words.iter().any(|known| known.eq_ignore_ascii_case(&word)) {
            return Ok(Some(Data::String(word)));
        }
        let text = format!("unknown value {}", quote(&word));
        let usual = format!("use one of: {}", words.join(", "));
        let found = Code::ParseJson.at(span, text).drops(Dropped::Value);
        self.report(found.help(did_you_mean(&word, words, &usual)));
        Ok(None)
    }

    fn map_of<'a>(&mut self, json: &mut Json<'a>, known: &Known) -> Result<Data<'a>> {
        let mut entries: Vec<(Cow<'a, str>, Value<'a>)> = Vec::new();
        let (mut keys, mut repeats) = (Keys::default(), false);
        json.object(|json, key, span| {
            let is_new = keys.insert(key.clone()).is_ok();
            repeats |= !is_new;
            let value = self.at_key(key.to_string(), |reader| {
                if !is_new {
                    reader.repeated(&key, span);
                }
                reader.known(json, known)
            })?;
            entries.extend(value.map(|value| (key, value)));
            Ok(())
        })?;
        if repeats {
            // The last value is used.
            let mut seen = HashSet::new();
            entries.reverse();
            entries.retain(|(key, _)| seen.insert(key.clone()));
            entries.reverse();
        }
        Ok(Data::Map(entries))
    }

    fn fields<'a>(
        &mut self,
        json: &mut Json<'a>,
        fields: &[(&'static str, Known)],
    ) -> Result<Option<Data<'a>>> {
        let keys: Vec<_> = fields.iter().map(|field| field.0).collect();
        let mut entries: Vec<(Cow<'a, str>, Value<'a>)> = Vec::new();
        let span = self.object(json, &keys, |reader, json, key| {
            let known = fields.iter().find(|field| field.0 == key).map_or(&Known::Any, |it| &it.1);
            let value = reader.known(json, known)?;
            entries.retain(|entry| entry.0 != key);
            // A dropped value is missing. It does not become the default.
            entries.push((key.into(), value.unwrap_or_default()));
            Ok(())
        })?;
        Ok(span.map(|_| Data::Map(entries)))
    }
}
