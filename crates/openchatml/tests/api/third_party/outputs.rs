//! Expectations of other projects about complete outputs of gpt-oss.

use openchatml::{End, Policy, Severity, Visibility, parse};
use serde_json::{Value, json};

use super::chat::{chat, completion, expected, function, harmony, same, text_of};
use super::score::Score;

#[test]
fn outputs_are_read_as_by_other_projects() {
    let mut score = Score::new("gptoss.chat_output");
    let files = ["vllm_gptoss.jsonl", "llamacpp_gptoss.jsonl", "dynamo_gptoss.jsonl"];
    for case in score.cases(&files) {
        let text = case["input"]["text"].as_str().expect("a text");
        let (read, wanted) = (chat(text), expected(&case["expected"]));
        score.take(&case["id"], same(&read, &wanted), || {
            format!("{text:?}\n  {read:?}\n  {wanted:?}")
        });
    }
    score.finish();
}

#[test]
fn headers_are_read_as_by_other_projects() {
    let mut score = Score::new("harmony.header_text");
    for case in score.cases(&["ollama_harmony.jsonl"]) {
        let header = case["input"]["header"].as_str().expect("a header");
        let text = format!("<|start|>{header}<|message|>{{}}<|end|>");
        let conversation = parse(&text, harmony(), &Default::default()).into_conversation();
        let message = &conversation.messages[0];
        let wanted = &case["expected"];
        let is_same = wanted["role"] == message.role.as_str()
            && wanted["channel"].as_str() == message.channel.map(|channel| channel.as_str())
            && wanted["recipient"].as_str() == message.recipient.as_deref();
        score.take(&case["id"], is_same, || format!("{header:?} is {message:?}, not {wanted}"));
    }
    score.finish();
}

#[test]
fn messages_equal_those_of_the_reference_parser() {
    let mut score = Score::new("harmony.parse");
    for case in score.cases(&["harmony_upstream.jsonl"]) {
        let text = case["input"]["text"].as_str().expect("a text");
        let mut options = completion();
        options.continues = options.continues.filter(|_| case["input"]["role"] == "assistant");
        let conversation = parse(text, harmony(), &options).into_conversation();
        let messages = conversation.messages.iter().map(|message| {
            let fields = [
                ("name", message.name.as_deref()),
                ("channel", message.channel.map(|channel| channel.as_str())),
                ("recipient", message.recipient.as_deref()),
                ("content_type", message.content_type.as_deref()),
            ];
            let mut read = json!({"role": message.role.as_str()});
            read["content"] = json!([{"type": "text", "text": message.body.text()}]);
            for (key, value) in fields {
                if value.is_some() || key == "name" {
                    read[key] = json!(value);
                }
            }
            read
        });
        let read: Vec<Value> = messages.collect();
        let wanted = &case["expected"]["strict"]["messages"];
        score.take(&case["id"], *wanted == json!(read), || format!("{read:?}\n  {wanted}"));
    }
    score.finish();
}

#[test]
fn segments_equal_those_of_other_projects() {
    let mut score = Score::new("gptoss.segments");
    for case in score.cases(&["vllm_gptoss.jsonl"]) {
        let text = case["input"]["text"].as_str().expect("a text");
        let conversation = parse(text, harmony(), &completion()).into_conversation();
        let segments = conversation.messages.iter().map(|message| {
            json!({
                "channel": message.channel.map(|channel| channel.as_str()),
                "recipient": message.recipient.as_deref(),
                "text": message.body.text(),
                "complete": message.end != End::Open,
            })
        });
        let read = json!(segments.collect::<Vec<_>>());
        let wanted = &case["expected"]["segments"];
        score.take(&case["id"], read == *wanted, || format!("{text:?}\n  {read}\n  {wanted}"));
    }
    score.finish();
}

/// Returns the parts of an output for a trainer: reasoning, text, and certain or uncertain calls.
fn parts(text: &str) -> Value {
    let parsed = parse(text, harmony(), &completion());
    let errors = parsed.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let errors: Vec<_> = errors.map(|found| found.span).collect();
    let (mut parts, mut calls, mut unparsed) = (Vec::new(), Vec::new(), 0);
    for message in &parsed.document.as_conversation().expect("one").messages {
        // A diagnostic before the message belongs to another one.
        let within = |span: &openchatml::Span| {
            message.span.start < span.start && span.end <= message.span.end
        };
        let is_certain = !message.recovered && !errors.iter().any(within);
        let body = message.body.text();
        match function(message) {
            Some(name) if is_certain && message.end == End::Call => {
                calls.push(json!({"name": name, "arguments": body}));
            }
            Some(_) => unparsed += 1,
            None if Policy::default().visibility(message) == Visibility::User => {
                parts.push(json!({"type": "text", "text": body}));
            }
            None if message.is_reasoning() && !message.recovered => {
                parts.push(json!({"type": "thinking", "text": body}));
            }
            None => {}
        }
    }
    json!({"parts": parts, "tool_calls": calls, "unparsed_tool_calls": unparsed})
}

#[test]
fn responses_have_the_same_parts_as_in_other_projects() {
    let mut score = Score::new("gptoss.response_parts");
    for case in score.cases(&["tinker_gptoss.jsonl"]) {
        let text = text_of(&case["input"]["text"]);
        let (read, wanted) = (parts(&text), &case["expected"]);
        score.take(&case["id"], read == *wanted, || format!("{text:?}\n  {read}\n  {wanted}"));
    }
    score.finish();
}
