//! What a client of the Messages API checks.

use serde_json::Value;

use super::{joined, lines};

/// The events of the Messages API, checked, with neighbouring deltas joined.
///
/// # Panics
///
/// If they contradict each other.
pub(super) fn messages(text: &str) -> Vec<Value> {
    let events = lines(text);
    let (mut open, mut blocks) = (None::<String>, 0);
    let (mut calls, mut reason, mut is_over) = (0, Value::Null, false);
    for (place, event) in events.iter().enumerate() {
        assert!(!is_over, "after the end: {event}");
        let name = event["type"].as_str().expect("a type");
        assert_eq!(name == "message_start", place == 0, "{event}");
        let has_ended = !reason.is_null();
        assert!(!has_ended || name == "message_stop", "after the reason: {event}");
        match name {
            "message_start" => {
                assert_eq!(event["message"]["content"], Value::Array(Vec::new()), "{event}");
            }
            "content_block_start" => {
                assert!(open.is_none() && event["index"] == blocks, "{event}");
                let kind = event["content_block"]["type"].as_str().expect("a type");
                calls += usize::from(kind == "tool_use");
                open = Some(kind.to_owned());
            }
            "content_block_delta" => {
                assert_eq!(event["index"], blocks, "{event}");
                let (kind, key) = match open.as_deref() {
                    Some("text") => ("text_delta", "text"),
                    Some("thinking") => ("thinking_delta", "thinking"),
                    Some("tool_use") => ("input_json_delta", "partial_json"),
                    other => panic!("a delta of {other:?}: {event}"),
                };
                assert_eq!(event["delta"]["type"], kind, "{event}");
                let text = event["delta"][key].as_str().expect("a text");
                if kind == "input_json_delta" {
                    let input: Result<Value, _> = serde_json::from_str(text);
                    // Numbers may be larger than those of the parser here.
                    assert!(
                        input.is_ok_and(|it| it.is_object()) || text.contains("e400"),
                        "{event}"
                    );
                }
            }
            "content_block_stop" => {
                assert!(open.take().is_some() && event["index"] == blocks, "{event}");
                blocks += 1;
            }
            "message_delta" => {
                assert!(open.is_none(), "{event}");
                reason = event["delta"]["stop_reason"].clone();
                assert!(!reason.is_null() && event["usage"]["output_tokens"].is_u64(), "{event}");
                assert!(reason != "tool_use" || calls > 0, "{event}");
            }
            "message_stop" => is_over = has_ended,
            "error" => is_over = open.is_none(),
            other => panic!("unknown event {other}"),
        }
    }
    assert!(is_over, "no end: {text}");
    joined(events, |event| {
        let keys = ["/delta/text", "/delta/thinking", "/delta/partial_json"];
        keys.into_iter().find(|key| event.pointer(key).is_some())
    })
}
