//! Reads the captured chunks of a streamed response: the response is put together from its chunks and
//! read.

use std::borrow::Cow;

use super::read::read_document;
use crate::Span;
use crate::json::{Data, Value, write_value};
use crate::options::ReadOptions;
use crate::reading::Parsed;
use crate::services::Fields;
use crate::services::captured::{self, First};
use crate::services::cut;
use crate::services::events::{
    EventReader, Indexed, Merged, NO_EVENT, Rebuilt, mark_open, take_field, take_list, take_map,
    word_of,
};

/// The kind of an object that is a chunk.
const CHUNK: &str = "chat.completion.chunk";

/// How many bytes are searched for it.
const LOOK_BYTES: usize = 4096;

/// Returns the kind of the first chunk and its place, if a text is such a stream.
pub(super) fn find(text: &str) -> Option<(String, Span)> {
    // Nearly all documents are no chunks, and end here.
    let begin = &text.as_bytes()[..text.len().min(LOOK_BYTES)];
    let sent = text[captured::headers(text)..].trim_start_matches('\u{feff}');
    let is_sent = sent.trim_ascii_start().starts_with("data:");
    if !is_sent && memchr::memmem::find(begin, CHUNK.as_bytes()).is_none() {
        return None;
    }
    let first = captured::first(text)?;
    let object = first.json().ahead(&["object"], &["messages", "role", "content"]);
    // Some services leave it out, or write it only in later chunks.
    let is_chunk = match object.as_deref() {
        Some("") => has_choices(&first),
        None => is_sent && has_choices(&first),
        Some(object) => object == CHUNK,
    };
    is_chunk.then(|| (CHUNK.to_owned(), first.place()))
}

/// Whether an event has choices, which can be an empty list.
fn has_choices(event: &First<'_>) -> bool {
    let mut has_choices = false;
    // The event can be cut off.
    let _ = event.json().object(|json, key, _| {
        has_choices |= key == "choices" && json.peek() == Some(b'[');
        json.pass()
    });
    has_choices
}

/// Reads the chunks.
pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut reader = EventReader::new(options);
    let mut response = Chunks::default();
    reader.each(text, |reader, fields, span| response.read(reader, fields, span));
    response.finish(reader, text.len())
}

/// The chunks so far.
#[derive(Default)]
struct Chunks<'a> {
    /// The identifier of the response.
    id: Option<String>,
    fields: Merged<'a>,
    choices: Indexed<Choice<'a>>,
    /// The last event.
    last: Span,
}

/// A choice of the response.
#[derive(Default)]
struct Choice<'a> {
    fields: Merged<'a>,
    message: Merged<'a>,
    /// The call of older APIs: `function_call`.
    older: Option<Merged<'a>>,
    calls: Indexed<Call<'a>>,
    span: Span,
}

/// A call.
#[derive(Default)]
struct Call<'a> {
    fields: Merged<'a>,
    /// What is called: `function` or `custom`, and its fields.
    called: Option<(Cow<'a, str>, Merged<'a>)>,
}

/// The texts that arrive in parts.
const TEXTS: &[&str] = &["content", "reasoning_content", "reasoning", "thinking", "refusal"];

impl<'a> Chunks<'a> {
    /// Reads one chunk.
    fn read(&mut self, reader: &mut EventReader<'_>, mut fields: Fields<'a>, span: Span) {
        self.last = span;
        fields.retain(|field| field.0 != "object" || field.1.as_str() != Some(""));
        // Some services always write it.
        let error = take_field(&mut fields, "error");
        if let Some(error) = error.filter(|error| error.data != Data::Null) {
            return reader.failed(&error, span);
        }
        let is_chunk = match fields.iter().find(|it| it.0 == "object").map(|it| it.1.as_str()) {
            None | Some(Some("")) => fields.iter().any(|it| it.0 == "choices"),
            Some(object) => object == Some(CHUNK),
        };
        if !is_chunk {
            return reader.drop(span, NO_EVENT);
        }
        let id = word_of(&fields, "id");
        // Some services leave it out of later chunks.
        if !matches!(id.as_str(), "" | "\"\"" | "null")
            && self.id.get_or_insert_with(|| id.clone()) != &id
        {
            return reader.drop(span, "the chunk belongs to another response");
        }
        for choice in take_list(&mut fields, "choices") {
            match choice.data {
                Data::Map(fields) => {
                    let new = || Choice { span, ..Choice::default() };
                    self.choices.item(&fields, new).read(reader, fields, span);
                }
                _ => reader.drop(span, "a choice must be an object"),
            }
        }
        self.fields.set_all(fields);
    }

    fn finish<'t>(self, mut reader: EventReader<'_>, len: usize) -> Parsed<'t> {
        let is_open = |choice: &Choice<'_>| {
            choice.fields.get("finish_reason").is_none_or(|it| it.data == Data::Null)
        };
        let is_cut = self.choices.first().is_some_and(is_open);
        if is_cut {
            reader.incomplete(self.last.end, "finish_reason");
        }
        let mut response = Rebuilt::new(len);
        response.text.push_str("{\"choices\":[");
        for (at, choice) in self.choices.into_iter().enumerate() {
            response.text.push_str(if at > 0 { "," } else { "" });
            response.inner(choice.span, |out| choice.write(out));
        }
        response.text.push(']');
        let mut fields = self.fields;
        if fields.get("object").is_some() {
            fields.set("object".into(), Value::from("chat.completion"));
        }
        response.inner(self.last, |out| fields.write(out));
        response.text.push('}');
        reader.finish(&response, read_document, |messages| {
            if is_cut {
                mark_open(messages);
            }
        })
    }
}

impl<'a> Choice<'a> {
    fn read(&mut self, reader: &mut EventReader<'_>, mut fields: Fields<'a>, span: Span) {
        let delta = take_map(&mut fields, "delta");
        let whole = take_map(&mut fields, "message");
        let is_whole = delta.is_empty() && !whole.is_empty();
        let said = if is_whole { whole } else { delta };
        if let Some(why) = self.refusal(&said, is_whole) {
            return reader.drop(span, why);
        }
        self.span.end = span.end;
        match is_whole {
            true => self.replace(reader, said, span),
            false => self.add(reader, said, span),
        }
        for key in ["logprobs", "token_ids"] {
            if let Some(numbers) = take_field(&mut fields, key) {
                self.fields.join(key.into(), numbers);
            }
        }
        self.fields.set_all(fields);
    }

    /// Returns why a delta or a whole message does not belong to this choice.
    fn refusal(&self, said: &Fields<'_>, is_whole: bool) -> Option<&'static str> {
        let is_of_model = |role: &Value<'_>| matches!(role.as_str(), Some("assistant" | "") | None);
        if said.iter().any(|field| field.0 == "role" && !is_of_model(&field.1)) {
            return Some("the chunk is not of the assistant");
        }
        let says = |field: &(Cow<'_, str>, Value<'_>)| {
            let is_empty = match &field.1.data {
                Data::String(text) => text.is_empty(),
                Data::List(list) => list.is_empty(),
                data => *data == Data::Null,
            };
            field.0 != "role" && !is_empty
        };
        let is_late = self.is_stopped() && !is_whole && said.iter().any(says);
        is_late.then_some("the chunk follows the end of the answer")
    }

    /// Adds a delta.
    fn add(&mut self, reader: &mut EventReader<'_>, mut delta: Fields<'a>, span: Span) {
        self.add_calls(reader, &mut delta, span);
        for (key, value) in delta {
            match key.as_ref() {
                // It is set, or empty in later chunks.
                "role" => {}
                word if TEXTS.contains(&word) => self.message.add(key, value),
                "audio" => self.message.join(key, value),
                // Lists of annotations, images, details of the reasoning, and so on.
                _ if value.as_list().is_some() => self.message.join(key, value),
                _ => self.message.set(key, value),
            }
        }
    }

    /// Replaces the deltas with the whole message, with which some services end.
    fn replace(&mut self, reader: &mut EventReader<'_>, mut whole: Fields<'a>, span: Span) {
        let mut differs = false;
        if whole.iter().any(|field| matches!(field.0.as_ref(), "tool_calls" | "function_call")) {
            let calls = std::mem::take(&mut self.calls);
            let older = self.older.take();
            self.add_calls(reader, &mut whole, span);
            let is_same = calls.iter().map(Call::made).eq(self.calls.iter().map(Call::made))
                && older.as_ref().map(made) == self.older.as_ref().map(made);
            differs = !(is_same || calls.is_empty() && older.is_none());
        }
        for (key, value) in whole {
            let said = self.message.get(&key).filter(|_| TEXTS.contains(&key.as_ref()));
            differs |= said.is_some_and(|said| !goes_on(said, &value));
            if key != "role" {
                self.message.set(key, value);
            }
        }
        if differs {
            reader.drop(span, "the message differs from its deltas: this message is used");
        }
    }

    /// Adds the calls of a delta or a message.
    fn add_calls(&mut self, reader: &mut EventReader<'_>, said: &mut Fields<'a>, span: Span) {
        for call in take_list(said, "tool_calls") {
            match call.data {
                Data::Map(fields) => self.call(fields),
                _ => reader.drop(span, "a call must be an object"),
            }
        }
        for (key, value) in take_map(said, "function_call") {
            merge(self.older.get_or_insert_default(), key, value);
        }
    }

    /// Whether the answer has ended. Some services say `stop` in each chunk.
    fn is_stopped(&self) -> bool {
        self.fields.get("finish_reason").is_some_and(cut::is_stopped)
    }

    /// Reads a part of a call. Some services give several calls the same index: a name with another
    /// id begins a call.
    fn call(&mut self, fields: Fields<'a>) {
        let id = fields.iter().find(|field| field.0 == "id").and_then(|field| field.1.as_str());
        let has_name = fields.iter().any(|(_, value)| {
            value.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty())
        });
        let is_another = |call: &Call<'_>| {
            let first = call.fields.get("id").and_then(Value::as_str).unwrap_or_default();
            has_name && !first.is_empty() && id.is_some_and(|id| !id.is_empty() && id != first)
        };
        self.calls.item_unless(&fields, is_another, Call::default).read(fields);
    }

    fn write(mut self, out: &mut String) {
        self.message.set("role".into(), Value::from("assistant"));
        if !self.calls.is_empty() {
            let calls = self.calls.into_iter().map(Call::into_value).collect();
            self.message.set("tool_calls".into(), Data::List(calls).into());
        }
        if let Some(call) = self.older.take() {
            self.message.set("function_call".into(), call.into_value());
        }
        let says_nothing = TEXTS
            .iter()
            .chain(&["tool_calls", "function_call", "audio"])
            .all(|key| self.message.get(key).is_none_or(|value| value.data == Data::Null));
        if says_nothing {
            // A stream can end before the first text.
            self.message.set("content".into(), Value::from(""));
        }
        out.push_str("{\"message\":");
        write_value(out, &self.message.into_value());
        self.fields.write(out);
        out.push('}');
    }
}

/// Adds a field of a call. Its arguments arrive in parts, and with some services its name. Others
/// repeat the name.
fn merge<'a>(call: &mut Merged<'a>, key: Cow<'a, str>, value: Value<'a>) {
    match key.as_ref() {
        "arguments" | "input" => call.join(key, value),
        "name" if call.get("name").is_none_or(|name| *name != value) => call.join(key, value),
        "name" => {}
        _ => call.set(key, value),
    }
}

/// Whether a whole text is that of the deltas, of which the last ones can be missing.
fn goes_on(said: &Value<'_>, whole: &Value<'_>) -> bool {
    match (said.as_str(), whole.as_str()) {
        (Some(said), Some(whole)) => whole.starts_with(said),
        _ => [said, whole].iter().any(|it| it.data == Data::Null) || said == whole,
    }
}

/// Returns the name of the called tool and the arguments.
fn made<'c>(called: &'c Merged<'_>) -> [Option<&'c str>; 2] {
    let arguments = called.get("arguments").or_else(|| called.get("input"));
    [called.get("name"), arguments].map(|value| value.and_then(Value::as_str))
}

impl<'a> Call<'a> {
    fn read(&mut self, mut fields: Fields<'a>) {
        take_field(&mut fields, "index");
        for (key, value) in fields {
            let Data::Map(said) = value.data else {
                // Services repeat the id, or write another one, or nothing.
                let is_known = key == "id"
                    && self
                        .fields
                        .get("id")
                        .and_then(Value::as_str)
                        .is_some_and(|it| !it.is_empty());
                if !is_known {
                    self.fields.set(key, value);
                }
                continue;
            };
            let (_, called) = self.called.get_or_insert_with(|| (key, Merged::default()));
            for (key, value) in said {
                merge(called, key, value);
            }
        }
    }

    fn made(&self) -> [Option<&str>; 2] {
        self.called.as_ref().map(|(_, called)| made(called)).unwrap_or_default()
    }

    fn into_value(self) -> Value<'a> {
        let mut fields = self.fields;
        if let Some((kind, called)) = self.called {
            fields.set(kind, called.into_value());
        }
        fields.into_value()
    }
}
