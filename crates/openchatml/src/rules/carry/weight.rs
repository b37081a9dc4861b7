//! The weight of a message in training.

use super::{Adapted, Lost, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "weight",
    fits: |message, at| at.carries.weights || message.weight.is_none(),
    adapt: |message, _, _| {
        message.weight = None;
        Adapted::losing(Lost::Weight)
    },
};
