//! Reads the captured events of a streamed response: the response is put together from its events
//! and read. The last event usually has the whole response.

use std::collections::{HashMap, HashSet};

use super::read::read_document;
use crate::diagnostic::quote;
use crate::json::{Data, Value, write_value};
use crate::model::{End, Message};
use crate::options::ReadOptions;
use crate::reading::Parsed;
use crate::services::Fields;
use crate::services::captured;
use crate::services::events::{
    EventReader, Merged, NO_EVENT, Rebuilt, containing, take_field, take_list, take_map, word_of,
};
use crate::{Code, Span};

/// The beginning of the type of each event.
const EVENT: &str = "response.";

/// How many bytes are searched for it.
const LOOK_BYTES: usize = 4096;

/// Returns the type of the first event and its place, if a text is such a stream.
pub(super) fn find(text: &str) -> Option<(String, Span)> {
    // Nearly all documents are no events, and end here.
    let begin = &text.as_bytes()[..text.len().min(LOOK_BYTES)];
    memchr::memmem::find(begin, EVENT.as_bytes())?;
    let (kind, span) = captured::first_type(text)?;
    kind.starts_with(EVENT).then(|| (kind.into_owned(), span))
}

/// Reads the events.
pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut reader = EventReader::new(options);
    let mut events = Events::default();
    reader.each(text, |reader, fields, span| events.read(reader, fields, span));
    events.finish(reader, text.len())
}

/// The events so far.
#[derive(Default)]
struct Events<'a> {
    responses: Vec<Streamed<'a>>,
}

/// A response of a stream.
#[derive(Default)]
struct Streamed<'a> {
    fields: Merged<'a>,
    items: Vec<Item<'a>>,
    /// The positions of the items, by their indices in the events.
    places: HashMap<String, usize>,
    span: Span,
    /// The last event with data about the response.
    last: Span,
    is_complete: bool,
}

/// Collects the strings in a value.
fn texts_of(value: &Value<'_>, texts: &mut HashSet<String>) {
    match &value.data {
        Data::List(items) => items.iter().for_each(|item| texts_of(item, texts)),
        Data::Map(fields) => fields.iter().for_each(|field| texts_of(&field.1, texts)),
        _ => texts.extend(value.as_str().map(str::to_owned)),
    }
}

/// An item of the output.
#[derive(Default)]
struct Item<'a> {
    fields: Merged<'a>,
    /// The parts that arrived, each under a key of the item.
    parts: Vec<Part<'a>>,
    /// The positions of the parts, by their keys and indices in the events.
    places: HashMap<(&'static str, String), usize>,
    span: Span,
    is_complete: bool,
}

/// A part of an item.
struct Part<'a> {
    /// The key of the item with its parts.
    key: &'static str,
    fields: Merged<'a>,
}

/// Where the text of a delta belongs.
struct Target {
    /// The event, without `response.` and `.delta` or `.done`.
    event: &'static str,
    /// The key of the item with the parts, the type of a part, and the key of its index in events.
    /// Empty if the text belongs to the item.
    parts: &'static str,
    kind: &'static str,
    index: &'static str,
    /// The key of the text.
    key: &'static str,
}

const TARGETS: &[Target] = &[
    Target {
        event: "output_text",
        parts: "content",
        kind: "output_text",
        index: "content_index",
        key: "text",
    },
    Target {
        event: "refusal",
        parts: "content",
        kind: "refusal",
        index: "content_index",
        key: "refusal",
    },
    Target {
        event: "reasoning_text",
        parts: "content",
        kind: "reasoning_text",
        index: "content_index",
        key: "text",
    },
    Target {
        event: "reasoning_summary_text",
        parts: "summary",
        kind: "summary_text",
        index: "summary_index",
        key: "text",
    },
    Target { event: "function_call_arguments", parts: "", kind: "", index: "", key: "arguments" },
    Target { event: "mcp_call_arguments", parts: "", kind: "", index: "", key: "arguments" },
    Target { event: "custom_tool_call_input", parts: "", kind: "", index: "", key: "input" },
    Target { event: "code_interpreter_call_code", parts: "", kind: "", index: "", key: "code" },
];

impl<'a> Events<'a> {
    /// The current response. A capture can begin inside of one.
    fn response(&mut self, span: Span) -> &mut Streamed<'a> {
        if self.responses.is_empty() {
            self.responses.push(Streamed { span, ..Streamed::default() });
        }
        self.responses.last_mut().expect("there is one")
    }

    /// Reads one event.
    fn read(&mut self, reader: &mut EventReader<'_>, mut fields: Fields<'a>, span: Span) {
        let kind = fields.iter().find(|field| field.0 == "type");
        let kind = kind.and_then(|it| it.1.as_str()).unwrap_or_default().to_owned();
        if kind == "error" {
            return reader.failed(&Data::Map(fields).into(), span);
        }
        if kind.is_empty() {
            return reader.drop(span, NO_EVENT);
        }
        let Some(event) = kind.strip_prefix(EVENT) else {
            // The service may add events.
            let text = format!("unknown event {}: it is ignored", quote(&kind));
            return reader.tolerate(span, text);
        };
        let is_same = |it: &Streamed<'a>| !it.is_complete && it.is_of(&fields);
        if event == "created" && !self.responses.last().is_some_and(is_same) {
            self.responses.push(Streamed { span, ..Streamed::default() });
        }
        let response = self.response(span);
        response.span.end = span.end;
        match event {
            "created" | "queued" | "in_progress" => {
                response.fields.set_all(take_map(&mut fields, "response"));
                response.last = span;
            }
            "completed" | "incomplete" | "failed" => {
                let mut fields = take_map(&mut fields, "response");
                let is_whole = response.end(take_list(&mut fields, "output"), span);
                response.fields.set_all(fields);
                response.last = span;
                if !is_whole {
                    let text = "the output lacks text of earlier events, which is kept";
                    reader.report(Code::ParseJson.at(span, text));
                }
            }
            "output_item.added" | "output_item.done" => {
                let item = take_map(&mut fields, "item");
                let index = word_of(&fields, "output_index");
                let id = word_of(&item, "id");
                response.item(&index, &id, span).set(item, event == "output_item.done");
            }
            _ => response.delta(reader, event, fields, span),
        }
    }

    fn finish<'t>(self, mut reader: EventReader<'_>, len: usize) -> Parsed<'t> {
        for Streamed { span, .. } in self.responses.iter().filter(|it| !it.is_complete) {
            reader.incomplete(span.end, "response.completed");
        }
        let mut response = Rebuilt::new(len);
        let mut before = "{\"output\":[";
        let mut open = Vec::new();
        let mut fields = Merged::default();
        let mut last = Span::new(0, len);
        for Streamed { fields: own, items, is_complete, last: of_fields, .. } in self.responses {
            for item in items {
                response.text.push_str(std::mem::replace(&mut before, ","));
                let is_open = !is_complete && !item.is_complete;
                open.extend(is_open.then_some(item.span));
                response.inner(item.span, |out| item.write(out));
            }
            (fields, last) = (own, of_fields);
        }
        response.text.push_str(if before == "," { "]" } else { "{\"output\":[]" });
        fields.remove("output");
        response.inner(last, |out| fields.write(out));
        response.text.push('}');
        reader.finish(&response, read_document, |messages| cut(messages, &open))
    }
}

/// Marks the messages of items in which the stream stopped.
fn cut(messages: &mut [Message<'_>], open: &[Span]) {
    for message in messages {
        if containing(open, |span| *span, message.span.start).is_some() {
            message.end = End::Open;
        }
    }
}

impl<'a> Streamed<'a> {
    /// Whether an event can be about this response.
    fn is_of(&self, event: &Fields<'_>) -> bool {
        let response = event.iter().find(|field| field.0 == "response");
        let id = response.and_then(|field| field.1.get("id"));
        let own = self.fields.get("id");
        own.is_none() || id.is_none() || own.map(|it| &it.data) == id.map(|it| &it.data)
    }

    /// Ends the response with its whole output, if that is said. Returns whether the output has the
    /// text of all earlier events. Items whose text it lacks are kept before it.
    fn end(&mut self, output: Vec<Value<'a>>, span: Span) -> bool {
        self.is_complete = true;
        let is_known = self.items.len() >= output.len();
        if output.is_empty() || is_known && self.items.iter().all(|item| item.is_complete) {
            return true;
        }
        let mut texts = HashSet::new();
        output.iter().for_each(|value| texts_of(value, &mut texts));
        let (lost, _): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.items).into_iter().partition(|item| item.has_beyond(&texts));
        let ids: HashSet<_> =
            lost.iter().filter_map(|item| item.fields.get("id")?.as_str()).collect();
        let is_kept = |value: &Value<'_>| {
            value.get("id").and_then(Value::as_str).is_none_or(|id| !ids.contains(id))
        };
        let output: Vec<_> = output.into_iter().filter(is_kept).collect();
        let is_whole = lost.is_empty();
        let item = |value: Value<'a>| {
            let mut item = Item { span, is_complete: true, ..Item::default() };
            if let Data::Map(fields) = value.data {
                item.fields.set_all(fields);
            }
            item
        };
        self.items = lost.into_iter().chain(output.into_iter().map(item)).collect();
        is_whole
    }

    /// Returns the item with this index, or a new one if that has another id.
    fn item(&mut self, index: &str, id: &str, span: Span) -> &mut Item<'a> {
        let count = self.items.len();
        let at = self.places.entry(index.to_owned()).or_insert(count);
        if self.items.get(*at).is_some_and(|item| item.is_another(id)) {
            *at = count;
        }
        let at = *at;
        if at == count {
            self.items.push(Item { span, ..Item::default() });
        }
        let item = &mut self.items[at];
        item.span.end = span.end;
        item
    }

    /// Reads an event about a part of an item.
    fn delta(
        &mut self,
        reader: &mut EventReader<'_>,
        event: &str,
        mut fields: Fields<'a>,
        span: Span,
    ) {
        let Some((about, step)) = event.rsplit_once('.') else { return };
        let Some(target) = TARGETS.iter().find(|target| target.event == about) else {
            // Others repeat what items have, or say how far a tool of the service is.
            return;
        };
        let key = if step == "delta" { "delta" } else { target.key };
        let Some(text) = take_field(&mut fields, key) else { return };
        if text.as_str().is_none() {
            return reader.drop(span, format!("`{key}` must be a string"));
        }
        let item = self.item(&word_of(&fields, "output_index"), "", span);
        if item.is_another(&word_of(&fields, "item_id")) {
            return reader.drop(span, "the event belongs to another item");
        }
        if item.is_complete {
            return reader.drop(span, "the event belongs to an item that is complete");
        }
        let part = word_of(&fields, target.index);
        let into = item.part(target, part);
        match step {
            "delta" => into.append(target.key.into(), text),
            _ => {
                let before = into.get(target.key).filter(|it| it.as_str() != Some(""));
                if before.is_some_and(|before| before.data != text.data) {
                    reader.drop(span, "the text differs from its deltas: this text is used");
                }
                into.set(target.key.into(), text);
            }
        }
    }
}

impl<'a> Item<'a> {
    /// Whether the item is known to have another id than this one, in JSON.
    fn is_another(&self, id: &str) -> bool {
        let own =
            self.fields.get("id").and_then(Value::as_str).map(|own| Value::from(own).to_json());
        !matches!(id, "" | "null" | "\"\"") && own.is_some_and(|own| own != id)
    }

    /// Whether the events of the item have a text that is not among these.
    fn has_beyond(&self, texts: &HashSet<String>) -> bool {
        let is_lost = |fields: &Merged<'_>, key| {
            let text = fields.get(key).and_then(Value::as_str);
            text.is_some_and(|text| !text.is_empty() && !texts.contains(text))
        };
        TARGETS.iter().any(|target| match target.parts {
            "" => is_lost(&self.fields, target.key),
            parts => {
                let mut own = self.parts.iter().filter(|part| part.key == parts);
                own.any(|part| is_lost(&part.fields, target.key))
            }
        })
    }

    /// Sets the fields of the item, at its start or at its end.
    fn set(&mut self, fields: Fields<'a>, is_complete: bool) {
        self.is_complete = is_complete;
        if is_complete {
            self.parts.clear();
        }
        self.fields.set_all(fields);
    }

    /// Returns the fields that a text belongs to.
    fn part(&mut self, target: &Target, index: String) -> &mut Merged<'a> {
        if target.parts.is_empty() {
            return &mut self.fields;
        }
        let at = *self.places.entry((target.parts, index)).or_insert_with(|| {
            let mut fields = Merged::default();
            fields.set("type".into(), Value::from(target.kind));
            self.parts.push(Part { key: target.parts, fields });
            self.parts.len() - 1
        });
        &mut self.parts[at].fields
    }

    fn write(mut self, out: &mut String) {
        for key in ["content", "summary"] {
            let (parts, others) = self.parts.into_iter().partition::<Vec<_>, _>(|it| it.key == key);
            self.parts = others;
            if !parts.is_empty() {
                let parts = parts.into_iter().map(|part| part.fields.into_value()).collect();
                self.fields.set(key.into(), Data::List(parts).into());
            }
        }
        write_value(out, &self.fields.into_value());
    }
}
