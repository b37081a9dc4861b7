//! What is written of a stream in the words of other protocols.

use openchatml::Keep;
use openchatml::wire::Api;
use openchatml_testkit::wire::{self, ReasoningMode, Setup};
use serde_json::{Map, Value, json};

use crate::case::{Case, Writes};
use crate::diff::Failures;

/// Checks the expected output of a case.
pub(crate) fn case(case: &Case, writes: &Writes, failures: &mut Failures) {
    let bytes = case.input_bytes();
    let setup = Setup {
        format: case.format(),
        options: case.options(),
        thoughts: match writes.reasoning.as_deref() {
            None | Some("drop") => ReasoningMode::Drop,
            Some("summary") => ReasoningMode::FirstWord,
            Some("raw") => ReasoningMode::Raw,
            Some(other) => panic!("{}: no policy {other}", case.name),
        },
        for_user: writes.user,
        keep: Keep::Bodies,
    };
    let (api, core): (_, fn(&Value) -> Value) = match writes.to.as_str() {
        "responses" => (Api::Responses, event),
        "messages" => (Api::Messages, block),
        "chat" => (Api::ChatCompletions, chunk),
        other => panic!("{}: no protocol {other}", case.name),
    };
    let got = wire::checked(api, &setup.written(api, [bytes.as_slice()]));
    let got: String = got.iter().map(|event| format!("{}\n", sorted(core(event)))).collect();
    let lines = writes.output.lines().filter(|line| !line.trim().is_empty());
    let expected: String = lines
        .map(|line| {
            let event: Value = serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{}: {error} in {line}", case.name));
            format!("{}\n", sorted(event))
        })
        .collect();
    failures.equal(&format!("written to {}", writes.to), &expected, &got);
}

/// Checks that the output has the content of the stream, and is the same if the input comes byte by
/// byte.
pub(crate) fn byte_by_byte(case: &Case) {
    let cuts: Vec<usize> = (0..case.input.len()).collect();
    for thoughts in ReasoningMode::ALL {
        let setup = Setup {
            format: case.format(),
            options: case.options(),
            thoughts,
            for_user: false,
            keep: Keep::Bodies,
        };
        wire::writes(&case.input, &cuts, &setup);
    }
}

/// The order of keys has no meaning.
fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}

/// Reduces an event of the Responses API to its type and the status of the response.
fn event(event: &Value) -> Value {
    let mut event = event.clone();
    if let Some(Value::Object(response)) = event.get_mut("response") {
        let keys = ["status", "output", "incomplete_details", "error"];
        response.retain(|key, value| {
            keys.contains(&key.as_str()) && !value.is_null() && *value != json!([])
        });
    }
    event
}

/// Returns the delta of a chunk of Chat Completions.
fn chunk(chunk: &Value) -> Value {
    let Some(choice) = chunk.pointer("/choices/0") else { return chunk.clone() };
    let mut new = Map::new();
    for key in ["delta", "finish_reason"] {
        if !choice[key].is_null() && choice[key] != json!({}) {
            new.insert(key.to_owned(), choice[key].clone());
        }
    }
    new.into()
}

/// An event of the Messages API, without the message that has begun and without numbers of tokens.
fn block(event: &Value) -> Value {
    let mut event = event.clone();
    if let Value::Object(event) = &mut event {
        event.retain(|key, _| key != "message" && key != "usage");
    }
    event
}
