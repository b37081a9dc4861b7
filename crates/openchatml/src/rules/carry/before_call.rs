//! Preambles, in formats that support them only before calls. Other preambles become answers.

use super::preamble::answer;
use super::{ConversationRule, Loss, Lost};
use crate::model::Message;
use crate::rules::Intents;

pub(super) const RULE: ConversationRule = ConversationRule {
    name: "before call",
    fits: |conversation, carries| {
        let messages = &conversation.messages;
        carries.intents != Intents::BeforeCalls
            || (0..messages.len()).all(|at| leads_to_call(&messages[at..]))
    },
    adapt: |conversation, _, _| {
        let mut losses = Vec::new();
        for at in 0..conversation.messages.len() {
            if !leads_to_call(&conversation.messages[at..]) {
                let message = &mut conversation.messages[at];
                answer(message);
                losses.push(Loss::new(Some(at), message.span, Lost::Preamble));
            }
        }
        losses
    },
};

/// Whether the first of these messages is not a preamble, or is the preamble of the following call.
fn leads_to_call(messages: &[Message<'_>]) -> bool {
    match messages {
        [message, rest @ ..] if message.is_commentary() => {
            let calls = |next: &Message<'_>| next.is_call() && next.name == message.name;
            !message.body.is_empty() && rest.first().is_some_and(calls)
        }
        _ => true,
    }
}
