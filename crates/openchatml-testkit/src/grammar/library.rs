//! The JSON of Harmony's reference library: `Conversation` of `openai-harmony`, as it is serialized.

use super::generator::Generator;
use super::json::{Json, object};
use super::plan::{Act, Declared, Step, plan};
use super::{Draft, ExpectedMessage, canonical, openai};

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

pub(crate) fn write(generator: &mut Generator<'_>) -> Draft {
    let mut plan = plan(generator, ACTS);
    let mut said: Vec<_> = plan.steps.iter().map(ExpectedMessage::of).collect();
    let mut messages: Vec<_> = plan.steps.iter().map(|step| message(generator, step)).collect();
    let tools = std::mem::take(&mut plan.tools);
    if generator.one_in(3) {
        messages.insert(0, developer(generator, &tools));
        said.clear();
    }
    if generator.one_in(3) {
        messages.insert(0, system(generator));
        said.clear();
    }
    let document = match generator.one_in(4) {
        true => messages.into(),
        false => object([("messages", messages.into())]),
    };
    canonical::draft(generator, document, said)
}

fn message(generator: &mut Generator<'_>, step: &Step) -> Json {
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
            message.set("content_type", generator.pick(&["<|constrain|>json", "json"]));
        }
        Act::Reply => {
            message.set("name", tool);
            message.set("recipient", "assistant");
        }
        _ => {}
    }
    if let Some(name) = &step.name {
        message.set("name", name.as_str());
    } else if step.act != Act::Reply && generator.one_in(4) {
        message.set("name", Json::Word("null"));
    }
    if let Some(channel) = channel {
        message.set("channel", channel);
    }
    message.set("content", openai::content(generator, &step.text, "text"));
    message
}

/// Generates a system message with the settings of the model.
fn system(generator: &mut Generator<'_>) -> Json {
    let mut content = object([("type", "system_content".into())]);
    if generator.one_in(2) {
        content.set("model_identity", generator.datum());
    }
    let effort = match generator.is_odd(3) {
        true => {
            generator.flaw("unknown effort");
            generator.datum()
        }
        false => generator.pick(&["Low", "Medium", "High"]).to_owned(),
    };
    content.set("reasoning_effort", effort);
    if generator.one_in(2) {
        content.set("conversation_start_date", "2025-06-28");
        content.set("knowledge_cutoff", "2024-06");
    }
    if generator.one_in(2) {
        let channels = vec!["analysis".into(), "commentary".into(), "final".into()];
        let config = object([
            ("valid_channels", Json::List(channels)),
            ("channel_required", Json::Word("true")),
        ]);
        content.set("channel_config", config);
    }
    let role = match generator.is_odd(4) {
        true => {
            generator.flaw("system content of a user");
            "user"
        }
        false => "system",
    };
    object([("role", role.into()), ("content", vec![content].into())])
}

/// Generates a developer message with instructions and functions.
fn developer(generator: &mut Generator<'_>, tools: &[Declared]) -> Json {
    let mut content = object([("type", "developer_content".into())]);
    if generator.one_in(2) {
        content.set("instructions", generator.hidden_datum());
    }
    if !tools.is_empty() {
        // The reference library supports a name, a description and parameters.
        let functions = tools.iter().map(|tool| match canonical::function(generator, tool) {
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
    let role = match generator.is_odd(4) {
        true => {
            generator.flaw("developer content of the assistant");
            "assistant"
        }
        false => "developer",
    };
    object([("role", role.into()), ("content", vec![content].into())])
}
