//! JSON of OpenAI's Chat Completions: lists of messages, requests, responses, single messages, and
//! records for fine-tuning (the API reference, "Create chat completion"; "Fine-tuning", `weight`).

use super::generator::Generator;
use super::json::{Json, object};
use super::plan::{Act, Plan, Step, plan};
use super::{Draft, ExpectedMessage, canonical};

pub(crate) const ACTS: &[Act] = &[
    Act::System,
    Act::Developer,
    Act::User,
    Act::Thought,
    Act::Preamble,
    Act::Call,
    Act::Reply,
    Act::Answer,
];

pub(crate) fn write(generator: &mut Generator<'_>) -> Draft {
    let plan = plan(generator, ACTS);
    let (document, said) = match generator.upto(5) {
        0 => {
            let answer: Vec<_> = plan.steps.last().cloned().into_iter().collect();
            let said = answer.iter().map(ExpectedMessage::of).collect();
            (response(generator, &answer), said)
        }
        1 => {
            let step = plan.steps.iter().find(|step| step.act != Act::Reply).cloned();
            let step: Vec<_> = step.into_iter().filter(|it| it.act != Act::Preamble).collect();
            let said = step.iter().map(ExpectedMessage::of).collect();
            (messages(generator, &step, false).pop().unwrap_or(object([])), said)
        }
        choice => {
            let said = plan.steps.iter().map(ExpectedMessage::of).collect();
            (request(generator, &plan, choice), said)
        }
    };
    canonical::draft(generator, document, said)
}

/// Writes messages with other parameters of a request.
fn request(generator: &mut Generator<'_>, plan: &Plan, choice: usize) -> Json {
    let messages = messages(generator, &plan.steps, choice == 2);
    if choice == 3 && plan.tools.is_empty() {
        return messages.into();
    }
    let mut request = object([]);
    if choice > 3 {
        parameters(generator, &mut request, PARAMETERS);
    }
    request.set("messages", messages);
    if !plan.tools.is_empty() {
        match generator.one_in(6) {
            true => {
                let functions =
                    plan.tools.iter().map(|it| canonical::function(generator, it)).collect();
                request.set("functions", Json::List(functions));
            }
            false => {
                let mut tools = canonical::tools(generator, &plan.tools);
                if let (Json::List(tools), true) = (&mut tools, generator.one_in(6)) {
                    let datum = generator.datum();
                    tools.push(object([("type", "web_search".into()), ("x", datum.into())]));
                }
                request.set("tools", tools);
            }
        }
    }
    request
}

/// The type of a parameter of a request.
#[derive(Clone, Copy)]
pub(crate) enum Parameter {
    Text(&'static str),
    Number(&'static str),
    List(&'static str),
    Object(&'static str),
}

use Parameter::{List, Number, Object, Text};

const PARAMETERS: &[Parameter] = &[
    Text("model"),
    Text("user"),
    Number("temperature"),
    Number("seed"),
    Number("max_completion_tokens"),
    List("stop"),
    Object("metadata"),
    Object("response_format"),
];

/// Generates some parameters of a request.
pub(crate) fn parameters(generator: &mut Generator<'_>, request: &mut Json, all: &[Parameter]) {
    for _ in 0..=generator.upto(2) {
        let parameter = generator.pick(all);
        let datum = generator.datum();
        let (key, value): (_, Json) = match parameter {
            Text(key) => (key, datum.into()),
            Number(key) => (key, Json::Number(generator.number())),
            List(key) => (key, vec![datum.into()].into()),
            Object(key) => (key, Json::Object(vec![(datum, generator.datum().into())])),
        };
        let is_there = matches!(request, Json::Object(it) if it.iter().any(|it| it.0 == key));
        if !is_there {
            request.set(key, value);
        }
    }
}

/// Writes a response of the service.
fn response(generator: &mut Generator<'_>, answer: &[Step]) -> Json {
    let mut choice = object([("index", Json::Number("0".to_owned()))]);
    choice.set("message", messages(generator, answer, false).pop().unwrap_or(object([])));
    choice.set("finish_reason", "stop");
    let id = generator.datum();
    object([
        ("id", id.into()),
        ("object", "chat.completion".into()),
        ("created", Json::Number("1700000000".to_owned())),
        ("model", generator.datum().into()),
        ("choices", vec![choice].into()),
        ("usage", object([("total_tokens", Json::Number(generator.number()))])),
    ])
}

/// Writes these steps as objects. Adjacent reasoning, text and calls of the assistant may share one
/// object.
pub(crate) fn messages(
    generator: &mut Generator<'_>,
    steps: &[Step],
    is_weighted: bool,
) -> Vec<Json> {
    let mut objects = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let step = &steps[at];
        if step.act.role() != "assistant" {
            objects.push(of_others(generator, step));
            at += 1;
            continue;
        }
        let mut turn = object([("role", "assistant".into())]);
        if step.act == Act::Thought {
            let key = generator.pick(&[
                "reasoning_content",
                "reasoning_content",
                "reasoning",
                "thinking",
            ]);
            turn.set(key, step.text.as_str());
            at += 1;
        }
        let next = |at: usize| steps.get(at).map(|step| step.act);
        let is_alone = step.act == Act::Thought && generator.one_in(6);
        match next(at) {
            Some(Act::Preamble | Act::Answer) if !is_alone => {
                turn.set("content", content(generator, &steps[at].text, "text"));
                at += 1;
                if next(at - 1) == Some(Act::Preamble) {
                    calls(generator, steps, &mut at, &mut turn);
                }
            }
            Some(Act::Call) if !is_alone => {
                if generator.one_in(2) {
                    turn.set("content", Json::Word("null"));
                }
                calls(generator, steps, &mut at, &mut turn);
            }
            _ => {}
        }
        if is_weighted && generator.one_in(2) {
            turn.set("weight", Json::Number(generator.pick(&["0", "1"]).to_owned()));
        }
        if generator.one_in(8) {
            turn.set(
                "annotations",
                vec![object([("type", "x".into()), ("u", generator.datum().into())])],
            );
        }
        objects.push(turn);
    }
    objects
}

/// Writes adjacent calls.
pub(crate) fn calls(
    generator: &mut Generator<'_>,
    steps: &[Step],
    at: &mut usize,
    turn: &mut Json,
) {
    let mut calls = Vec::new();
    while let Some(call) = steps.get(*at).filter(|step| step.act == Act::Call) {
        let function =
            object([("name", call.tool.as_str().into()), ("arguments", call.text.as_str().into())]);
        calls.push(object([
            ("id", call.id.as_str().into()),
            ("type", "function".into()),
            ("function", function),
        ]));
        *at += 1;
    }
    if generator.is_odd(6) {
        generator.flaw("calls out of order");
        calls.reverse();
    }
    turn.set("tool_calls", calls);
}

/// Writes a message of the system, the developer, a user or a tool.
fn of_others(generator: &mut Generator<'_>, step: &Step) -> Json {
    let mut message = object([("role", step.act.role().into())]);
    if step.act == Act::Reply {
        message.set("tool_call_id", step.id.as_str());
    }
    if let Some(name) = &step.name {
        message.set("name", name.as_str());
    }
    message.set("content", content(generator, &step.text, "text"));
    if step.act == Act::User && generator.one_in(8) {
        let url =
            object([("url", format!("https://example.org/{}.png", generator.datum()).into())]);
        let image = object([("type", "image_url".into()), ("image_url", url)]);
        if let Json::Object(members) = &mut message {
            let text = object([("type", "text".into()), ("text", step.text.as_str().into())]);
            members.retain(|(key, _)| key != "content");
            members.push(("content".to_owned(), vec![text, image].into()));
        }
    }
    message
}

/// Writes a string, or a part of this type.
pub(crate) fn content(generator: &mut Generator<'_>, text: &str, kind: &str) -> Json {
    match generator.one_in(4) {
        true => vec![object([("type", kind.into()), ("text", text.into())])].into(),
        false => text.into(),
    }
}
