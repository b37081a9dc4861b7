//! Canonical JSON: one object for a conversation (`interface.md`, "Canonical JSON").

use super::json::{self, Json, object};
use super::pen::{Pen, Shown};
use super::plan::{Act, Declared, Step, plan};
use super::{Draft, Said};

pub(crate) fn write(pen: &mut Pen<'_>) -> Draft {
    if pen.one_in(10) {
        return other(pen);
    }
    let plan = plan(pen, Act::ALL);
    let mut document = object([]);
    if pen.one_in(3) {
        let mut header = object([("version", "2.2".into())]);
        if pen.one_in(2) {
            header.set("model", pen.datum());
        }
        if pen.one_in(2) {
            let (key, value) = (pen.datum(), json::any(pen));
            header.set(&key, value);
        }
        document.set("header", header);
    }
    if !plan.tools.is_empty() {
        document.set("tools", tools(pen, &plan.tools));
    }
    let messages: Vec<_> = plan.steps.iter().map(|step| message(pen, step)).collect();
    document.set("messages", messages);
    draft(pen, document, plan.steps.iter().map(Said::of).collect())
}

/// Spells a document, with something odd in it if that is wanted.
pub(crate) fn draft(pen: &mut Pen<'_>, mut document: Json, said: Vec<Said>) -> Draft {
    if pen.is_odd(20) {
        document = json::no_conversation(pen);
    } else if pen.knobs.odd {
        json::garnish(pen, &mut document);
    }
    Draft { text: json::spell(pen, &document), said, spoken: None }
}

/// The declarations of functions, as OpenAI's APIs have them.
pub(crate) fn tools(pen: &mut Pen<'_>, declared: &[Declared]) -> Json {
    let tool =
        |tool: &Declared| object([("type", "function".into()), ("function", function(pen, tool))]);
    Json::List(declared.iter().map(tool).collect())
}

/// A function with a name, a description and a JSON Schema.
pub(crate) fn function(pen: &mut Pen<'_>, tool: &Declared) -> Json {
    let mut function = object([("name", tool.name.as_str().into())]);
    if !pen.one_in(4) {
        function.set("description", tool.description.as_str());
    }
    if !pen.one_in(4) {
        let mut kind = object([("type", "string".into())]);
        if pen.one_in(3) {
            kind.set("minLength", Json::Number(pen.number()));
        }
        let properties = Json::Object(vec![(tool.property.clone(), kind)]);
        function.set("parameters", object([("type", "object".into()), ("properties", properties)]));
    }
    if pen.one_in(4) {
        function.set("strict", Json::Word("true"));
    }
    function
}

fn message(pen: &mut Pen<'_>, step: &Step) -> Json {
    let mut message = object([("role", step.act.role().into())]);
    let tool = format!("functions.{}", step.tool);
    let (channel, end) = match step.act {
        Act::System | Act::Developer | Act::User => (None, None),
        Act::Thought => (Some("analysis"), None),
        Act::Answer => (Some("final"), pen.pick(&[None, Some("return"), Some("end")])),
        Act::Call => (Some("commentary"), Some("call")),
        Act::Preamble | Act::Note | Act::Reply => (Some("commentary"), None),
    };
    match step.act {
        Act::Call => {
            message.set("recipient", tool);
            message.set("call_id", step.id.as_str());
            message.set("content_type", "json");
            if pen.one_in(2) {
                message.set("constrained", Json::Word("true"));
            }
        }
        Act::Reply => {
            message.set("name", tool);
            message.set("call_id", step.id.as_str());
            message.set("recipient", "assistant");
        }
        Act::Preamble => message.set("intent", "preamble"),
        Act::Note => message.set("intent", pen.pick(&["status", "debug"])),
        _ => {}
    }
    if let Some(name) = &step.name {
        message.set("name", name.as_str());
    }
    if let Some(channel) = channel {
        message.set("channel", channel);
    }
    message.set("content", content(pen, step));
    if let Some(end) = end {
        message.set("end", end);
    }
    message
}

/// Text, or segments.
pub(crate) fn content(pen: &mut Pen<'_>, step: &Step) -> Json {
    let segment = |kind: &str, text: &str| object([("type", kind.into()), ("text", text.into())]);
    let marker = || object([("type", "marker".into()), ("marker", "reason".into())]);
    if step.act.shown() == Shown::User && pen.is_odd(6) {
        pen.flaw("marker in a visible text");
        let secret = pen.text(Shown::Hidden);
        let segments = [segment("text", &step.text), marker(), segment("text", &secret)];
        return Json::List(segments.into());
    }
    match pen.upto(5) {
        0 => vec![segment("text", &step.text)].into(),
        1 => vec![segment("literal", &step.text)].into(),
        2 if step.act == Act::Thought => vec![marker(), segment("text", &step.text)].into(),
        _ => step.text.as_str().into(),
    }
}

/// A task or files (OpenChatML 0.1 §5, §6).
fn other(pen: &mut Pen<'_>) -> Draft {
    let infill = |pen: &mut Pen<'_>| {
        let mut infill = object([("prefix", pen.datum().into()), ("suffix", pen.datum().into())]);
        if pen.one_in(2) {
            infill.set("middle", pen.datum());
        }
        if pen.one_in(3) {
            infill.set("order", pen.pick(&["prefix-suffix-middle", "suffix-prefix-middle"]));
        }
        object([("infill", infill)])
    };
    let document = match pen.one_in(2) {
        true => infill(pen),
        false => {
            let files = vec![
                pen.datum().into(),
                infill(pen),
                pen.pick(&["", " ", "\n", "a"]).into(),
                object([("messages", vec![user(pen)].into())]),
            ];
            let count = 1 + pen.upto(3);
            object([("files", Json::List(files.into_iter().take(count).collect()))])
        }
    };
    draft(pen, document, Vec::new())
}

fn user(pen: &mut Pen<'_>) -> Json {
    object([("role", "user".into()), ("content", pen.datum().into())])
}
