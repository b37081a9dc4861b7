//! Recipients. Where the kind of a message says whom it is for, only calls name anybody else.

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
        // A reply is for the assistant, with or without a word about it.
        let is_implied = message.role == Role::Tool && before.as_deref() == Some("assistant");
        Adapted::Changed((before.is_some() && !is_implied).then_some(Lost::Recipient))
    },
};

fn is_free(message: &Message<'_>, at: &At<'_>) -> bool {
    at.carries.recipients && (message.is_call() || !at.carries.channels.are_fixed())
}

/// The recipient of messages of this kind.
fn implied(message: &Message<'_>, at: &At<'_>) -> Option<&'static str> {
    let says = message.role == Role::Tool && at.carries.channels.are_fixed();
    says.then_some("assistant")
}
