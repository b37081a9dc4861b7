//! The mark of messages in which the reader guessed.

use super::{Adapted, Lost, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "recovered",
    fits: |message, at| at.carries.recovered || !message.recovered,
    adapt: |message, _, _| {
        message.recovered = false;
        Adapted::losing(Lost::Recovered)
    },
};
