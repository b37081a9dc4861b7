//! Composes a conversation like the chat template: a turn that declares the tools, and a system
//! message.

use super::RULES;
use crate::Span;
use crate::declare::whole_function;
use crate::grammar::sections::{self, Opened};
use crate::model::{Conversation, Message, Role, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer, Loss, Lost};
use crate::writing::RenderError;

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input of the template can contain.
static CARRIES: Carries = Carries { tools: true, ..super::CARRIES };

/// The name in the header of the turn that declares tools.
const DECLARATION: &str = "tool_declare";

/// The text of the system message of a conversation that has none.
const SYSTEM: &str = "You are Kimi, an AI assistant created by Moonshot AI.";

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let mut opened = Opened::new(std::mem::take(&mut conversation.messages));
    let first = opened.rest.first().map(|(message, _)| message.role);
    let needs_system = conversation.origin != RULES.form && first != Some(Role::System);
    if !tools.is_empty() {
        opened.composed.remarks.push(Loss::new(None, Span::default(), Lost::ToolsAsText));
        let tools: Vec<_> = tools.iter().map(|tool| whole_function(tool).to_json()).collect();
        let text = ["[", &tools.join(","), "]"].concat();
        let mut message = Message::new(Role::System, text);
        message.name = Some(DECLARATION.into());
        opened.composed.push(message, None);
    }
    if needs_system {
        opened.composed.push(Message::new(Role::System, SYSTEM), None);
    }
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}
