//! JSON of OpenAI's Chat Completions: lists of messages, requests, responses, single messages, and
//! records for fine-tuning (the API reference, "Create chat completion"; "Fine-tuning", `weight`).

use super::json::{Json, object};
use super::pen::Pen;
use super::plan::{Act, Plan, Step, plan};
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

pub(crate) fn write(pen: &mut Pen<'_>) -> Draft {
    let plan = plan(pen, ACTS);
    let (document, said) = match pen.upto(5) {
        0 => {
            let answer: Vec<_> = plan.steps.last().cloned().into_iter().collect();
            let said = answer.iter().map(Said::of).collect();
            (response(pen, &answer), said)
        }
        1 => {
            let step = plan.steps.iter().find(|step| step.act != Act::Reply).cloned();
            let step: Vec<_> = step.into_iter().filter(|it| it.act != Act::Preamble).collect();
            let said = step.iter().map(Said::of).collect();
            (messages(pen, &step, false).pop().unwrap_or(object([])), said)
        }
        choice => {
            let said = plan.steps.iter().map(Said::of).collect();
            (request(pen, &plan, choice), said)
        }
    };
    canonical::draft(pen, document, said)
}

/// Messages with what a request has beside them.
fn request(pen: &mut Pen<'_>, plan: &Plan, choice: usize) -> Json {
    let messages = messages(pen, &plan.steps, choice == 2);
    if choice == 3 && plan.tools.is_empty() {
        return messages.into();
    }
    let mut request = object([]);
    if choice > 3 {
        parameters(pen, &mut request, PARAMETERS);
    }
    request.set("messages", messages);
    if !plan.tools.is_empty() {
        match pen.one_in(6) {
            true => {
                let functions = plan.tools.iter().map(|it| canonical::function(pen, it)).collect();
                request.set("functions", Json::List(functions));
            }
            false => {
                let mut tools = canonical::tools(pen, &plan.tools);
                if let (Json::List(tools), true) = (&mut tools, pen.one_in(6)) {
                    let datum = pen.datum();
                    tools.push(object([("type", "web_search".into()), ("x", datum.into())]));
                }
                request.set("tools", tools);
            }
        }
    }
    request
}

/// What kind of value a parameter of a request has.
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

/// Some of the parameters of a request.
pub(crate) fn parameters(pen: &mut Pen<'_>, request: &mut Json, all: &[Parameter]) {
    for _ in 0..=pen.upto(2) {
        let parameter = pen.pick(all);
        let datum = pen.datum();
        let (key, value): (_, Json) = match parameter {
            Text(key) => (key, datum.into()),
            Number(key) => (key, Json::Number(pen.number())),
            List(key) => (key, vec![datum.into()].into()),
            Object(key) => (key, Json::Object(vec![(datum, pen.datum().into())])),
        };
        let is_there = matches!(request, Json::Object(it) if it.iter().any(|it| it.0 == key));
        if !is_there {
            request.set(key, value);
        }
    }
}

/// What the service answers.
fn response(pen: &mut Pen<'_>, answer: &[Step]) -> Json {
    let mut choice = object([("index", Json::Number("0".to_owned()))]);
    choice.set("message", messages(pen, answer, false).pop().unwrap_or(object([])));
    choice.set("finish_reason", "stop");
    let id = pen.datum();
    object([
        ("id", id.into()),
        ("object", "chat.completion".into()),
        ("created", Json::Number("1700000000".to_owned())),
        ("model", pen.datum().into()),
        ("choices", vec![choice].into()),
        ("usage", object([("total_tokens", Json::Number(pen.number()))])),
    ])
}

/// The objects that say these steps: what the assistant thinks, says and calls in one go may share
/// one.
fn messages(pen: &mut Pen<'_>, steps: &[Step], is_weighted: bool) -> Vec<Json> {
    let mut objects = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let step = &steps[at];
        if step.act.role() != "assistant" {
            objects.push(of_others(pen, step));
            at += 1;
            continue;
        }
        let mut turn = object([("role", "assistant".into())]);
        if step.act == Act::Thought {
            let key =
                pen.pick(&["reasoning_content", "reasoning_content", "reasoning", "thinking"]);
            turn.set(key, step.text.as_str());
            at += 1;
        }
        let next = |at: usize| steps.get(at).map(|step| step.act);
        let is_alone = step.act == Act::Thought && pen.one_in(6);
        match next(at) {
            Some(Act::Preamble | Act::Answer) if !is_alone => {
                turn.set("content", content(pen, &steps[at].text, "text"));
                at += 1;
                if next(at - 1) == Some(Act::Preamble) {
                    calls(pen, steps, &mut at, &mut turn);
                }
            }
            Some(Act::Call) if !is_alone => {
                if pen.one_in(2) {
                    turn.set("content", Json::Word("null"));
                }
                calls(pen, steps, &mut at, &mut turn);
            }
            _ => {}
        }
        if is_weighted && pen.one_in(2) {
            turn.set("weight", Json::Number(pen.pick(&["0", "1"]).to_owned()));
        }
        if pen.one_in(8) {
            turn.set(
                "annotations",
                vec![object([("type", "x".into()), ("u", pen.datum().into())])],
            );
        }
        objects.push(turn);
    }
    objects
}

/// Calls that follow each other.
pub(crate) fn calls(pen: &mut Pen<'_>, steps: &[Step], at: &mut usize, turn: &mut Json) {
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
    if pen.is_odd(6) {
        pen.flaw("calls out of order");
        calls.reverse();
    }
    turn.set("tool_calls", calls);
}

/// What the system, the developer, a user or a tool says.
fn of_others(pen: &mut Pen<'_>, step: &Step) -> Json {
    let mut message = object([("role", step.act.role().into())]);
    if step.act == Act::Reply {
        message.set("tool_call_id", step.id.as_str());
    }
    if let Some(name) = &step.name {
        message.set("name", name.as_str());
    }
    message.set("content", content(pen, &step.text, "text"));
    if step.act == Act::User && pen.one_in(8) {
        let url = object([("url", format!("https://example.org/{}.png", pen.datum()).into())]);
        let image = object([("type", "image_url".into()), ("image_url", url)]);
        if let Json::Object(members) = &mut message {
            let text = object([("type", "text".into()), ("text", step.text.as_str().into())]);
            members.retain(|(key, _)| key != "content");
            members.push(("content".to_owned(), vec![text, image].into()));
        }
    }
    message
}

/// A string, or a part of this type.
pub(crate) fn content(pen: &mut Pen<'_>, text: &str, kind: &str) -> Json {
    match pen.one_in(4) {
        true => vec![object([("type", kind.into()), ("text", text.into())])].into(),
        false => text.into(),
    }
}
