//! Composes a conversation like the chat template: its system message declares the tools. A prompt always
//! has one.

use crate::Span;
use crate::declare::{ElementOrder, elements, elements_say_all};
use crate::grammar::sections::{self, Opened, Rules};
use crate::model::{Conversation, Tool};
use crate::options::RenderOptions;
use crate::rules::{Composed, Loss, Lost};
use crate::writing::RenderError;

const ORDER: ElementOrder = ElementOrder { first: Some("enum"), last: Some("required") };

pub(super) fn compose<'a>(
    rules: &'static Rules,
    mut conversation: Conversation<'a>,
    tools: &[Tool<'a>],
    options: &RenderOptions,
) -> Result<Composed<'a>, RenderError> {
    let messages = std::mem::take(&mut conversation.messages);
    let mut opened = match tools {
        // A conversion adds no message.
        [] if !options.is_of_prompt() => Opened::new(messages),
        [] => Opened::changing(messages, "", str::to_owned),
        _ => Opened::declaring(messages, "", |system| {
            let between = if system.is_empty() { "" } else { "\n\n" };
            [system, between, &elements(tools, ORDER)].concat()
        }),
    };
    let in_part = tools.iter().filter(|tool| !elements_say_all(tool));
    let loss = |_: &Tool<'_>| Loss::new(None, Span::default(), Lost::Declaration);
    opened.composed.remarks.extend(in_part.map(loss));
    let mut composed = sections::compose(rules, &conversation, opened, options)?;
    composed.conversation.layout = conversation.layout;
    Ok(composed)
}
