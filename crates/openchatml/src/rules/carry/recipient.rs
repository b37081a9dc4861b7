//! Recipients. If the kind of a message determines its recipient, only calls can name another one.

use super::{Adapted, At, Lost, MessageRule};
use crate::model::{Message, Role};

pub(super) const RULE: MessageRule = MessageRule {
    name: "recipient",
    fits: |message, at| {
        is_free(message, at) || message.recipient.as_deref() == implied(message, at)
    },
    adapt: |message, at, _| {
        let after = implied(message, at);
        let before = std::mem::replace(&mut message.recipient, after.map(Into::into));
        // A reply is always for the assistant.
        let is_implied = message.role == Role::Tool && before.as_deref() == Some("assistant");
        Adapted::Changed((before.is_some() && !is_implied).then_some(Lost::Recipient))
    },
};

fn is_free(message: &Message<'_>, at: &At<'_>) -> bool {
    at.carries.recipients && (message.is_call() || !at.carries.channels.are_fixed())
}

/// Returns the recipient of this kind of message.
fn implied(message: &Message<'_>, at: &At<'_>) -> Option<&'static str> {
    let says = message.role == Role::Tool && at.carries.channels.are_fixed();
    says.then_some("assistant")
}
