//! The JSON of Harmony's reference library: `Conversation` of `openai-harmony`, as it is serialized.

use super::json::{Json, object};
use super::pen::Pen;
use super::plan::{Act, Declared, Step, plan};
use super::{Draft, Said, canonical, openai};

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
    let mut plan = plan(pen, ACTS);
    let mut said: Vec<_> = plan.steps.iter().map(Said::of).collect();
    let mut messages: Vec<_> = plan.steps.iter().map(|step| message(pen, step)).collect();
    let tools = std::mem::take(&mut plan.tools);
    if pen.one_in(3) {
        messages.insert(0, developer(pen, &tools));
        said.clear();
    }
    if pen.one_in(3) {
        messages.insert(0, system(pen));
        said.clear();
    }
    let document = match pen.one_in(4) {
        true => messages.into(),
        false => object([("messages", messages.into())]),
    };
    canonical::draft(pen, document, said)
}

fn message(pen: &mut Pen<'_>, step: &Step) -> Json {
    let mut message = object([("role", step.act.role().into())]);
    let tool = format!("functions.{}", step.tool);
    let channel = match step.act {
        Act::System | Act::Developer | Act::User => None,
        Act::Thought => Some("analysis"),
        Act::Answer => Some("final"),
        _ => Some("commentary"),
    };
    match step.act {
        Act::Call => {
            message.set("recipient", tool);
            message.set("content_type", pen.pick(&["<|constrain|>json", "json"]));
        }
        Act::Reply => {
            message.set("name", tool);
            message.set("recipient", "assistant");
        }
        _ => {}
    }
    if let Some(name) = &step.name {
        message.set("name", name.as_str());
    } else if step.act != Act::Reply && pen.one_in(4) {
        message.set("name", Json::Word("null"));
    }
    if let Some(channel) = channel {
        message.set("channel", channel);
    }
    message.set("content", openai::content(pen, &step.text, "text"));
    message
}

/// A system message with what the model is told of itself.
fn system(pen: &mut Pen<'_>) -> Json {
    let mut content = object([("type", "system_content".into())]);
    if pen.one_in(2) {
        content.set("model_identity", pen.datum());
    }
    let effort = match pen.is_odd(3) {
        true => {
            pen.flaw("unknown effort");
            pen.datum()
        }
        false => pen.pick(&["Low", "Medium", "High"]).to_owned(),
    };
    content.set("reasoning_effort", effort);
    if pen.one_in(2) {
        content.set("conversation_start_date", "2025-06-28");
        content.set("knowledge_cutoff", "2024-06");
    }
    if pen.one_in(2) {
        let channels = vec!["analysis".into(), "commentary".into(), "final".into()];
        let config = object([
            ("valid_channels", Json::List(channels)),
            ("channel_required", Json::Word("true")),
        ]);
        content.set("channel_config", config);
    }
    let role = match pen.is_odd(4) {
        true => {
            pen.flaw("system content of a user");
            "user"
        }
        false => "system",
    };
    object([("role", role.into()), ("content", vec![content].into())])
}

/// A developer message with instructions and functions.
fn developer(pen: &mut Pen<'_>, tools: &[Declared]) -> Json {
    let mut content = object([("type", "developer_content".into())]);
    if pen.one_in(2) {
        content.set("instructions", pen.hidden_datum());
    }
    if !tools.is_empty() {
        // The reference library knows a name, a description and parameters.
        let functions = tools.iter().map(|tool| match canonical::function(pen, tool) {
            Json::Object(mut members) => {
                members.retain(|(key, _)| key != "strict");
                Json::Object(members)
            }
            other => other,
        });
        let functions: Vec<_> = functions.collect();
        let namespace = object([
            ("name", "functions".into()),
            ("description", Json::Word("null")),
            ("tools", functions.into()),
        ]);
        content.set("tools", object([("functions", namespace)]));
    }
    let role = match pen.is_odd(4) {
        true => {
            pen.flaw("developer content of the assistant");
            "assistant"
        }
        false => "developer",
    };
    object([("role", role.into()), ("content", vec![content].into())])
}
