//! Items of OpenAI's Responses API: lists, requests with `input`, responses with `output` (the API
//! reference, "Create a model response").

use super::json::{Json, object};
use super::openai::{self, Parameter};
use super::pen::Pen;
use super::plan::{Act, Declared, Step, plan};
use super::{Draft, Said, canonical};

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

pub(crate) fn write(pen: &mut Pen<'_>) -> Draft {
    let plan = plan(pen, ACTS);
    let mut said: Vec<_> = plan.steps.iter().map(Said::of).collect();
    let mut items = Vec::new();
    for step in &plan.steps {
        if pen.one_in(10) {
            items.push(hosted(pen));
        }
        items.push(item(pen, step));
    }
    let document = match pen.upto(4) {
        0 if plan.tools.is_empty() => items.into(),
        1 => {
            said.clear();
            object([("model", pen.datum().into()), ("input", pen.datum().into())])
        }
        2 => object([
            ("id", pen.datum().into()),
            ("object", "response".into()),
            ("status", "completed".into()),
            ("model", pen.datum().into()),
            ("output", items.into()),
        ]),
        _ => {
            let mut request = object([("input", items.into())]);
            if pen.one_in(2) {
                openai::parameters(pen, &mut request, PARAMETERS);
            }
            if !plan.tools.is_empty() {
                request.set("tools", tools(pen, &plan.tools));
            }
            request
        }
    };
    canonical::draft(pen, document, said)
}

/// Declarations without the object around the function.
fn tools(pen: &mut Pen<'_>, declared: &[Declared]) -> Json {
    let mut tools: Vec<_> = declared
        .iter()
        .map(|tool| {
            let Json::Object(mut members) = canonical::function(pen, tool) else {
                return object([]);
            };
            members.insert(0, ("type".to_owned(), "function".into()));
            Json::Object(members)
        })
        .collect();
    if pen.one_in(4) {
        tools.push(object([("type", "web_search".into()), ("x", pen.datum().into())]));
    }
    tools.into()
}

fn item(pen: &mut Pen<'_>, step: &Step) -> Json {
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
            if act.role() == "assistant" || pen.one_in(2) {
                item.set("type", "message");
            }
            if act == Act::Preamble {
                item.set("phase", "commentary");
            }
            item.set("content", openai::content(pen, &step.text, kind));
            item
        }
    };
    if pen.one_in(4) {
        item.set("id", pen.datum());
    }
    if pen.one_in(4) {
        item.set("status", "completed");
    }
    item
}

/// What is no message.
fn hosted(pen: &mut Pen<'_>) -> Json {
    let datum = pen.datum();
    match pen.upto(3) {
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
