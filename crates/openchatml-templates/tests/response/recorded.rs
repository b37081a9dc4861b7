//! Compares what response templates read with recordings of `transformers` (`record.py`).

use openchatml::{Limits, Message, ReadOptions, Tool, Value as Parsed};
use openchatml_templates::ResponseTemplate;
use serde_json::{Map, Value, json};

/// Makes the message of `transformers` of messages.
fn message(template: &Value, messages: &[Message<'_>]) -> Value {
    let mut out = Map::new();
    let mut calls = Vec::new();
    for message in messages.iter().filter(|it| !it.recovered) {
        let text = message.body.text().into_owned();
        if message.is_call() {
            let name =
                message.recipient.as_deref().unwrap_or_default().trim_start_matches("functions.");
            let arguments: Value = serde_json::from_str(&text).expect("a call is JSON");
            calls.push(
                json!({"type": "function", "function": {"name": name, "arguments": arguments}}),
            );
            continue;
        }
        let names = ["thinking", "reasoning_content"];
        let thinking = names.into_iter().find(|it| template["fields"].get(it).is_some());
        let name = if message.is_reasoning() { thinking.unwrap_or_default() } else { "content" };
        let join = template["fields"][name]["join"].as_str();
        let text = match (out.get(name).and_then(Value::as_str), join) {
            (Some(before), Some(join)) => format!("{before}{join}{text}"),
            _ => text,
        };
        out.insert(name.to_owned(), text.into());
    }
    if !calls.is_empty() {
        out.insert("tool_calls".to_owned(), calls.into());
    }
    out.into()
}

#[test]
fn outputs_are_read_as_transformers_reads_them() {
    let recorded: Value = serde_json::from_str(include_str!("recorded.json")).unwrap();
    let mut wrong = Vec::new();
    for case in recorded["cases"].as_array().unwrap() {
        let spec = &recorded["templates"][case["template"].as_str().unwrap()];
        let template = ResponseTemplate::from_json(&spec.to_string()).unwrap();
        let mut options = ReadOptions::default();
        let tools = case.get("tools").and_then(Value::as_array).into_iter().flatten();
        let tool = |tool: &Value| {
            let schema = tool["function"]["parameters"].to_string();
            let schema = Parsed::from_json(&schema, &Limits::default()).unwrap().into_owned();
            Tool::new(tool["function"]["name"].as_str().unwrap().to_owned()).with_parameters(schema)
        };
        options.tools = tools.map(tool).collect();
        let (prompt, text) = (case["prompt"].as_str().unwrap(), case["text"].as_str().unwrap());
        let prompt = Some(prompt).filter(|it| !it.is_empty());
        let parsed = template.read(prompt, text, &options);
        let is_clean = parsed.diagnostics.is_empty();
        let codes: Vec<_> = parsed.diagnostics.iter().map(ToString::to_string).collect();
        let found = message(spec, &parsed.into_conversation().messages);
        let mut expected = case.get("message").cloned().unwrap_or_default();
        if let Some(fields) = expected.as_object_mut() {
            // The role is that of all messages, and fields of other names are hidden.
            fields.retain(|name, _| !matches!(name.as_str(), "role" | "score"));
        }
        let differs = case.get("differs");
        let is_as_expected = match differs {
            // Nothing that differs is silent, except for the number of messages.
            Some(why) => !is_clean || why.as_str().unwrap().starts_with("every region"),
            None => found == expected,
        };
        if !is_as_expected || case.get("error").is_some() && (is_clean || differs.is_none()) {
            wrong.push(format!("{case}\n  {found}\n  {codes:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn regions_are_those_of_transformers() {
    let recorded: Value = serde_json::from_str(include_str!("recorded.json")).unwrap();
    let template = ResponseTemplate::from_json(&recorded["regions"].to_string()).unwrap();
    let mut wrong = Vec::new();
    let cases = recorded["random"].as_array().unwrap();
    for case in cases {
        let text = case["text"].as_str().unwrap();
        let messages =
            template.read(None, text, &ReadOptions::default()).into_conversation().messages;
        let texts = |is_reasoning: bool| -> Vec<String> {
            let all = messages.iter().filter(|it| it.is_reasoning() == is_reasoning);
            all.map(|it| it.body.text().into_owned()).filter(|it| !it.is_empty()).collect()
        };
        let mut reasoning = texts(true);
        reasoning.sort();
        let found = json!({"text": text, "content": texts(false), "reasoning": reasoning});
        if found != *case {
            wrong.push(format!("{case}\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
