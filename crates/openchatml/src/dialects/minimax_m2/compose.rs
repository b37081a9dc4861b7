//! Composes a conversation like the chat template: its system message declares the tools. A prompt always
//! has one.

use super::RULES;
use crate::declare::whole_function;
use crate::grammar::sections::{self, Opened};
use crate::json::python;
use crate::model::{Conversation, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer};
use crate::writing::RenderError;

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input of the template can contain.
static CARRIES: Carries = Carries { tools: true, call_ids: true, ..super::CARRIES };

/// The system message of a conversation that has none.
const DEFAULT: &str = "You are a helpful assistant.";

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let messages = std::mem::take(&mut conversation.messages);
    let opened = match tools {
        // A conversion adds no message.
        [] if !options.is_of_prompt() => Opened::new(messages),
        [] => Opened::changing(messages, DEFAULT, |system| or_default(system).to_owned()),
        _ => Opened::declaring(messages, DEFAULT, |system| declaration(or_default(system), tools)),
    };
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns the text of the system message. An empty one is none.
fn or_default(system: &str) -> &str {
    if system.is_empty() { DEFAULT } else { system }
}

/// Returns the system message of a conversation with tools.
fn declaration(system: &str, tools: &[Tool<'_>]) -> String {
    let mut text = system.to_owned();
    text.push_str(
        "\n\n# Tools\nYou may call one or more tools to assist with the user query.\n\
         Here are the tools available in JSONSchema format:\n\n<tools>\n",
    );
    for tool in tools {
        let function = whole_function(tool);
        text.push_str("<tool>");
        python::to_json(&mut text, function.get("function").unwrap_or(&function));
        text.push_str("</tool>\n");
    }
    text.push_str(
        "</tools>\n\nWhen making tool calls, use XML format to invoke tools and pass parameters:\n\n\
         <minimax:tool_call>\n<invoke name=\"tool-name-1\">\n\
         <parameter name=\"param-key-1\">param-value-1</parameter>\n\
         <parameter name=\"param-key-2\">param-value-2</parameter>\n\
         ...\n</invoke>\n</minimax:tool_call>",
    );
    text
}
