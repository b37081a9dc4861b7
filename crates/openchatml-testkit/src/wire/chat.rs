//! The checks of a client of Chat Completions.

use serde_json::Value;

use super::{joined, lines};

/// Checks the chunks of Chat Completions, and joins adjacent deltas.
///
/// # Panics
///
/// The chunks are inconsistent.
pub(super) fn chat(text: &str) -> Vec<Value> {
    let chunks = lines(text);
    let (mut calls, mut is_over) = (0, false);
    for (place, chunk) in chunks.iter().enumerate() {
        assert!(!is_over, "after the end: {chunk}");
        if chunk.get("error").is_some() {
            is_over = true;
            continue;
        }
        assert_eq!(chunk["id"], chunks[0]["id"]);
        let choice = &chunk["choices"][0];
        let delta = &choice["delta"];
        assert_eq!(delta.get("role").is_some(), place == 0, "{chunk}");
        is_over = !choice["finish_reason"].is_null();
        assert!(choice["finish_reason"] != "tool_calls" || calls > 0, "{chunk}");
        let Some(call) = delta["tool_calls"].get(0) else { continue };
        calls += usize::from(call.get("id").is_some());
        assert_eq!(call["index"], calls - 1, "{chunk}");
        let has_name = !call["function"]["name"].is_null();
        assert_eq!(call.get("id").is_some(), has_name && call["type"] == "function", "{chunk}");
    }
    assert!(is_over, "no end: {text}");
    joined(chunks, |chunk| {
        let call = chunk.pointer("/choices/0/delta/tool_calls/0");
        let is_first = call.is_some_and(|call| call.get("id").is_some());
        TEXTS.into_iter().filter(|_| !is_first).find(|place| {
            let text = chunk.pointer(place).and_then(Value::as_str);
            text.is_some_and(|text| !text.is_empty())
        })
    })
}

/// The possible JSON pointers of the text of a delta.
const TEXTS: [&str; 3] = [
    "/choices/0/delta/content",
    "/choices/0/delta/reasoning_content",
    "/choices/0/delta/tool_calls/0/function/arguments",
];
