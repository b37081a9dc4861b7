//! Reasoning that follows a marker in a message that the user sees: it becomes a hidden message of its
//! own, in every format (OpenChatML 2.2 §7).

use super::{Adapted, Lost, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "reasoning",
    fits: |message, _| !message.has_visible_reasoning(),
    adapt: |message, _, _| match message.split_reasoning() {
        Some((said, reasoning)) => {
            *message = said;
            Adapted::Split(Box::new(reasoning), Lost::ReasoningMoved)
        }
        None => Adapted::Changed(None),
    },
};
