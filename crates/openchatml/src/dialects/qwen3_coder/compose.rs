//! Composes a conversation like the chat template: the system message declares the tools.

use super::RULES;
use super::declaration::declaration;
use crate::Span;
use crate::grammar::sections::{self, Opened};
use crate::model::{Body, Conversation, Message, Role, Tool};
use crate::options::RenderOptions;
use crate::rules::{Carries, Composed, Composer, Loss, Lost};
use crate::writing::RenderError;

pub(super) static COMPOSER: Composer = Composer { carries: &CARRIES, compose };

/// What the input of the template can contain.
static CARRIES: Carries = Carries { tools: true, call_ids: true, ..super::CARRIES };

/// The system message of a conversation that has tools and no system message.
const DEFAULT: &str =
    "You are Qwen, a helpful AI assistant that can interact with a computer to solve tasks.";

fn compose<'a>(
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let mut opened = Opened::default();
    let messages = std::mem::take(&mut conversation.messages);
    let mut rest: Vec<_> = messages.into_iter().enumerate().map(|(at, it)| (it, at)).collect();
    if !tools.is_empty() {
        opened.composed.remarks.push(Loss::new(None, Span::default(), Lost::ToolsAsText));
        let is_system = rest.first().is_some_and(|(first, _)| first.role == Role::System);
        let mut system = match is_system {
            true => {
                let (message, place) = rest.remove(0);
                (message, Some(place))
            }
            false => (Message::new(Role::System, DEFAULT), None),
        };
        let text = declaration(&system.0.body.text(), tools);
        (system.0.body, system.0.body_at, system.0.pieces) = (Body::from(text), 0, None);
        opened.composed.push(system.0, system.1);
    }
    opened.rest = rest;
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}
