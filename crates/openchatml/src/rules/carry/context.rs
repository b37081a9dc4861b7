//! Earlier answers, in records whose prompt is only context. There they would silently no longer be
//! trained.

use super::{Carries, ConversationRule, Loss, Lost};
use crate::model::{Conversation, Half, Message, Role, Shape, Weight};

pub(super) const RULE: ConversationRule = ConversationRule {
    name: "context",
    fits: |conversation, carries| {
        let prompt = &conversation.messages[..prompt_len(conversation, carries)];
        !prompt.iter().any(is_trained)
    },
    adapt: |conversation, carries, _| {
        let len = prompt_len(conversation, carries);
        let prompt = conversation.messages[..len].iter_mut().enumerate();
        let answers = prompt.filter(|(_, it)| is_trained(it));
        let lost = answers.map(|(at, message)| {
            message.weight = Some(Weight::ZERO);
            Loss::new(Some(at), message.span, Lost::Context)
        });
        lost.collect()
    },
};

fn is_trained(message: &Message<'_>) -> bool {
    let is_of_pair = message.layout.as_deref().is_some_and(|it| it.half != Half::None);
    message.role == Role::Assistant && message.weight.is_none() && !is_of_pair
}

/// Returns the number of messages that are only context in the target.
fn prompt_len(conversation: &Conversation<'_>, carries: &Carries) -> usize {
    let Some(form) = carries.context else { return 0 };
    let messages = &conversation.messages;
    let said = messages.iter().rev().take_while(|it| it.role == Role::Assistant);
    let before = messages.len() - said.count();
    match conversation.shape(form) {
        Shape::Exchange(asked) => asked.min(before),
        _ => before,
    }
}
