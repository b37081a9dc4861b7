//! The input of a template: messages, tools and variables, with marked content.

use std::collections::HashSet;

use minijinja::Value;
use openchatml::{Conversation, Data, Limits as ReadLimits, Tool, Value as Plain};

use crate::marks::{ContentPlace, Marker, Marks};
use crate::messages::{Call, MessageText, TemplateMessage, fold};
use crate::number::number;
use crate::options::{Arguments, Options};

/// The separator between two reasoning texts of one message.
const BETWEEN: &str = "\n";

/// Creates the input of a template.
pub(crate) fn context(
    conversation: &Conversation<'_>,
    options: &Options<'_>,
    marker: &mut Marker<'_>,
) -> Value {
    let folded = fold(conversation);
    let messages: Vec<_> =
        folded.iter().map(|message| message_value(message, options.arguments, marker)).collect();
    let tools: Vec<_> = conversation
        .tools
        .iter()
        .enumerate()
        .map(|(at, tool)| declared(tool, at, marker))
        .collect();
    let tools = if tools.is_empty() { Value::from(()) } else { Value::from(tools) };
    let mut all = vec![
        ("messages".to_owned(), Value::from(messages)),
        ("tools".to_owned(), tools),
        ("documents".to_owned(), Value::from(())),
        ("add_generation_prompt".to_owned(), options.generation_prompt.into()),
    ];
    if let Some(thinking) = options.thinking {
        all.push(("enable_thinking".to_owned(), thinking.into()));
    }
    for (name, value) in &options.variables {
        let mut place = ContentPlace { message: None, field: name.to_string() };
        all.push((name.to_string(), data(value, &mut place, marker)));
    }
    // Special tokens belong to the template, so they are not marked.
    for (name, text) in &options.special_tokens {
        all.push((name.to_string(), Value::from(text.as_ref())));
    }
    Value::from_pairs(all)
}

/// Collects the characters of the input that could be marks.
pub(crate) fn note(
    conversation: &Conversation<'_>,
    options: &Options<'_>,
    used: &mut HashSet<char>,
) {
    for message in &conversation.messages {
        Marks::note(&message.body.text(), used);
        for value in [&message.name, &message.recipient, &message.call_id].into_iter().flatten() {
            Marks::note(value, used);
        }
    }
    for tool in &conversation.tools {
        Marks::note(&tool.name, used);
        Marks::note(tool.description.as_deref().unwrap_or_default(), used);
        tool.parameters.iter().for_each(|value| note_data(value, used));
        for (key, value) in &tool.extra {
            Marks::note(key, used);
            note_data(value, used);
        }
    }
    options.variables.iter().for_each(|(_, value)| note_data(value, used));
    options.special_tokens.iter().for_each(|(_, text)| Marks::note(text, used));
}

fn note_data(value: &Plain<'_>, used: &mut HashSet<char>) {
    match &value.data {
        Data::String(text) => Marks::note(text, used),
        Data::List(items) => items.iter().for_each(|item| note_data(item, used)),
        Data::Map(entries) => entries.iter().for_each(|(key, value)| {
            Marks::note(key, used);
            note_data(value, used);
        }),
        Data::Null | Data::Bool(_) | Data::Number(_) => {}
    }
}

/// Converts a message for the template.
fn message_value(
    message: &TemplateMessage,
    arguments: Arguments,
    marker: &mut Marker<'_>,
) -> Value {
    let mut all = vec![("role", Value::from(message.role))];
    let mut marked = |message_text: &MessageText, field: &str| {
        let place = ContentPlace { message: Some(message_text.message), field: field.to_owned() };
        marker.content(&message_text.text, &place).into_owned()
    };
    if let Some(name) = &message.name {
        all.push(("name", marked(name, "name").into()));
    }
    let content: Vec<_> =
        message.content.iter().map(|message_text| marked(message_text, "content")).collect();
    all.push(("content", content.join(BETWEEN).into()));
    if !message.reasoning.is_empty() {
        let reasoning =
            message.reasoning.iter().map(|message_text| marked(message_text, "content"));
        let reasoning = Value::from(reasoning.collect::<Vec<_>>().join(BETWEEN));
        all.push(("reasoning_content", reasoning.clone()));
        // Some templates use other names for reasoning.
        all.push(("thinking", reasoning.clone()));
        all.push(("thought", reasoning));
    }
    if let Some(id) = &message.tool_call_id {
        all.push(("tool_call_id", marked(id, "call_id").into()));
    }
    if !message.calls.is_empty() {
        let calls = message.calls.iter().map(|it| call(it, arguments, marker));
        all.push(("tool_calls", Value::from(calls.collect::<Vec<_>>())));
    }
    Value::from_pairs(all)
}

fn call(call: &Call, arguments: Arguments, marker: &mut Marker<'_>) -> Value {
    let mut place = ContentPlace { message: Some(call.message), field: String::new() };
    let mut all = Vec::new();
    if let Some(id) = &call.id {
        "call_id".clone_into(&mut place.field);
        all.push(("id", marker.content(id, &place).into_owned().into()));
    }
    "recipient".clone_into(&mut place.field);
    let name = Value::from(marker.content(&call.name, &place).into_owned());
    "content".clone_into(&mut place.field);
    let parsed = || Plain::from_json(&call.arguments, &ReadLimits::default()).ok();
    let value = match arguments {
        Arguments::Parsed => parsed(),
        Arguments::Text => None,
    };
    let value = match value {
        Some(value) => data(&value, &mut place, marker),
        None => marker.content(&call.arguments, &place).into_owned().into(),
    };
    let function = Value::from_pairs([("name", name), ("arguments", value)]);
    all.extend([("type", Value::from("function")), ("function", function)]);
    Value::from_pairs(all)
}

fn declared(tool: &Tool<'_>, at: usize, marker: &mut Marker<'_>) -> Value {
    let mut place = ContentPlace { message: None, field: format!("tools[{at}]") };
    let mut function =
        vec![("name".to_owned(), marker.content(&tool.name, &place).into_owned().into())];
    if let Some(description) = &tool.description {
        let description = marker.content(description, &place).into_owned();
        function.push(("description".to_owned(), description.into()));
    }
    if let Some(parameters) = &tool.parameters {
        function.push(("parameters".to_owned(), data(parameters, &mut place, marker)));
    }
    for (key, value) in &tool.extra {
        let key = marker.key(key, &place).into_owned();
        function.push((key, data(value, &mut place, marker)));
    }
    let function = Value::from_pairs(function);
    Value::from_pairs([("type", Value::from("function")), ("function", function)])
}

/// Converts data for the template.
fn data(value: &Plain<'_>, place: &mut ContentPlace, marker: &mut Marker<'_>) -> Value {
    match &value.data {
        Data::Null => Value::from(()),
        Data::Bool(value) => Value::from(*value),
        Data::Number(spelling) => number(spelling),
        Data::String(text) => marker.content(text, place).into_owned().into(),
        Data::List(items) => {
            items.iter().map(|item| data(item, place, marker)).collect::<Vec<_>>().into()
        }
        Data::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let key = marker.key(key, place).into_owned();
                (key, data(value, place, marker))
            });
            Value::from_pairs(entries.collect::<Vec<_>>())
        }
    }
}
