//! What the assistant says on its way to a call, where a format has answers only: the user sees both.

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

/// Makes a preamble an answer.
pub(super) fn answer(preamble: &mut Message<'_>) {
    preamble.channel = Some(Channel::Final);
    preamble.intent = None;
}
