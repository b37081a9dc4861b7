//! The required recipient of tool replies: the assistant.

use super::ConversationRule;
use crate::model::{Conversation, Message, Role};

pub(super) const RULE: ConversationRule = ConversationRule {
    name: "needs recipient",
    fits: |conversation, carries| {
        !carries.reply_recipients || !conversation.messages.iter().any(lacks_recipient)
    },
    adapt: |conversation, _, _| {
        let Conversation { messages, .. } = conversation;
        for message in messages.iter_mut().filter(|message| lacks_recipient(message)) {
            message.recipient = Some("assistant".into());
        }
        Vec::new()
    },
};

fn lacks_recipient(message: &Message<'_>) -> bool {
    message.role == Role::Tool && message.recipient.is_none()
}
