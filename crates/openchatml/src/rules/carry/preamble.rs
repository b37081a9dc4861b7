//! Preambles, in formats that have only answers. The user sees both.

use super::{Adapted, Lost, MessageRule};
use crate::model::{Channel, Message};
use crate::rules::Channels;

pub(super) const RULE: MessageRule = MessageRule {
    name: "preamble",
    fits: |message, at| at.carries.channels != Channels::Calls || !message.is_commentary(),
    adapt: |message, _, _| {
        answer(message);
        Adapted::losing(Lost::Preamble)
    },
};

/// Converts a preamble to an answer.
pub(super) fn answer(preamble: &mut Message<'_>) {
    preamble.channel = Some(Channel::Final);
    preamble.intent = None;
}
