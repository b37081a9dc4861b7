//! JSON of Anthropic's Messages API: requests, responses, lists of messages, and single messages
//! (the API reference, "Create a Message").

use super::Draft;
use super::generator::Generator;
use super::json::{Json, object};
use super::openai::{self, Parameter};
use super::plan::{Act, Declared, Plan, Step};
use super::sides::{self, Api};

const PARAMETERS: &[Parameter] = &[
    Parameter::Text("model"),
    Parameter::Number("max_tokens"),
    Parameter::Number("temperature"),
    Parameter::List("stop_sequences"),
    Parameter::Object("metadata"),
    Parameter::Object("tool_choice"),
];

const API: Api = Api { request, response, messages };

pub(crate) fn write(generator: &mut Generator<'_>) -> Draft {
    sides::write(generator, &API)
}

fn request(generator: &mut Generator<'_>, plan: Plan) -> Json {
    let mut request = object([]);
    if generator.one_in(2) {
        openai::parameters(generator, &mut request, PARAMETERS);
    }
    let (system, rest) = sides::split_system(&plan.steps);
    match system {
        [] => {}
        [one] if generator.one_in(2) => request.set("system", one.text.as_str()),
        all => {
            let blocks: Vec<_> = all.iter().map(|step| text(generator, &step.text)).collect();
            request.set("system", blocks);
        }
    }
    request.set("messages", messages(generator, rest));
    if !plan.tools.is_empty() {
        let mut tools: Vec<_> = plan.tools.iter().map(|tool| declared(generator, tool)).collect();
        if generator.one_in(4) {
            let kind = ("type", "web_search_20250305".into());
            tools.push(object([
                kind,
                ("name", "web_search".into()),
                ("x", generator.datum().into()),
            ]));
        }
        request.set("tools", tools);
    }
    request
}

fn declared(generator: &mut Generator<'_>, tool: &Declared) -> Json {
    let mut properties = object([]);
    properties.set(&tool.property, object([("type", "string".into())]));
    let schema = object([("type", "object".into()), ("properties", properties)]);
    let mut written = object([("name", tool.name.as_str().into())]);
    if generator.one_in(4) {
        written.set("type", "custom");
    }
    written.set("description", tool.description.as_str());
    written.set("input_schema", schema);
    if generator.one_in(6) {
        written.set("cache_control", object([("type", "ephemeral".into())]));
    }
    written
}

/// What the service adds to a message.
fn response(generator: &mut Generator<'_>, mut message: Json) -> Json {
    message.set("id", generator.datum());
    message.set("type", "message");
    message.set("model", generator.datum());
    message.set("stop_reason", generator.pick(&["end_turn", "tool_use", "max_tokens"]));
    message.set("stop_sequence", Json::Word("null"));
    message.set("usage", object([("output_tokens", Json::Number(generator.number()))]));
    message
}

fn messages(generator: &mut Generator<'_>, steps: &[Step]) -> Vec<Json> {
    sides::turns(steps).map(|turn| message(generator, turn)).collect()
}

fn message(generator: &mut Generator<'_>, turn: &[Step]) -> Json {
    let is_model = turn.iter().any(sides::is_model);
    let mut message = object([("role", if is_model { "assistant" } else { "user" }.into())]);
    if let [one] = turn
        && !matches!(one.act, Act::Thought | Act::Call | Act::Reply)
        && generator.one_in(2)
    {
        message.set("content", one.text.as_str());
        return message;
    }
    let mut blocks: Vec<Json> = Vec::new();
    for step in turn {
        if is_model && generator.one_in(10) {
            blocks.push(other(generator));
        }
        blocks.push(block(generator, step));
    }
    message.set("content", blocks);
    message
}

fn text(generator: &mut Generator<'_>, text: &str) -> Json {
    let mut block = object([("type", "text".into()), ("text", text.into())]);
    if generator.one_in(8) {
        block.set("cache_control", object([("type", "ephemeral".into())]));
    }
    block
}

fn block(generator: &mut Generator<'_>, step: &Step) -> Json {
    match step.act {
        Act::Thought => object([
            ("type", "thinking".into()),
            ("thinking", step.text.as_str().into()),
            ("signature", generator.datum().into()),
        ]),
        Act::Call => object([
            ("type", "tool_use".into()),
            ("id", step.id.as_str().into()),
            ("name", step.tool.as_str().into()),
            ("input", Json::Raw(step.text.clone())),
        ]),
        Act::Reply => {
            let mut block =
                object([("type", "tool_result".into()), ("tool_use_id", step.id.as_str().into())]);
            match generator.one_in(3) {
                true => block.set("content", vec![text(generator, &step.text)]),
                false => block.set("content", step.text.as_str()),
            }
            if generator.one_in(6) {
                block.set("is_error", Json::Word("true"));
            }
            block
        }
        _ => text(generator, &step.text),
    }
}

/// A block that is no message.
fn other(generator: &mut Generator<'_>) -> Json {
    let datum = generator.datum();
    match generator.one_in(2) {
        true => object([("type", "redacted_thinking".into()), ("data", datum.into())]),
        false => object([
            ("type", "server_tool_use".into()),
            ("id", datum.into()),
            ("name", "web_search".into()),
            ("input", object([])),
        ]),
    }
}
