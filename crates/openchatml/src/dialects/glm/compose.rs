//! Composes a conversation like the chat template: a system message of its own declares the tools.

use crate::Span;
use crate::declare::whole_function;
use crate::grammar::sections::{self, Opened, Opening, Rules};
use crate::json::python;
use crate::model::{Conversation, Message, Role, Tool};
use crate::options::RenderOptions;
use crate::rules::{Composed, Loss, Lost};
use crate::writing::RenderError;

/// `form` is what the declaration of tools says about calls.
pub(super) fn compose<'a>(
    rules: &'static Rules,
    form: &str,
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let mut opened = Opened::new(std::mem::take(&mut conversation.messages));
    if !tools.is_empty() {
        opened.composed.remarks.push(Loss::new(None, Span::default(), Lost::ToolsAsText));
        // The template writes a line break here even where turns have none.
        let has_line = rules.turns.iter().any(|turn| matches!(turn.opening, Opening::Line(_)));
        let text = [if has_line { "" } else { "\n" }, &declaration(tools, form)].concat();
        opened.composed.push(Message::new(Role::System, text), None);
    }
    let mut composed = sections::compose(rules, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns the system message that declares tools.
fn declaration(tools: &[Tool<'_>], form: &str) -> String {
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
         following XML format:\n",
    );
    text.push_str(form);
    text
}
