//! Required channels of messages of the assistant and of tools.

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
            // A call without a channel is on `final`, so it is not run, and must stay so.
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
