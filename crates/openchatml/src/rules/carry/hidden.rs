//! Messages on a channel that a format does not have. Without that channel, hidden text would be
//! shown.

use super::{Adapted, At, Lost, MessageRule};
use crate::model::{Channel, Message, Role, Visibility};
use crate::rules::{Channels, Intents};

pub(super) const RULE: MessageRule = MessageRule {
    name: "hidden",
    fits: |message, at| {
        at.carries.channels == Channels::All
            || message.effective_channel() == Channel::Final
            || lost(message, at).is_none()
    },
    adapt: |message, at, _| match lost(message, at) {
        Some(lost) => Adapted::Dropped(lost),
        None => Adapted::Changed(None),
    },
};

/// Returns the loss if the message cannot be carried. A call is hidden on any channel, and so are
/// messages of the system, the developer and tools.
fn lost(message: &Message<'_>, at: &At<'_>) -> Option<Lost> {
    let is_hidden = || message.visibility() == Visibility::Hidden;
    let (is_lost, lost) = match (message.role, message.effective_channel()) {
        (Role::System | Role::Developer | Role::Tool, _) | (_, Channel::Final) => return None,
        (Role::User, _) => (is_hidden(), Lost::Hidden),
        (Role::Assistant, _) if message.is_call() => return None,
        (Role::Assistant, Channel::Analysis) => {
            let has_channel = !matches!(at.carries.channels, Channels::None | Channels::Calls);
            (!has_channel || !at.carries.reasoning, Lost::Analysis)
        }
        (Role::Assistant, Channel::Commentary) => {
            let is_lost = match at.carries.channels {
                Channels::All => false,
                // It would become reasoning.
                Channels::Sections => !at.carries.reasoning && is_hidden(),
                Channels::None | Channels::Calls => is_hidden(),
                Channels::Turns => at.carries.intents == Intents::None,
            };
            (is_lost, Lost::Commentary)
        }
    };
    is_lost.then_some(lost)
}
