//! Each message of the assistant and of tools must be on a channel.

use super::ConversationRule;
use crate::model::{Channel, Conversation, Message, Role};

pub(super) const RULE: ConversationRule = ConversationRule {
    name: "needs channel",
    fits: |conversation, carries| {
        !carries.needs_channels || !conversation.messages.iter().any(lacks_channel)
    },
    adapt: |conversation, _, _| {
        let Conversation { messages, .. } = conversation;
        for message in messages.iter_mut().filter(|message| lacks_channel(message)) {
            // A call without a channel is one on `final`, which is not made: it stays so.
            let is_reply = message.role == Role::Tool;
            message.channel = Some(if is_reply { Channel::Commentary } else { Channel::Final });
        }
        Vec::new()
    },
};

fn lacks_channel(message: &Message<'_>) -> bool {
    let speaks = matches!(message.role, Role::Assistant | Role::Tool);
    speaks && message.channel.is_none()
}
