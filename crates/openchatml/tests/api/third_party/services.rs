//! How other projects read messages in formats of services and data sets.

use openchatml::harmony::{Effort, PromptOptions, SystemContent};
use openchatml::{
    End, Format, Message, Parsed, ReadOptions, RenderOptions, convert, parse, render,
};
use serde_json::{Value, json};

use super::chat::{harmony, text_of};
use super::score::Score;

fn read<'a>(text: &'a str, format: &str) -> Parsed<'a> {
    parse(text, format.parse::<Format>().expect("a format"), &ReadOptions::default())
}

/// Converts a message to the fields that a case expects.
fn fields(message: &Message<'_>, wanted: &Value) -> Value {
    let mut read = json!({});
    for key in wanted.as_object().into_iter().flat_map(|fields| fields.keys()) {
        let channel = message.channel.map(|channel| channel.as_str());
        let body = message.body.text();
        read[key] = match key.as_str() {
            "role" => json!(message.role.as_str()),
            "name" => json!(message.name.as_deref()),
            "recipient" => json!(message.recipient.as_deref()),
            "channel" => json!(channel),
            "content_type" => json!(message.content_type.as_deref()),
            // The parts of the content are joined.
            "content" | "instructions" if wanted[key].is_array() => {
                let parts = wanted[key].as_array().into_iter().flatten();
                let joined: String = parts.filter_map(Value::as_str).collect();
                if joined == body { wanted[key].clone() } else { json!(body) }
            }
            "content" | "instructions" => json!(body),
            other => panic!("a message has no {other}"),
        };
    }
    read
}

/// Whether messages have the fields that a case expects.
fn same(messages: &[Message<'_>], wanted: &Value) -> Result<(), String> {
    let wanted = wanted.as_array().expect("messages");
    let none = Value::Null;
    let pairs = messages.iter().zip(wanted.iter().chain(std::iter::repeat(&none)));
    let read: Vec<Value> = pairs.map(|(message, wanted)| fields(message, wanted)).collect();
    if read == *wanted { Ok(()) } else { Err(format!("{read:?}\n  {wanted:?}")) }
}

#[test]
fn chat_messages_equal_those_of_other_projects() {
    let mut score = Score::new("openai_message.to_harmony");
    for case in score.cases(&["vllm_gptoss.jsonl"]) {
        let names = case["input"]["tool_id_names"].as_object().expect("names");
        // The calls that determine the names of tools.
        let calls = names.iter().map(|(id, name)| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}})
        });
        let calls: Vec<Value> = calls.collect();
        let mut messages = vec![case["input"]["message"].clone()];
        if !calls.is_empty() {
            messages.insert(0, json!({"role": "assistant", "tool_calls": calls}));
        }
        let text = json!(messages).to_string();
        let messages = read(&text, "openai").into_conversation().messages;
        let same = same(&messages[calls.len()..], &case["expected"]["messages"]);
        score.take(&case["id"], same.is_ok(), || same.err().unwrap_or_default());
    }
    score.finish();
}

/// Returns the part type of a message in a data set.
fn part_type(message: &Message<'_>) -> &'static str {
    match message {
        call if call.is_call() => "tool_call",
        thought if thought.is_reasoning() => "reasoning",
        _ => "text",
    }
}

/// Returns the roles of messages, once for each turn.
fn roles(messages: &[Message<'_>]) -> Vec<&'static str> {
    let mut roles: Vec<_> = messages.iter().map(|message| message.role.as_str()).collect();
    roles.dedup();
    roles
}

/// A call as JSON: its function, and its arguments as JSON.
fn call(message: &Message<'_>) -> Value {
    let name = message.recipient.as_deref().unwrap_or_default();
    let arguments: Value = serde_json::from_str(&message.body.text()).unwrap_or_default();
    json!({"name": name.strip_prefix("functions.").unwrap_or(name), "arguments": arguments})
}

#[test]
fn typed_parts_are_read_as_by_other_projects() {
    let mut score = Score::new("dataset.typed_messages");
    for case in score.cases(&["dataset_samples.jsonl"]) {
        let (text, wanted) = (case["input"]["record"].to_string(), &case["expected"]);
        let parsed = read(&text, "openai");
        let found = format!("{:?}", parsed.diagnostics);
        let conversation = parsed.document.as_conversation().expect("one");
        let messages = &conversation.messages;
        let mut is_same = !parsed.has_errors() && json!(roles(messages)) == wanted["roles"];
        if let Some(weights) = wanted.get("loss_weights") {
            let format = "openai".parse::<Format>().expect("a format");
            let written = render(&parsed.document, format, &RenderOptions::default());
            let written: Value = serde_json::from_str(&written.expect("JSON")).expect("JSON");
            let written = written["messages"].as_array().expect("messages").clone();
            // Numbers are compared by value: 0 equals 0.0.
            let kept = written.iter().map(|message| message["loss_weight"].as_f64());
            let weights = weights.as_array().expect("weights").iter().map(Value::as_f64);
            is_same &= kept.eq(weights);
        } else {
            let types = messages.iter().map(|it| json!([it.role.as_str(), part_type(it)]));
            let thoughts = messages.iter().filter(|message| message.is_reasoning());
            let thoughts: Vec<_> = thoughts.map(|message| message.body.text()).collect();
            let calls: Vec<_> = messages.iter().filter(|it| it.is_call()).map(call).collect();
            let values = wanted["tool_call_values"].as_array().expect("calls").iter();
            let values = values.map(|value| match value.as_str() {
                Some(text) => serde_json::from_str(text).expect("JSON"),
                None => value.clone(),
            });
            is_same &= json!(types.collect::<Vec<_>>()) == wanted["part_types"]
                && json!(thoughts) == wanted["reasoning_texts"]
                && json!(calls) == json!(values.collect::<Vec<_>>());
        }
        score.take(&case["id"], is_same, || format!("{messages:#?} {found}"));
    }
    score.finish();
}

#[test]
fn messages_with_thinking_become_the_same_samples_as_in_other_projects() {
    let mut score = Score::new("dataset.openai_messages_thinking");
    for case in score.cases(&["dataset_samples.jsonl"]) {
        let (input, wanted) = (&case["input"], &case["expected"]["text"]);
        let text = input["messages"].to_string();
        let mut conversation = read(&text, "openai").into_conversation();
        let mut system = SystemContent::default();
        system.model_identity = Some(text_of(&input["kwargs"]["model_identity"]).into());
        system.reasoning_effort = Effort::from_word(&text_of(&input["kwargs"]["reasoning_effort"]));
        system.current_date = Some("2026-01-02".into());
        let mut options = RenderOptions::default();
        let mut prompt = PromptOptions::default();
        prompt.system = Some(system);
        options.set(prompt);
        // A training sample.
        conversation.messages.last_mut().expect("an answer").end = End::Return;
        let prompt = convert::convert(&conversation.into(), harmony(), &options).expect("a sample");
        let is_same = *wanted == prompt.output && prompt.losses.is_empty();
        score.take(&case["id"], is_same, || format!("{}\n--- wanted\n{wanted}", prompt.output));
    }
    score.finish();
}

#[test]
fn turns_of_data_sets_are_read_as_by_other_projects() {
    let mut score = Score::new("dataset.sharegpt");
    for case in score.cases(&["dataset_samples.jsonl"]) {
        let (text, wanted) = (case["input"]["record"].to_string(), &case["expected"]);
        let parsed = read(&text, "sharegpt");
        let has_errors = parsed.has_errors();
        let conversation = parsed.document.as_conversation().expect("one");
        let messages = &conversation.messages;
        let calls: Vec<_> = messages.iter().filter(|it| it.is_call()).map(call).collect();
        let texts = messages.iter().filter(|it| !it.is_call()).map(|it| it.body.text());
        let is_same = !has_errors
            && json!(roles(messages)) == wanted["roles"]
            && json!(calls) == wanted["tool_calls"]
            && json!(texts.collect::<Vec<_>>()) == wanted["texts"]
            && json!(conversation.tools.len()) == wanted["n_tools"];
        score.take(&case["id"], is_same, || format!("{messages:#?} {:?}", parsed.diagnostics));
    }
    score.finish();
}

#[test]
fn items_become_the_same_messages_as_in_other_projects() {
    let mut score = Score::new("openai_responses_items.to_harmony");
    for case in score.cases(&["vllm_gptoss.jsonl"]) {
        let text = case["input"]["items"].to_string();
        let messages = read(&text, "responses").into_conversation().messages;
        let same = same(&messages, &case["expected"]["messages"]);
        score.take(&case["id"], same.is_ok(), || same.err().unwrap_or_default());
    }
    score.finish();
}
