//! What a client of Chat Completions checks.

use serde_json::Value;

use super::{joined, lines};

/// The chunks of Chat Completions, checked, with neighbouring deltas joined.
///
/// # Panics
///
/// If they contradict each other.
pub fn chat(text: &str) -> Vec<Value> {
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
        let mut of = chunk.clone();
        let delta = of.get_mut("choices")?.get_mut(0)?["delta"].as_object_mut()?;
        for key in ["content", "reasoning_content"] {
            if let Some(Value::String(text)) = delta.get_mut(key).filter(|text| **text != "") {
                let text = std::mem::take(text);
                return Some((of, text));
            }
        }
        let call = delta.get_mut("tool_calls")?.get_mut(0)?;
        if call.get("id").is_some() {
            return None;
        }
        let text = call["function"]["arguments"].take();
        Some((of, text.as_str()?.to_owned()))
    })
}
