//! Reads the captured chunks of a streamed response: the response is put together from its chunks and
//! read.

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

/// The key with the candidates of a response, and of each chunk of one.
const CANDIDATES: &str = "candidates";

/// The keys of which each chunk has one.
const CHUNK: &[&str] =
    &[CANDIDATES, "usageMetadata", "usage_metadata", "promptFeedback", "prompt_feedback"];

/// The keys of the reason why a candidate ended.
const REASONS: &[&str] = &["finishReason", "finish_reason"];

/// The data of a candidate that arrive in parts.
const METADATA: &[&str] =
    &["citationMetadata", "citation_metadata", "groundingMetadata", "grounding_metadata"];

/// Returns the key of the first chunk and its place, if a text is such a stream. Each chunk looks
/// like a response, so only server-sent events and arrays whose first response has no end are
/// streams.
pub(super) fn find(text: &str) -> Option<(String, Span)> {
    let begin = text.trim_start_matches('\u{feff}').trim_ascii_start();
    // Nearly all documents are no streams, and end here.
    if begin.starts_with('{') {
        return None;
    }
    let first = captured::first(text)?;
    let is_ended = first_candidate(&first)?;
    let is_stream = first.is_sent || first.is_item && !is_ended;
    is_stream.then(|| (CANDIDATES.to_owned(), first.place()))
}

/// Whether the first candidate of an event has ended. `None` if the event has no candidates.
fn first_candidate(event: &First<'_>) -> Option<bool> {
    let (mut has_candidates, mut is_ended) = (false, false);
    // The event can be cut off.
    let _ = event.json().object(|json, key, _| {
        if key != CANDIDATES || json.peek() != Some(b'[') {
            return json.pass();
        }
        has_candidates = true;
        json.array(|json| {
            if json.peek() != Some(b'{') {
                return json.pass();
            }
            json.object(|json, key, _| {
                is_ended |= matches!(key.as_ref(), "finishReason" | "finish_reason");
                json.pass()
            })
            .map(|_| ())
        })
        .map(|_| ())
    });
    has_candidates.then_some(is_ended)
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
    fields: Merged<'a>,
    candidates: Indexed<Candidate<'a>>,
    /// The last event.
    last: Span,
}

/// A candidate of the response.
#[derive(Default)]
struct Candidate<'a> {
    fields: Merged<'a>,
    content: Merged<'a>,
    parts: Vec<Part<'a>>,
    span: Span,
}

/// A part of the content.
struct Part<'a> {
    fields: Merged<'a>,
    /// The JSON of `thought`, if the part is text that can go on in the next chunk.
    goes_on: Option<String>,
}

impl<'a> Chunks<'a> {
    /// Reads one chunk.
    fn read(&mut self, reader: &mut EventReader<'_>, mut fields: Fields<'a>, span: Span) {
        self.last = span;
        // Some services always write it.
        let error = take_field(&mut fields, "error");
        if let Some(error) = error.filter(|error| error.data != Data::Null) {
            return reader.failed(&error, span);
        }
        if !fields.iter().any(|it| CHUNK.contains(&it.0.as_ref())) {
            return reader.drop(span, NO_EVENT);
        }
        for candidate in take_list(&mut fields, CANDIDATES) {
            match candidate.data {
                Data::Map(fields) => {
                    let new = || Candidate { span, ..Candidate::default() };
                    self.candidates.item(&fields, new).read(reader, fields, span);
                }
                _ => reader.drop(span, "a candidate must be an object"),
            }
        }
        self.fields.set_all(fields);
    }

    fn finish<'t>(self, mut reader: EventReader<'_>, len: usize) -> Parsed<'t> {
        let is_cut = self.candidates.first().is_some_and(Candidate::is_open);
        if is_cut {
            reader.incomplete(self.last.end, "finishReason");
        }
        let mut response = Rebuilt::new(len);
        response.text.push_str("{\"candidates\":[");
        for (at, candidate) in self.candidates.into_iter().enumerate() {
            response.text.push_str(if at > 0 { "," } else { "" });
            response.inner(candidate.span, |out| candidate.write(out));
        }
        response.text.push(']');
        response.inner(self.last, |out| self.fields.write(out));
        response.text.push('}');
        reader.finish(&response, read_document, |messages| {
            if is_cut {
                mark_open(messages);
            }
        })
    }
}

impl<'a> Candidate<'a> {
    fn is_open(&self) -> bool {
        REASONS.iter().all(|key| self.fields.get(key).is_none())
    }

    fn read(&mut self, reader: &mut EventReader<'_>, mut fields: Fields<'a>, span: Span) {
        let mut content = take_map(&mut fields, "content");
        let is_of_model = |role: &Value<'_>| matches!(role.as_str(), Some("model" | "") | None);
        if content.iter().any(|field| field.0 == "role" && !is_of_model(&field.1)) {
            return reader.drop(span, "the chunk is not of the model");
        }
        let says = content.iter().any(|(key, value)| {
            key == "parts" && value.as_list().is_some_and(|parts| !parts.is_empty())
        });
        if self.is_stopped() && says {
            return reader.drop(span, "the chunk follows the end of the answer");
        }
        self.span.end = span.end;
        for part in take_list(&mut content, "parts") {
            match part.data {
                Data::Map(fields) => self.part(fields),
                data => {
                    let mut fields = Merged::default();
                    fields.set("text".into(), data.into());
                    self.parts.push(Part { fields, goes_on: None });
                }
            }
        }
        self.content.set_all(content);
        for key in METADATA {
            if let Some(data) = take_field(&mut fields, key) {
                self.fields.join((*key).into(), data);
            }
        }
        self.fields.set_all(fields);
    }

    /// Whether the answer has ended. Older versions of the API say `STOP` in each chunk.
    fn is_stopped(&self) -> bool {
        REASONS.iter().any(|key| self.fields.get(key).is_some_and(cut::is_stopped))
    }

    /// Reads a part. A text goes on in the next one if both are thoughts, or none is.
    fn part(&mut self, mut fields: Fields<'a>) {
        let is_text = fields.iter().any(|it| it.0 == "text" && it.1.as_str().is_some());
        let thought = is_text.then(|| word_of(&fields, "thought"));
        let is_plain = fields.iter().all(|it| matches!(it.0.as_ref(), "text" | "thought"));
        let goes_on = thought.clone().filter(|_| is_plain);
        let last = self.parts.last_mut().filter(|it| it.goes_on.is_some() && it.goes_on == thought);
        let Some(last) = last else {
            let mut part = Part { fields: Merged::default(), goes_on };
            part.fields.set_all(fields);
            return self.parts.push(part);
        };
        if let Some(text) = take_field(&mut fields, "text") {
            last.fields.append("text".into(), text);
        }
        last.fields.set_all(fields);
        last.goes_on = goes_on;
    }

    fn write(self, out: &mut String) {
        let Self { mut content, parts, fields, .. } = self;
        let parts = parts.into_iter().map(|part| part.fields.into_value()).collect();
        content.set("parts".into(), Data::List(parts).into());
        if content.get("role").is_none() {
            content.set("role".into(), Value::from("model"));
        }
        out.push_str("{\"content\":");
        write_value(out, &content.into_value());
        fields.write(out);
        out.push('}');
    }
}
