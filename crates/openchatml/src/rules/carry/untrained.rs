//! Samples that a model is not trained on, such as bad answers. In a format without weights they
//! would look like good ones.

use super::{ConversationRule, Loss, Lost};
use crate::model::{Conversation, Role, Weight};

pub(super) const RULE: ConversationRule = ConversationRule {
    name: "untrained",
    fits: |conversation, carries| carries.weights || !is_untrained(conversation),
    adapt: |conversation, _, _| {
        let messages = conversation.messages.iter_mut().enumerate();
        let lost = messages.filter_map(|(at, message)| {
            message.weight.take().map(|_| Loss::new(Some(at), message.span, Lost::Untrained))
        });
        lost.collect()
    },
};

/// Whether all messages of the assistant, and at least one, have the weight 0.
fn is_untrained(conversation: &Conversation<'_>) -> bool {
    let messages = conversation.messages.iter();
    let mut said = messages.filter(|message| message.role == Role::Assistant).peekable();
    said.peek().is_some() && said.all(|message| message.weight == Some(Weight::ZERO))
}
