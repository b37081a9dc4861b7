//! Composes a conversation like `mistral-common`: the tools before the last message of the user.

use super::RULES;
use crate::declare::full_functions;
use crate::grammar::sections::{self, Opened, Which};
use crate::model::{Conversation, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer};
use crate::writing::RenderError;

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input of the template can contain.
static CARRIES: Carries = Carries { tools: true, ..super::CARRIES };

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    RenderError::of_tools(tools).map_or(Ok(()), Err)?;
    let mut opened = Opened::new(std::mem::take(&mut conversation.messages));
    if conversation.origin != RULES.form {
        opened.respell_arguments();
    }
    opened.declare_before_user(Which::Last, tools, full_functions);
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}
