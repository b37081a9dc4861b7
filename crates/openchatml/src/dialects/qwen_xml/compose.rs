//! Composes conversations like the chat templates: the system message declares the tools.

use crate::Span;
use crate::declare::{ElementOrder, PARAMETER_CALLS, elements, elements_say_all, whole_function};
use crate::grammar::sections::{self, Opened, Rules};
use crate::json::python;
use crate::model::{Conversation, Message, Tool};
use crate::options::RenderOptions;
use crate::rules::{Composed, Loss, Lost};
use crate::writing::RenderError;

/// The system message of Qwen3-Coder, if a conversation has tools and no system message.
const DEFAULT: &str =
    "You are Qwen, a helpful AI assistant that can interact with a computer to solve tasks.";

/// Composes a conversation after the beginning that `open` makes of its messages.
pub(super) fn compose<'a>(
    rules: &'static Rules,
    mut conversation: Conversation<'a>,
    open: impl FnOnce(Vec<Message<'a>>) -> Opened<'a>,
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let opened = open(std::mem::take(&mut conversation.messages));
    let mut composed = sections::compose(rules, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}

/// Returns a beginning that declares tools as elements, behind the text of the system message.
pub(super) fn declaring_elements<'a>(messages: Vec<Message<'a>>, tools: &[Tool<'a>]) -> Opened<'a> {
    let order = ElementOrder { first: None, last: None };
    let mut opened = Opened::declaring(messages, DEFAULT, |system| {
        [system, "\n\n", &elements(tools, order)].concat()
    });
    let in_part = tools.iter().filter(|tool| !elements_say_all(tool));
    let loss = |_: &Tool<'_>| Loss::new(None, Span::default(), Lost::Declaration);
    opened.composed.remarks.extend(in_part.map(loss));
    opened
}

/// Returns the declaration of tools as lines of JSON, before the text of the system message.
pub(super) fn lines(system: &str, tools: &[Tool<'_>]) -> String {
    let mut text =
        String::from("# Tools\n\nYou have access to the following functions:\n\n<tools>");
    for tool in tools {
        text.push('\n');
        python::to_json(&mut text, &whole_function(tool));
    }
    text.push_str("\n</tools>\n\n");
    text.push_str(PARAMETER_CALLS);
    joined(&text, system)
}

/// Joins two parts of a system message, of which each can be empty.
pub(super) fn joined(first: &str, second: &str) -> String {
    let between = if first.is_empty() || second.is_empty() { "" } else { "\n\n" };
    [first, between, second].concat()
}
