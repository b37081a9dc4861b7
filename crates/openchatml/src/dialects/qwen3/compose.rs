//! Composes a conversation like the chat template: the system message declares the tools.

use super::RULES;
use crate::declare::whole_function;
use crate::grammar::sections::{self, Opened};
use crate::json::python;
use crate::model::{Conversation, Message, Role, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer, Loss, Lost};
use crate::writing::RenderError;
use crate::{Span, model::Body};

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input of the template can contain.
static CARRIES: Carries = Carries { tools: true, call_ids: true, ..super::CARRIES };

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let mut opened = Opened::default();
    let messages = std::mem::take(&mut conversation.messages);
    let mut rest: Vec<_> = messages.into_iter().enumerate().map(|(at, it)| (it, at)).collect();
    if !tools.is_empty() {
        opened.composed.remarks.push(Loss::new(None, Span::default(), Lost::ToolsAsText));
        let is_system = rest.first().is_some_and(|(first, _)| first.role == Role::System);
        let mut system = match is_system {
            true => {
                let (message, place) = rest.remove(0);
                (message, Some(place))
            }
            false => (Message::new(Role::System, ""), None),
        };
        let text = declaration(&system.0.body.text(), tools);
        (system.0.body, system.0.body_at, system.0.pieces) = (Body::from(text), 0, None);
        opened.composed.push(system.0, system.1);
    }
    opened.rest = rest;
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns the system message of a conversation with tools.
fn declaration(system: &str, tools: &[Tool<'_>]) -> String {
    let mut text = system.to_owned();
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(
        "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n\
         You are provided with function signatures within <tools></tools> XML tags:\n<tools>",
    );
    for tool in tools {
        text.push('\n');
        python::to_json(&mut text, &whole_function(tool));
    }
    text.push_str(
        "\n</tools>\n\nFor each function call, return a json object with function name and arguments \
         within <tool_call></tool_call> XML tags:\n<tool_call>\n\
         {\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>",
    );
    text
}
