//! JSON of Anthropic's Messages API: requests, responses, lists of messages, and single messages
//! (the API reference, "Create a Message").

use super::generator::Generator;
use super::json::{Json, object};
use super::openai::{self, Parameter};
use super::plan::{Act, Declared, Plan, Step, plan};
use super::{Draft, ExpectedMessage, canonical};

const ACTS: &[Act] =
    &[Act::System, Act::User, Act::Thought, Act::Preamble, Act::Call, Act::Reply, Act::Answer];

const PARAMETERS: &[Parameter] = &[
    Parameter::Text("model"),
    Parameter::Number("max_tokens"),
    Parameter::Number("temperature"),
    Parameter::List("stop_sequences"),
    Parameter::Object("metadata"),
    Parameter::Object("tool_choice"),
];

pub(crate) fn write(generator: &mut Generator<'_>) -> Draft {
    let mut plan = plan(generator, ACTS);
    // The API has no names.
    plan.steps.iter_mut().for_each(|step| step.name = None);
    let said = |steps: &[Step]| steps.iter().map(ExpectedMessage::of).collect::<Vec<_>>();
    let (document, said) = match generator.upto(5) {
        0 => {
            let step: Vec<_> = plan.steps.last().cloned().into_iter().collect();
            let mut response = turns(generator, &step).pop().unwrap_or(object([]));
            respond(generator, &mut response);
            (response, said(&step))
        }
        1 if plan.tools.is_empty() => {
            let steps: Vec<_> =
                plan.steps.iter().filter(|step| step.act != Act::System).cloned().collect();
            (turns(generator, &steps).into(), said(&steps))
        }
        _ => {
            let said = said(&plan.steps);
            (request(generator, plan), said)
        }
    };
    canonical::draft(generator, document, said)
}

fn request(generator: &mut Generator<'_>, plan: Plan) -> Json {
    let mut request = object([]);
    if generator.one_in(2) {
        openai::parameters(generator, &mut request, PARAMETERS);
    }
    let count = plan.steps.iter().take_while(|step| step.act == Act::System).count();
    let (system, rest) = plan.steps.split_at(count);
    match system {
        [] => {}
        [one] if generator.one_in(2) => request.set("system", one.text.as_str()),
        all => {
            let blocks: Vec<_> = all.iter().map(|step| text(generator, &step.text)).collect();
            request.set("system", blocks);
        }
    }
    request.set("messages", turns(generator, rest));
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
fn respond(generator: &mut Generator<'_>, message: &mut Json) {
    message.set("id", generator.datum());
    message.set("type", "message");
    message.set("model", generator.datum());
    message.set("stop_reason", generator.pick(&["end_turn", "tool_use", "max_tokens"]));
    message.set("stop_sequence", Json::Word("null"));
    message.set("usage", object([("output_tokens", Json::Number(generator.number()))]));
}

/// The objects that say these steps: all that one side says in a row may share one.
fn turns(generator: &mut Generator<'_>, steps: &[Step]) -> Vec<Json> {
    let mut objects = Vec::new();
    let mut rest = steps;
    while let Some(first) = rest.first() {
        let side = side(first.act);
        let count = rest.iter().take_while(|step| self::side(step.act) == side).count();
        let count = match side {
            "user" => of_user(rest),
            // Text next to text would be one, and an answer before a call a preamble.
            _ => of_assistant(rest, count),
        };
        let (turn, others) = rest.split_at(count.max(1));
        rest = others;
        let mut message = object([("role", side.into())]);
        let is_text = !matches!(first.act, Act::Thought | Act::Call | Act::Reply);
        if turn.len() == 1 && is_text && generator.one_in(2) {
            message.set("content", first.text.as_str());
        } else {
            let mut blocks: Vec<Json> = Vec::new();
            for step in turn {
                if side == "assistant" && generator.one_in(10) {
                    blocks.push(other(generator));
                }
                blocks.push(block(generator, step));
            }
            message.set("content", blocks);
        }
        objects.push(message);
    }
    objects
}

fn side(act: Act) -> &'static str {
    match act.role() {
        "tool" => "user",
        role => role,
    }
}

/// How many steps can share an object of the user: results, and then one text.
fn of_user(steps: &[Step]) -> usize {
    let results = steps.iter().take_while(|step| step.act == Act::Reply).count();
    results + usize::from(steps.get(results).is_some_and(|step| step.act == Act::User))
}

fn of_assistant(steps: &[Step], count: usize) -> usize {
    let is_text = |step: &Step| matches!(step.act, Act::Answer | Act::Preamble);
    let ends = |at: &usize| {
        let (one, two) = (&steps[at - 1], &steps[*at]);
        is_text(one) && is_text(two) || one.act == Act::Answer && two.act == Act::Call
    };
    (1..count).find(ends).unwrap_or(count)
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
