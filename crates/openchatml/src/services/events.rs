//! Reads the captured events of a streamed response. A dialect puts the response together from its
//! events, as the service writes it without streaming, and the reader of responses reads it.

use std::borrow::Cow;
use std::collections::HashMap;

use super::captured::{self, Line};
use super::cut::failure;
use super::{Fields, write_field};
use crate::diagnostic::quote;
use crate::json::{Data, Json, Repair, Value};
use crate::model::{Document, End, Message};
use crate::options::{Mode, ReadOptions};
use crate::reading::{Findings, Parsed};
use crate::{Code, Diagnostic, Dropped, Severity, Span};

/// Why an object is dropped.
pub(crate) const NO_EVENT: &str = "the object is not an event of this stream";

/// The diagnostics of the events.
pub(crate) struct EventReader<'o> {
    pub(crate) options: &'o ReadOptions,
    found: Vec<Diagnostic>,
    findings: Findings,
}

impl<'o> EventReader<'o> {
    pub(crate) fn new(options: &'o ReadOptions) -> Self {
        Self { options, found: Vec::new(), findings: Findings::default() }
    }

    /// Calls `read` with the fields of each event, and its place.
    pub(crate) fn each<'a>(
        &mut self,
        text: &'a str,
        mut read: impl FnMut(&mut Self, Fields<'a>, Span),
    ) {
        let end = text.trim_ascii_end().len();
        match captured::events(text, &self.options.limits) {
            Ok(lines) => {
                for line in lines {
                    match line {
                        Line::Event(event, span) => {
                            if let Some(fields) = self.parse(event, span, span.end == end) {
                                read(self, fields, span);
                            }
                        }
                        Line::Other(span) => self.drop(span, "the line is not an event"),
                    }
                }
            }
            Err(error) => self.drop(error.span, error.message),
        }
    }

    pub(crate) fn report(&mut self, found: Diagnostic) {
        self.found.extend(self.findings.report(found, &self.options.limits));
    }

    /// Reports an event without a meaning, which is dropped.
    pub(crate) fn drop(&mut self, span: Span, text: impl Into<String>) {
        self.report(Code::ParseJson.at(span, text).drops(Dropped::Item));
    }

    /// Reports an error in strict mode, a warning in lenient mode.
    pub(crate) fn tolerate(&mut self, span: Span, text: String) {
        let severity = match self.options.mode {
            Mode::Strict => Severity::Error,
            Mode::Lenient => Severity::Warning,
        };
        self.report(Code::ParseJson.at(span, text).severity(severity));
    }

    /// Reports an error of the service: an object with a `message`.
    pub(crate) fn failed(&mut self, error: &Value<'_>, span: Span) {
        self.report(failure(error, span));
    }

    /// Reports a call whose input is not valid JSON, although the model has ended it.
    pub(crate) fn wrong_input(&mut self, span: Span) {
        let text = "the input of the call is not valid JSON";
        self.report(Code::BodyConstraintViolation.at(span, text).help("the call is not run"));
    }

    /// Reports that the stream ends before its last event.
    pub(crate) fn incomplete(&mut self, end: usize, before: &str) {
        let text = format!("the stream ends before `{before}`");
        let found = Code::StreamTruncated.at(Span::at(end), text);
        self.report(found.help("the response is incomplete"));
    }

    /// Parses the JSON of an event. `is_last` tells whether the text ends with it.
    fn parse<'a>(&mut self, event: &'a str, span: Span, is_last: bool) -> Option<Fields<'a>> {
        let mut json = Json::new(event, &self.options.limits).repairing();
        let value = json.value().and_then(|value| json.end().map(|()| value));
        let place = |inner: Span| Span::new(span.start + inner.start, span.start + inner.end);
        for (at, repair) in json.take_repaired() {
            let found = Code::ParseJson.at(place(at), repair.as_str());
            self.report(match repair {
                Repair::HalfPair => found.drops(Dropped::Value).help("U+FFFD replaces it"),
                Repair::Control | Repair::Comma => found,
            });
        }
        for (key, at) in json.take_duplicates() {
            let found = Code::DuplicateKey.at(place(at), format!("duplicate key {}", quote(&key)));
            self.report(found.drops(Dropped::Duplicate).help("the last value is used"));
        }
        match value {
            // An empty object keeps the connection open.
            Ok(Value { data: Data::Map(fields), .. }) => {
                return (!fields.is_empty()).then_some(fields);
            }
            Ok(_) => self.drop(span, "an event must be an object"),
            // A connection usually breaks in the middle of an event.
            Err(_) if is_last => self.report(
                Code::StreamTruncated
                    .at(span, "the stream ends in the middle of an event")
                    .help("the response is incomplete"),
            ),
            Err(error) => self.drop(place(error.span), error.message),
        }
        None
    }

    /// Reads the response, and moves its places to those of the events. `mark` marks the messages
    /// that are incomplete.
    pub(crate) fn finish<'t>(
        mut self,
        response: &Rebuilt,
        read: for<'a> fn(&'a str, &ReadOptions) -> Parsed<'a>,
        mark: impl FnOnce(&mut [Message<'_>]),
    ) -> Parsed<'t> {
        let Parsed { document, mut diagnostics } = read(&response.text, self.options);
        let mut document = document.into_owned();
        for found in &mut diagnostics {
            found.span = response.place(found.span);
            found.fix = None;
        }
        if let Document::Conversation(conversation) = &mut document {
            for message in &mut conversation.messages {
                relocate(message, |span| response.place(span));
            }
            mark(&mut conversation.messages);
        }
        for found in diagnostics {
            self.report(found);
        }
        // Sorted by place. The diagnostic about the limit comes last.
        let shown = self.found.len().min(self.options.limits.diagnostics);
        self.found[..shown].sort_by_key(|found| found.span.start);
        Parsed { document, diagnostics: self.found }
    }
}

/// Moves the places of a message.
fn relocate(message: &mut Message<'_>, place: impl Fn(Span) -> Span) {
    message.span = place(message.span);
    (message.body_at, message.pieces) = (0, None);
    let beyond = message.layout.as_mut().and_then(|layout| layout.beyond.as_mut());
    if let Some(beyond) = beyond {
        for item in beyond.items.iter_mut().chain(&mut beyond.after) {
            item.span = place(item.span);
        }
    }
}

/// The response as the service writes it without streaming.
#[derive(Default)]
pub(crate) struct Rebuilt {
    pub(crate) text: String,
    /// The places of parts in this text and of their events, and of the parts that contain these.
    inner: Vec<(Span, Span)>,
    outer: Vec<(Span, Span)>,
    /// The whole stream.
    all: Span,
}

impl Rebuilt {
    /// Creates an empty response of a stream with this length.
    pub(crate) fn new(len: usize) -> Self {
        Self { all: Span::new(0, len), ..Self::default() }
    }

    /// Writes a part that other parts are in.
    pub(crate) fn outer(&mut self, events: Span, write: impl FnOnce(&mut Self)) {
        let start = self.text.len();
        write(self);
        self.outer.push((Span::new(start, self.text.len()), events));
    }

    /// Writes a part.
    pub(crate) fn inner(&mut self, events: Span, write: impl FnOnce(&mut String)) {
        let start = self.text.len();
        write(&mut self.text);
        self.inner.push((Span::new(start, self.text.len()), events));
    }

    /// Returns the place in the stream.
    fn place(&self, span: Span) -> Span {
        let of = |at: usize| {
            let of = |places: &[(Span, Span)]| {
                containing(places, |it| it.0, at).map(|found| places[found].1)
            };
            of(&self.inner).or_else(|| of(&self.outer)).unwrap_or(self.all)
        };
        let start = of(span.start).start;
        Span::new(start, of(span.end).end.max(start))
    }
}

/// Returns the index of the item that contains a place, of items in order.
pub(crate) fn containing<T>(items: &[T], span: impl Fn(&T) -> Span, at: usize) -> Option<usize> {
    let after = items.partition_point(|item| span(item).start <= at);
    after.checked_sub(1).filter(|found| at <= span(&items[*found]).end)
}

/// Returns the value of a field, and removes it.
pub(crate) fn take_field<'a>(fields: &mut Fields<'a>, key: &str) -> Option<Value<'a>> {
    let at = fields.iter().position(|field| field.0 == key)?;
    Some(fields.remove(at).1)
}

/// Returns the fields of a mapping, and removes it.
pub(crate) fn take_map<'a>(fields: &mut Fields<'a>, key: &str) -> Fields<'a> {
    match take_field(fields, key).map(|value| value.data) {
        Some(Data::Map(map)) => map,
        _ => Fields::new(),
    }
}

/// Returns the items of a list, and removes it.
pub(crate) fn take_list<'a>(fields: &mut Fields<'a>, key: &str) -> Vec<Value<'a>> {
    match take_field(fields, key).map(|value| value.data) {
        Some(Data::List(list)) => list,
        _ => Vec::new(),
    }
}

/// Returns the JSON of a field, as a key for comparisons.
pub(crate) fn word_of(fields: &Fields<'_>, key: &str) -> String {
    let value = fields.iter().find(|field| field.0 == key);
    value.map_or_else(String::new, |field| field.1.to_json())
}

/// Marks the message inside of which a stream stopped: the last one.
pub(crate) fn mark_open(messages: &mut [Message<'_>]) {
    if let Some(last) = messages.last_mut() {
        last.end = End::Open;
    }
}

/// Alternatives or calls with an index in each event. They come out in the order of their indices.
#[derive(Debug)]
pub(crate) struct Indexed<T> {
    items: Vec<T>,
    /// The indices of the items, if they are numbers.
    numbers: Vec<Option<u64>>,
    /// The positions of the items, by the JSON of their indices.
    places: HashMap<String, usize>,
}

impl<T> Default for Indexed<T> {
    fn default() -> Self {
        Self { items: Vec::new(), numbers: Vec::new(), places: HashMap::new() }
    }
}

impl<T> Indexed<T> {
    /// Returns the item with the `index` in these fields.
    pub(crate) fn item(&mut self, fields: &Fields<'_>, new: impl FnOnce() -> T) -> &mut T {
        self.item_unless(fields, |_| false, new)
    }

    /// Returns the item with the `index` in these fields, or a new one with this index if
    /// `is_another` says that of the former one.
    pub(crate) fn item_unless(
        &mut self,
        fields: &Fields<'_>,
        is_another: impl FnOnce(&T) -> bool,
        new: impl FnOnce() -> T,
    ) -> &mut T {
        let index = word_of(fields, "index");
        // Some services leave out the first index.
        let index = if index.is_empty() { "0".to_owned() } else { index };
        let number = index.parse().ok();
        let count = self.items.len();
        let at = self.places.entry(index).or_insert(count);
        if self.items.get(*at).is_some_and(is_another) {
            *at = count;
        }
        let at = *at;
        if at == count {
            self.items.push(new());
            self.numbers.push(number);
        }
        &mut self.items[at]
    }

    pub(crate) fn first(&self) -> Option<&T> {
        self.items.first()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl<T> IntoIterator for Indexed<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        let Self { items, numbers, .. } = self;
        if numbers.is_sorted() || numbers.contains(&None) {
            return items.into_iter();
        }
        let mut numbered: Vec<_> = numbers.into_iter().zip(items).collect();
        numbered.sort_by_key(|item| item.0);
        numbered.into_iter().map(|item| item.1).collect::<Vec<_>>().into_iter()
    }
}

/// Fields that events set, one after another. Each key has its first place.
#[derive(Debug, Default)]
pub(crate) struct Merged<'a> {
    fields: Fields<'a>,
    places: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Merged<'a> {
    /// Sets a field. `null` says nothing about a field that is set.
    pub(crate) fn set(&mut self, key: Cow<'a, str>, value: Value<'a>) {
        let is_null = matches!(value.data, Data::Null);
        match self.places.get(&key) {
            Some(_) if is_null => {}
            Some(at) => self.fields[*at].1 = value,
            None => {
                self.places.insert(key.clone(), self.fields.len());
                self.fields.push((key, value));
            }
        }
    }

    /// Sets fields.
    pub(crate) fn set_all(&mut self, fields: Fields<'a>) {
        fields.into_iter().for_each(|(key, value)| self.set(key, value));
    }

    /// Appends a text to that of a field. Another value is set.
    pub(crate) fn append(&mut self, key: Cow<'a, str>, value: Value<'a>) {
        let whole = self.places.get(&key).map(|at| &mut self.fields[*at].1.data);
        match (whole, value.data) {
            (Some(Data::String(whole)), Data::String(text)) => whole.to_mut().push_str(&text),
            (_, data) => self.set(key, data.into()),
        }
    }

    /// Appends a text or a list of parts to a text or a list of parts. Another value is set.
    pub(crate) fn add(&mut self, key: Cow<'a, str>, value: Value<'a>) {
        let part = |text: Cow<'a, str>| -> Value<'a> {
            let kind = ("type".into(), Value::from("text"));
            Data::Map(vec![kind, ("text".into(), Data::String(text).into())]).into()
        };
        let Some(at) = self.places.get(&key) else { return self.set(key, value) };
        let whole = &mut self.fields[*at].1.data;
        match (whole, value.data) {
            (Data::List(parts), Data::String(text)) => {
                if !text.is_empty() {
                    parts.push(part(text));
                }
            }
            (whole @ Data::String(_), Data::List(more)) => {
                let Data::String(text) = std::mem::replace(whole, Data::Null) else { return };
                let first = (!text.is_empty()).then(|| part(text));
                *whole = Data::List(first.into_iter().chain(more).collect());
            }
            (_, data) => self.join(key, data.into()),
        }
    }

    /// Joins a value with that of a field: texts and lists become longer, and the fields of mappings
    /// are joined. Another value is set.
    pub(crate) fn join(&mut self, key: Cow<'a, str>, value: Value<'a>) {
        match self.places.get(&key) {
            Some(at) => join(&mut self.fields[*at].1, value),
            None => self.set(key, value),
        }
    }

    /// Returns a field.
    pub(crate) fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.places.get(key).map(|at| &self.fields[*at].1)
    }

    /// Removes a field.
    pub(crate) fn remove(&mut self, key: &str) {
        if let Some(at) = self.places.remove(key) {
            self.fields.remove(at);
            self.places.values_mut().filter(|place| **place > at).for_each(|place| *place -= 1);
        }
    }

    /// Returns the fields as a mapping.
    pub(crate) fn into_value(self) -> Value<'a> {
        Data::Map(self.fields).into()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Writes the fields after another field of the object.
    pub(crate) fn write(&self, out: &mut String) {
        self.fields.iter().for_each(|(key, value)| write_field(out, key, value));
    }
}

/// Joins two values. The depth of a value is limited by its reader.
fn join<'a>(whole: &mut Value<'a>, value: Value<'a>) {
    match (&mut whole.data, value.data) {
        (_, Data::Null) => {}
        (Data::String(whole), Data::String(text)) => whole.to_mut().push_str(&text),
        (Data::List(whole), Data::List(items)) => whole.extend(items),
        (Data::Map(whole), Data::Map(fields)) => {
            for (key, value) in fields {
                match whole.iter_mut().find(|field| field.0 == key) {
                    Some(field) => join(&mut field.1, value),
                    None => whole.push((key, value)),
                }
            }
        }
        (whole, data) => *whole = data,
    }
}
