//! Composes a conversation like the chat template: a system message of its own declares the tools.

use super::RULES;
use crate::Span;
use crate::declare::whole_function;
use crate::grammar::sections::{self, Opened};
use crate::json::python;
use crate::model::{Conversation, Message, Role, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer, Loss, Lost};
use crate::writing::RenderError;

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input of the template can contain.
static CARRIES: Carries = Carries { tools: true, call_ids: true, ..super::CARRIES };

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let mut opened = Opened::new(std::mem::take(&mut conversation.messages));
    if !tools.is_empty() {
        opened.composed.remarks.push(Loss::new(None, Span::default(), Lost::ToolsAsText));
        opened.composed.push(Message::new(Role::System, declaration(tools)), None);
    }
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns the system message that declares tools.
fn declaration(tools: &[Tool<'_>]) -> String {
    let mut text = String::from(
        "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n\
         You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n",
    );
    for tool in tools {
        python::to_json(&mut text, &whole_function(tool));
        text.push('\n');
    }
    text.push_str(
        "</tools>\n\nFor each function call, output the function name and arguments within the \
         following XML format:\n<tool_call>{function-name}\n<arg_key>{arg-key-1}</arg_key>\n\
         <arg_value>{arg-value-1}</arg_value>\n<arg_key>{arg-key-2}</arg_key>\n\
         <arg_value>{arg-value-2}</arg_value>\n...\n</tool_call>",
    );
    text
}
