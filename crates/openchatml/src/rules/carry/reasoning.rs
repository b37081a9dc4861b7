//! Reasoning after a marker in a visible message. It becomes a separate hidden message in every
//! format (OpenChatML 2.2 §7).

use super::{Adapted, Lost, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "reasoning",
    fits: |message, _| !message.has_visible_reasoning(),
    adapt: |message, _, _| match message.split_reasoning() {
        Some((visible, reasoning)) => {
            *message = visible;
            Adapted::Split(Box::new(reasoning), Lost::ReasoningMoved)
        }
        None => Adapted::Changed(None),
    },
};
