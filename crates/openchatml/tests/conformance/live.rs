//! Streams: the events of an input with any chunks.

use openchatml::{Event, Format, Policy, ReadOptions, Stream, UserEvents};
use serde_json::{Value, json};

use crate::case::{Case, ToolCancelled};

/// An event, with adjacent deltas joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Text: its kind, its message, and all of it.
    Delta { kind: &'static str, message: usize, text: String },
    /// Any other event, as JSON.
    Other(String),
}

/// Adds an event. Adjacent deltas of the same text are joined.
fn add(told: &mut Vec<Told>, event: Event<'_>) {
    let kind = event.name();
    let (message, text) = match event {
        Event::Delta { index, text, .. }
        | Event::ReasoningDelta { index, text }
        | Event::ToolCallDelta { index, text } => (index, text),
        event => return told.push(Told::Other(event.to_json())),
    };
    match told.last_mut() {
        Some(Told::Delta { kind: before, message: of, text: all })
            if *before == kind && *of == message =>
        {
            all.push_str(&text);
        }
        _ => told.push(Told::Delta { kind, message, text: text.into_owned() }),
    }
}

/// Returns the events of a stream with these chunks.
pub(crate) fn told<'c>(
    format: Format,
    options: &ReadOptions,
    chunks: impl IntoIterator<Item = &'c [u8]>,
) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    let mut take = |event: Event<'_>| add(&mut told, event);
    let mut stream = Stream::new(format.text().expect("a text format"), options);
    for chunk in chunks {
        stream.feed_with(chunk, &mut take);
    }
    stream.finish_with(&mut take);
    told
}

/// Returns the events for the input of a case, and for the actions of its runtime after it.
pub(crate) fn told_of(case: &Case) -> Vec<Told> {
    let mut told = Vec::new();
    run(case, |event| add(&mut told, event));
    told
}

/// Returns the user-visible events.
pub(crate) fn told_to_users(case: &Case) -> Vec<Told> {
    let mut told = Vec::new();
    let mut user = UserEvents::new(Policy::default());
    run(case, |event| {
        if let Some(event) = user.push(event) {
            add(&mut told, event);
        }
    });
    if let Some(event) = user.finish() {
        add(&mut told, event);
    }
    told
}

fn run(case: &Case, mut take: impl FnMut(Event<'_>)) {
    let mut stream = Stream::new(case.format().text().expect("a text format"), &case.options());
    stream.feed_with(case.input_bytes(), &mut take);
    if let Some(ToolCancelled { call_id, reason }) = &case.tool_cancelled {
        take(Event::ToolCancel { call_id: call_id.into(), reason: reason.into() });
    }
    match case.cancelled {
        true => stream.cancel_with(&mut take),
        false => stream.finish_with(&mut take),
    }
}

/// Converts an event to the form in cases: diagnostics have no message.
pub(crate) fn as_json(told: &Told) -> Value {
    match told {
        Told::Delta { kind, message, text } => {
            json!({"type": kind, "message_id": format!("m{message}"), "delta": text})
        }
        Told::Other(text) => normal(serde_json::from_str(text).expect("an event is JSON")),
    }
}

/// Removes the texts for people from an event.
pub(crate) fn normal(mut event: Value) -> Value {
    if event["type"] == "diagnostic"
        && let Some(fields) = event.as_object_mut()
    {
        let summary = fields.remove("summary");
        let is_for_users = fields.remove("message").is_none();
        // A diagnostic for users has only a summary. Only its presence is compared.
        if is_for_users && summary.is_some_and(|it| it != "") {
            fields.insert("summary".into(), true.into());
        }
        fields.remove("help");
    }
    event
}

/// Returns the value of `key` in the events of this type.
pub(crate) fn field(told: &[Told], kind: &str, key: &str) -> Vec<Value> {
    let events = told.iter().filter_map(|told| match told {
        Told::Other(text) => serde_json::from_str::<Value>(text).ok(),
        Told::Delta { .. } => None,
    });
    events.filter(|event| event["type"] == kind).map(|event| event[key].clone()).collect()
}
