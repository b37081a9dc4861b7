//! Streams: the events of an input, however it is cut.

use openchatml::{Event, Format, ReadOptions, Stream};
use serde_json::{Value, json};

/// An event, with neighbouring deltas joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Text: its kind, its message, and all of it.
    Delta { kind: &'static str, message: usize, text: String },
    /// Anything else, as JSON.
    Other(String),
}

/// What a stream tells when it is fed these chunks.
pub(crate) fn told<'c>(
    format: Format,
    options: &ReadOptions,
    chunks: impl IntoIterator<Item = &'c [u8]>,
) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    let mut take = |event: Event<'_>| {
        let (message, text) = match event {
            Event::Delta { index, text, .. }
            | Event::ReasoningDelta { index, text }
            | Event::ToolCallDelta { index, text } => (index, text),
            _ => return told.push(Told::Other(event.to_json())),
        };
        let kind = event.name();
        match told.last_mut() {
            Some(Told::Delta { kind: before, message: of, text: all })
                if *before == kind && *of == message =>
            {
                all.push_str(text);
            }
            _ => told.push(Told::Delta { kind, message, text: text.to_owned() }),
        }
    };
    let mut stream = Stream::new(format, options).expect("a text format");
    for chunk in chunks {
        stream.feed(chunk, &mut take);
    }
    stream.finish(&mut take);
    told
}

/// An event as a case writes it: a diagnostic without its words.
pub(crate) fn as_json(told: &Told) -> Value {
    match told {
        Told::Delta { kind, message, text } => {
            json!({"type": kind, "message_id": format!("m{message}"), "delta": text})
        }
        Told::Other(text) => normal(serde_json::from_str(text).expect("an event is JSON")),
    }
}

/// An event without what is for people only.
pub(crate) fn normal(mut event: Value) -> Value {
    if event["type"] == "diagnostic"
        && let Some(fields) = event.as_object_mut()
    {
        for words in ["message", "summary", "help"] {
            fields.remove(words);
        }
    }
    event
}

/// What an event of this type has under `key`.
pub(crate) fn field(told: &[Told], kind: &str, key: &str) -> Vec<Value> {
    let events = told.iter().filter_map(|told| match told {
        Told::Other(text) => serde_json::from_str::<Value>(text).ok(),
        Told::Delta { .. } => None,
    });
    events.filter(|event| event["type"] == kind).map(|event| event[key].clone()).collect()
}
