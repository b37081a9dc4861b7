//! Composes a conversation like the chat templates: the tools in the system message.

use crate::declare::whole_function;
use crate::grammar::sections::{self, Opened, Rules};
use crate::json::python;
use crate::model::{Conversation, Role, Tool};
use crate::options::RenderOptions;
use crate::rules::{Composed, Loss, Lost};
use crate::writing::RenderError;

/// Declares the tools, between these texts.
pub(super) fn compose<'a>(
    rules: &'static Rules,
    around: [&str; 2],
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let messages = std::mem::take(&mut conversation.messages);
    let mut opened = match tools {
        [] => Opened::new(messages),
        _ => Opened::declaring(messages, "", |system| declaration(system, around, tools)),
    };
    if conversation.origin != rules.form {
        opened.respell_arguments();
    }
    // The template writes no system message that says nothing. A conversion drops no message.
    if options.is_of_prompt()
        && let Some((message, place)) = opened.rest.first()
        && *place == 0
        && message.role == Role::System
        && message.body.is_empty()
    {
        opened.composed.remarks.push(Loss::new(Some(*place), message.span, Lost::Empty));
        opened.rest.remove(0);
    }
    let mut composed = sections::compose(rules, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns the system message of a conversation with tools.
fn declaration(system: &str, [open, close]: [&str; 2], tools: &[Tool<'_>]) -> String {
    let mut text = system.to_owned();
    text.push_str(if system.is_empty() { "" } else { "\n" });
    text.push_str("List of tools: ");
    text.push_str(open);
    text.push('[');
    for (index, tool) in tools.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        python::to_json(&mut text, &whole_function(tool));
    }
    text.push(']');
    text.push_str(close);
    text
}
