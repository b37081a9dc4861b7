//! Composes a conversation like the chat template: its system message declares the tools. A prompt
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

/// The system message of a conversation that has none.
const SYSTEM: &str = "You are Olmo, a helpful AI assistant built by Ai2. Your date cutoff is December \
     2024, and your model weights are available at https://huggingface.co/allenai. ";

/// The rest of it without tools, and with tools.
const REST: [&str; 2] = [
    "You do not currently have access to any functions. <functions></functions>",
    "You are provided with function signatures within <functions></functions> XML tags. You may call \
     one or more functions to assist with the user query. Output any function calls within \
     <function_calls></function_calls> XML tags. Do not make assumptions about what values to plug \
     into functions.",
];

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let messages = std::mem::take(&mut conversation.messages);
    let has_system = messages.first().is_some_and(|first| first.role == Role::System);
    // The template adds none if there is one anywhere.
    let is_spoken = messages.iter().any(|message| message.role == Role::System);
    let mut opened = match tools {
        // A conversion adds no message.
        [] if is_spoken || !options.is_of_prompt() => Opened::new(messages),
        [] => Opened::changing(messages, "", |_| [SYSTEM, REST[0]].concat()),
        _ => Opened::declaring(messages, "", |system| {
            let system = if has_system { system.to_owned() } else { [SYSTEM, REST[1]].concat() };
            [&system, "<functions>", &list(tools), "</functions>"].concat()
        }),
    };
    if conversation.origin != RULES.form {
        opened.respell_arguments();
    }
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns the tools as a JSON list.
fn list(tools: &[Tool<'_>]) -> String {
    let mut text = String::from("[");
    for (index, tool) in tools.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        python::to_json(&mut text, &whole_function(tool));
    }
    text.push(']');
    text
}
