//! Streams: the events of an input, however it is cut.

use openchatml::{Event, Format, Policy, ReadOptions, Stream, UserEvents};
use serde_json::{Value, json};

use crate::case::{Case, ToolCancelled};

/// An event, with neighbouring deltas joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Text: its kind, its message, and all of it.
    Delta { kind: &'static str, message: usize, text: String },
    /// Anything else, as JSON.
    Other(String),
}

/// Adds an event, joined with the one before where both are deltas of the same.
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

/// What a stream tells when it is fed these chunks.
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

/// What is told of the input of a case, and of what its runtime does after it.
pub(crate) fn told_of(case: &Case) -> Vec<Told> {
    let mut told = Vec::new();
    run(case, |event| add(&mut told, event));
    told
}

/// What a user is told of it.
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
        let summary = fields.remove("summary");
        let is_for_users = fields.remove("message").is_none();
        // A diagnostic for users has no words but its summary: that it has one is compared.
        if is_for_users && summary.is_some_and(|it| it != "") {
            fields.insert("summary".into(), true.into());
        }
        fields.remove("help");
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
