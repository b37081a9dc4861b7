//! Canonical JSON: one object for a conversation (`interface.md`, "Canonical JSON").

use super::generator::{Generator, Shown};
use super::json::{self, Json, object};
use super::plan::{Act, Declared, Step, plan};
use super::{Draft, ExpectedMessage};

pub(crate) fn write(generator: &mut Generator<'_>) -> Draft {
    if generator.one_in(10) {
        return other(generator);
    }
    let plan = plan(generator, Act::ALL);
    let mut document = object([]);
    if generator.one_in(3) {
        let mut header = object([("version", "2.2".into())]);
        if generator.one_in(2) {
            header.set("model", generator.datum());
        }
        if generator.one_in(2) {
            let (key, value) = (generator.datum(), json::any(generator));
            header.set(&key, value);
        }
        document.set("header", header);
    }
    if !plan.tools.is_empty() {
        document.set("tools", tools(generator, &plan.tools));
    }
    let messages: Vec<_> = plan.steps.iter().map(|step| message(generator, step)).collect();
    document.set("messages", messages);
    draft(generator, document, plan.steps.iter().map(ExpectedMessage::of).collect())
}

/// Writes a document, with oddities if they are enabled.
pub(crate) fn draft(
    generator: &mut Generator<'_>,
    mut document: Json,
    said: Vec<ExpectedMessage>,
) -> Draft {
    if generator.is_odd(20) {
        document = json::no_conversation(generator);
    } else if generator.generator_options.odd {
        json::add_oddities(generator, &mut document);
    }
    Draft { text: json::spell(generator, &document), said, spoken: None }
}

/// Writes declarations of functions in the format of OpenAI's APIs.
pub(crate) fn tools(generator: &mut Generator<'_>, declared: &[Declared]) -> Json {
    let tool = |tool: &Declared| {
        object([("type", "function".into()), ("function", function(generator, tool))])
    };
    Json::List(declared.iter().map(tool).collect())
}

/// Writes a function with a name, a description and a JSON Schema.
pub(crate) fn function(generator: &mut Generator<'_>, tool: &Declared) -> Json {
    let mut function = object([("name", tool.name.as_str().into())]);
    if !generator.one_in(4) {
        function.set("description", tool.description.as_str());
    }
    if !generator.one_in(4) {
        let mut kind = object([("type", "string".into())]);
        if generator.one_in(3) {
            kind.set("minLength", Json::Number(generator.number()));
        }
        let properties = Json::Object(vec![(tool.property.clone(), kind)]);
        function.set("parameters", object([("type", "object".into()), ("properties", properties)]));
    }
    if generator.one_in(4) {
        function.set("strict", Json::Word("true"));
    }
    function
}

fn message(generator: &mut Generator<'_>, step: &Step) -> Json {
    let mut message = object([("role", step.act.role().into())]);
    let tool = format!("functions.{}", step.tool);
    let (channel, end) = match step.act {
        Act::System | Act::Developer | Act::User => (None, None),
        Act::Thought => (Some("analysis"), None),
        Act::Answer => (Some("final"), generator.pick(&[None, Some("return"), Some("end")])),
        Act::Call => (Some("commentary"), Some("call")),
        Act::Preamble | Act::Note | Act::Reply => (Some("commentary"), None),
    };
    match step.act {
        Act::Call => {
            message.set("recipient", tool);
            message.set("call_id", step.id.as_str());
            message.set("content_type", "json");
            if generator.one_in(2) {
                message.set("constrained", Json::Word("true"));
            }
        }
        Act::Reply => {
            message.set("name", tool);
            message.set("call_id", step.id.as_str());
            message.set("recipient", "assistant");
        }
        Act::Preamble => message.set("intent", "preamble"),
        Act::Note => message.set("intent", generator.pick(&["status", "debug"])),
        _ => {}
    }
    if let Some(name) = &step.name {
        message.set("name", name.as_str());
    }
    if let Some(channel) = channel {
        message.set("channel", channel);
    }
    message.set("content", content(generator, step));
    if let Some(end) = end {
        message.set("end", end);
    }
    message
}

/// Writes text or segments.
pub(crate) fn content(generator: &mut Generator<'_>, step: &Step) -> Json {
    let segment = |kind: &str, text: &str| object([("type", kind.into()), ("text", text.into())]);
    let marker = || object([("type", "marker".into()), ("marker", "reason".into())]);
    if step.act.shown() == Shown::User && generator.is_odd(6) {
        generator.flaw("marker in a visible text");
        let secret = generator.text(Shown::Hidden);
        let segments = [segment("text", &step.text), marker(), segment("text", &secret)];
        return Json::List(segments.into());
    }
    match generator.upto(5) {
        0 => vec![segment("text", &step.text)].into(),
        1 => vec![segment("literal", &step.text)].into(),
        2 if step.act == Act::Thought => vec![marker(), segment("text", &step.text)].into(),
        _ => step.text.as_str().into(),
    }
}

/// Writes a task or files (OpenChatML 0.1 §5, §6).
fn other(generator: &mut Generator<'_>) -> Draft {
    let infill = |generator: &mut Generator<'_>| {
        let mut infill =
            object([("prefix", generator.datum().into()), ("suffix", generator.datum().into())]);
        if generator.one_in(2) {
            infill.set("middle", generator.datum());
        }
        if generator.one_in(3) {
            infill.set("order", generator.pick(&["prefix-suffix-middle", "suffix-prefix-middle"]));
        }
        object([("infill", infill)])
    };
    let document = match generator.one_in(2) {
        true => infill(generator),
        false => {
            let files = vec![
                generator.datum().into(),
                infill(generator),
                generator.pick(&["", " ", "\n", "a"]).into(),
                object([("messages", vec![user(generator)].into())]),
            ];
            let count = 1 + generator.upto(3);
            object([("files", Json::List(files.into_iter().take(count).collect()))])
        }
    };
    draft(generator, document, Vec::new())
}

fn user(generator: &mut Generator<'_>) -> Json {
    object([("role", "user".into()), ("content", generator.datum().into())])
}
