//! Composes a conversation like the chat template: the system message declares the tools. A prompt
//! always has one.

use super::RULES;
use crate::declare::whole_function;
use crate::grammar::sections::{self, Opened};
use crate::json::python;
use crate::model::{Conversation, Role, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer};
use crate::writing::RenderError;

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input of the template can contain.
static CARRIES: Carries = Carries { tools: true, call_ids: true, ..super::CARRIES };

/// The system message of a conversation without tools that has none.
const DEFAULT: &str =
    "You are a helpful assistant. Please ensure responses are professional, accurate, and safe.";

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let messages = std::mem::take(&mut conversation.messages);
    let has_system = messages.first().is_some_and(|first| first.role == Role::System);
    let opened = match tools {
        // A conversion adds no message.
        [] if !options.is_of_prompt() => Opened::new(messages),
        [] => Opened::changing(messages, DEFAULT, |system| or_default(system).to_owned()),
        _ => Opened::declaring(messages, "", |system| {
            // The template separates an empty system message, too.
            let between = if has_system { "\n\n" } else { "" };
            [system, between, &declaration(tools)].concat()
        }),
    };
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns the text of the system message. An empty one is none.
fn or_default(system: &str) -> &str {
    if system.is_empty() { DEFAULT } else { system }
}

/// Returns the part of the system message that declares tools.
fn declaration(tools: &[Tool<'_>]) -> String {
    let mut text = String::from(
        "You are a helpful assistant with access to the following tools. You may call one or more \
         tools to assist with the user query.\n\n\
         You are provided with function signatures within <tools></tools> XML tags:\n<tools>",
    );
    for tool in tools {
        text.push('\n');
        python::to_json(&mut text, &whole_function(tool));
    }
    text.push_str(
        "\n</tools>\n\nFor each tool call, return a json object with function name and arguments \
         within <tool_call></tool_call> XML tags:\n<tool_call>\n\
         {\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>. If a tool does \
         not exist in the provided list of tools, notify the user that you do not have the ability to \
         fulfill the request.",
    );
    text
}
