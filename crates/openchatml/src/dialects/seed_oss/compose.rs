//! Composes a conversation like the chat template: the system message declares the tools.

use super::RULES;
use crate::Span;
use crate::declare::elements_say_all;
use crate::grammar::sections::{self, Opened};
use crate::json::Value;
use crate::model::{Conversation, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer, Loss, Lost};
use crate::writing::RenderError;

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input of the template can contain.
static CARRIES: Carries = Carries { tools: true, call_ids: true, ..super::CARRIES };

/// The system message, if a conversation has tools and no system message.
const DEFAULT: &str = "You are Doubao, a helpful AI assistant. You may call one or more functions to \
    assist with the user query.";

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let messages = std::mem::take(&mut conversation.messages);
    let mut opened = match tools {
        [] => Opened::new(messages),
        _ => Opened::declaring(messages, DEFAULT, |system| declaration(system, tools)),
    };
    let in_part = tools.iter().filter(|tool| !says_all(tool));
    let loss = |_: &Tool<'_>| Loss::new(None, Span::default(), Lost::Declaration);
    opened.composed.remarks.extend(in_part.map(loss));
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns the system message of a conversation with tools.
fn declaration(system: &str, tools: &[Tool<'_>]) -> String {
    let mut text = system.to_owned();
    for tool in tools {
        function(&mut text, tool);
    }
    text.push_str(
        "\n工具调用请遵循如下格式:\n<seed:tool_call>\n<function=example_function_name>\n\
         <parameter=example_parameter_1>value_1</parameter>\n\
         <parameter=example_parameter_2>This is the value for the second parameter\nthat can span\n\
         multiple lines</parameter>\n</function>\n</seed:tool_call>\n",
    );
    text
}

/// Adds the declaration of a tool: a function in the syntax of Python, without a body.
fn function(text: &mut String, tool: &Tool<'_>) {
    let schema = tool.parameters.as_ref();
    let required = schema.and_then(|schema| schema.get("required")).and_then(Value::as_list);
    let properties = properties(tool);
    let each = properties.iter().map(|(name, schema)| format!("{name}: {}", python_type(schema)));
    let signature = each.collect::<Vec<_>>().join(",");
    let description = tool.description.as_deref().unwrap_or_default().trim();
    let name = &tool.name;
    text.push_str(&format!(
        "\n\nFunction:\ndef {name}({signature}):\n    \"\"\"\n    {description}\n\n"
    ));
    if !properties.is_empty() {
        text.push_str("    Args:");
    }
    for (name, schema) in properties {
        let names = required.unwrap_or_default();
        let is_required = names.iter().any(|it| it.as_str() == Some(name));
        let word = if is_required { "必填" } else { "选填" };
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let kind = python_type(schema);
        text.push_str(&format!("\n    - {name} ({kind}) [{word}]: {description}"));
    }
    text.push_str("\n\n    \"\"\"");
}

/// Returns the parameters of a tool.
fn properties<'t, 'a>(tool: &'t Tool<'a>) -> &'t [(std::borrow::Cow<'a, str>, Value<'a>)] {
    let properties = tool.parameters.as_ref().and_then(|schema| schema.get("properties"));
    properties.and_then(Value::as_map).unwrap_or_default()
}

/// Returns the type of a parameter in Python.
fn python_type(schema: &Value<'_>) -> &'static str {
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => "str",
        Some("number" | "integer") => "int",
        Some("boolean") => "bool",
        Some("array") => "list",
        _ => "Any",
    }
}

/// Whether the declaration contains everything that the tool says, except for the difference between
/// an integer and a number.
fn says_all(tool: &Tool<'_>) -> bool {
    let is_said = |schema: &Value<'_>| {
        let entries = schema.as_map().unwrap_or_default();
        let is_type = |value: &Value<'_>| {
            matches!(value.as_str(), Some("string" | "integer" | "boolean" | "array"))
        };
        entries.iter().all(|(key, value)| match &**key {
            "type" => is_type(value),
            "description" => value.as_str().is_some(),
            _ => false,
        })
    };
    let keys = tool.parameters.as_ref().and_then(Value::as_map).unwrap_or_default();
    let are_known =
        keys.iter().all(|(key, _)| matches!(&**key, "type" | "properties" | "required"));
    let schemas = properties(tool);
    elements_say_all(tool)
        && tool.extra.is_empty()
        && are_known
        && schemas.iter().all(|(_, schema)| is_said(schema))
}
