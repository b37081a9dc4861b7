//! Items of OpenAI's Responses API: lists, requests with `input`, responses with `output` (the API
//! reference, "Create a model response").

use super::generator::Generator;
use super::json::{Json, object};
use super::openai::{self, Parameter};
use super::plan::{Act, Declared, Step, plan};
use super::{Draft, ExpectedMessage, canonical};

const ACTS: &[Act] = &[
    Act::System,
    Act::Developer,
    Act::User,
    Act::Thought,
    Act::Preamble,
    Act::Call,
    Act::Reply,
    Act::Answer,
];

const PARAMETERS: &[Parameter] = &[
    Parameter::Text("model"),
    Parameter::Text("user"),
    Parameter::Number("temperature"),
    Parameter::Number("max_output_tokens"),
    Parameter::Object("metadata"),
    Parameter::Object("text"),
];

pub(crate) fn write(generator: &mut Generator<'_>) -> Draft {
    let plan = plan(generator, ACTS);
    let mut said: Vec<_> = plan.steps.iter().map(ExpectedMessage::of).collect();
    let mut items = Vec::new();
    for step in &plan.steps {
        if generator.one_in(10) {
            items.push(hosted(generator));
        }
        items.push(item(generator, step));
    }
    let document = match generator.upto(4) {
        0 if plan.tools.is_empty() => items.into(),
        1 => {
            said.clear();
            object([("model", generator.datum().into()), ("input", generator.datum().into())])
        }
        2 => object([
            ("id", generator.datum().into()),
            ("object", "response".into()),
            ("status", "completed".into()),
            ("model", generator.datum().into()),
            ("output", items.into()),
        ]),
        _ => {
            let mut request = object([("input", items.into())]);
            if generator.one_in(2) {
                openai::parameters(generator, &mut request, PARAMETERS);
            }
            if !plan.tools.is_empty() {
                request.set("tools", tools(generator, &plan.tools));
            }
            request
        }
    };
    canonical::draft(generator, document, said)
}

/// Writes declarations without the object around the function.
fn tools(generator: &mut Generator<'_>, declared: &[Declared]) -> Json {
    let mut tools: Vec<_> = declared
        .iter()
        .map(|tool| {
            let Json::Object(mut members) = canonical::function(generator, tool) else {
                return object([]);
            };
            members.insert(0, ("type".to_owned(), "function".into()));
            Json::Object(members)
        })
        .collect();
    if generator.one_in(4) {
        tools.push(object([("type", "web_search".into()), ("x", generator.datum().into())]));
    }
    tools.into()
}

fn item(generator: &mut Generator<'_>, step: &Step) -> Json {
    let mut item = match step.act {
        Act::Thought => {
            let text =
                object([("type", "reasoning_text".into()), ("text", step.text.as_str().into())]);
            let mut item = object([("type", "reasoning".into()), ("summary", vec![].into())]);
            item.set("content", vec![text]);
            item
        }
        Act::Call => object([
            ("type", "function_call".into()),
            ("call_id", step.id.as_str().into()),
            ("name", step.tool.as_str().into()),
            ("arguments", step.text.as_str().into()),
        ]),
        Act::Reply => object([
            ("type", "function_call_output".into()),
            ("call_id", step.id.as_str().into()),
            ("output", step.text.as_str().into()),
        ]),
        act => {
            let kind = if act.role() == "assistant" { "output_text" } else { "input_text" };
            let mut item = object([("role", act.role().into())]);
            if act.role() == "assistant" || generator.one_in(2) {
                item.set("type", "message");
            }
            if act == Act::Preamble {
                item.set("phase", "commentary");
            }
            item.set("content", openai::content(generator, &step.text, kind));
            item
        }
    };
    if generator.one_in(4) {
        item.set("id", generator.datum());
    }
    if generator.one_in(4) {
        item.set("status", "completed");
    }
    item
}

/// Generates items that are not messages.
fn hosted(generator: &mut Generator<'_>) -> Json {
    let datum = generator.datum();
    match generator.upto(3) {
        0 => object([("type", "web_search_call".into()), ("id", datum.into())]),
        1 => object([("type", "item_reference".into()), ("id", datum.into())]),
        2 => {
            let summary = object([("type", "summary_text".into()), ("text", datum.into())]);
            object([("type", "reasoning".into()), ("summary", vec![summary].into())])
        }
        _ => object([
            ("type", "reasoning".into()),
            ("summary", vec![].into()),
            ("encrypted_content", datum.into()),
        ]),
    }
}
