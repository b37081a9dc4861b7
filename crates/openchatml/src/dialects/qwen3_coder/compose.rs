//! Composes a conversation like the chat template: the system message declares the tools.

use super::RULES;
use super::declaration::declaration;
use crate::Span;
use crate::grammar::sections::{self, Opened};
use crate::json::Value;
use crate::model::{Conversation, Tool};
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
    let messages = std::mem::take(&mut conversation.messages);
    let mut opened = match tools {
        [] => Opened::new(messages),
        _ => Opened::declaring(messages, DEFAULT, |system| declaration(system, tools)),
    };
    // The template writes only the entries of mappings.
    let is_other = |value: &Value<'_>| value.as_map().is_none();
    let in_part = tools.iter().filter(|tool| {
        let schema = tool.parameters.as_ref();
        let properties = schema.and_then(|schema| schema.get("properties"));
        let each = properties.and_then(Value::as_map).unwrap_or_default();
        schema.is_some_and(is_other)
            || properties.is_some_and(is_other)
            || each.iter().any(|(_, property)| is_other(property))
    });
    let loss = |_: &Tool<'_>| Loss::new(None, Span::default(), Lost::Declaration);
    opened.composed.remarks.extend(in_part.map(loss));
    let mut composed = sections::compose(&RULES, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}
