//! Composes a conversation like the encoders: the system message declares the tools.

use super::declaration::{v3_2, v4};
use crate::grammar::sections::{self, Opened, Rules};
use crate::model::{Conversation, Tool};
use crate::options::RenderOptions;
use crate::rules::Composed;
use crate::writing::RenderError;

/// Composes a conversation whose system messages are joined, because they have no token.
pub(super) fn joined<'a>(
    rules: &'static Rules,
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let messages = std::mem::take(&mut conversation.messages);
    let declare = |system: &str| match rules.replies.turn {
        None => v3_2(system, tools),
        Some(_) => v4(system, tools, rules),
    };
    let opened = Opened::joined(messages, (!tools.is_empty()).then_some(declare));
    composed(rules, conversation, opened, options)
}

/// Composes a conversation whose first system message declares the tools.
pub(super) fn first<'a>(
    rules: &'static Rules,
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let messages = std::mem::take(&mut conversation.messages);
    let opened = match tools {
        [] => Opened::new(messages),
        _ => Opened::declaring(messages, "", |system| v4(system, tools, rules)),
    };
    composed(rules, conversation, opened, options)
}

fn composed<'a>(
    rules: &'static Rules,
    conversation: Conversation<'a>,
    opened: Opened<'a>,
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let mut composed = sections::compose(rules, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}
