//! An empty open message, which the model will write.

use super::{Adapted, At, Lost, MessageRule};
use crate::model::{End, Message, Visibility};
use crate::rules::Channels;

pub(super) const RULE: MessageRule = MessageRule {
    name: "prompt",
    fits: |message, at| {
        message.end != End::Prompt || !message.body.is_empty() || has_prompts(message, at)
    },
    adapt: |_, _, _| Adapted::Dropped(Lost::Prompt),
};

/// Whether such a message can be open. In a turn with sections, the turn is open, not a message.
fn has_prompts(message: &Message<'_>, at: &At<'_>) -> bool {
    let is_of_section =
        at.carries.channels == Channels::Sections && message.visibility() == Visibility::Hidden;
    at.carries.ends.contains(&End::Prompt) && !is_of_section
}
