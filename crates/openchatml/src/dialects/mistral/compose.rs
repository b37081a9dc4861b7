//! Composes a conversation like `mistral-common`: the tools before a message of the user.

use crate::declare::full_functions;
use crate::grammar::sections::{self, Opened, Rules, Which};
use crate::model::{Conversation, Tool};
use crate::options::RenderOptions;
use crate::rules::Composed;
use crate::writing::RenderError;

/// Declares the tools before the first or the last message of the user.
pub(super) fn before_user<'a>(
    rules: &'static Rules,
    which: Which,
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    RenderError::of_tools(tools).map_or(Ok(()), Err)?;
    let mut opened = Opened::new(std::mem::take(&mut conversation.messages));
    if conversation.origin != rules.form {
        opened.respell_arguments();
    }
    opened.declare_before_user(which, tools, full_functions);
    let mut composed = sections::compose(rules, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}
