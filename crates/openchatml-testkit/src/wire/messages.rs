//! What a client of the Messages API checks.

use openchatml::{Code, Format, detect, parse};
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

/// Reads the events back. Returns the text for users, the arguments of calls and the reasoning.
///
/// # Panics
///
/// The events are not recognized, or parts of them cannot be read.
pub(super) fn read_back(text: &str) -> [String; 3] {
    let found = detect(text);
    assert!(found[0].is_stream && found[0].format.to_string() == "anthropic", "{text}");
    let format: Format = "anthropic".parse().expect("a format");
    let sse: String = text.lines().map(|line| format!("event: e\ndata: {line}\n\n")).collect();
    let [lines, sse] = [text, &sse].map(|text| {
        let parsed = parse(text, format, &Default::default());
        for found in &parsed.diagnostics {
            let is_of_event = matches!(found.code, Code::ParseJson | Code::StreamTruncated);
            assert!(!is_of_event || text.contains("\"api_error\""), "{found} in {text}");
        }
        let conversation = parsed.into_conversation();
        let of = |is: fn(&openchatml::Message<'_>) -> bool| -> String {
            let messages = conversation.messages.iter().filter(|it| is(it));
            messages.map(|it| it.body.text().into_owned()).collect()
        };
        let shown = of(|it| !it.is_call() && !it.is_reasoning());
        [shown, of(|it| it.is_call()), of(|it| it.is_reasoning())]
    });
    assert_eq!(lines, sse, "{text}");
    lines
}
