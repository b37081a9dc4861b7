//! Required names of tools in replies, taken from the call.

use super::ConversationRule;
use crate::model::{Message, Role};
use crate::pairing::{Paired, Pairs, ends_turn};

pub(super) const RULE: ConversationRule = ConversationRule {
    name: "needs name",
    fits: |conversation, carries| {
        let messages = &conversation.messages;
        !carries.needs_names || !messages.iter().any(lacks_name) || missing(messages).is_empty()
    },
    adapt: |conversation, _, _| {
        for (at, name) in missing(&conversation.messages) {
            conversation.messages[at].name = Some(name.into());
        }
        Vec::new()
    },
};

fn lacks_name(message: &Message<'_>) -> bool {
    message.role == Role::Tool && message.name.is_none()
}

/// Returns the missing names and their positions. A reply without a call gets none.
fn missing(messages: &[Message<'_>]) -> Vec<(usize, String)> {
    let mut missing = Vec::new();
    let mut pairs = Pairs::default();
    for (at, message) in messages.iter().enumerate() {
        let id = message.call_id.as_deref();
        if message.is_call() {
            pairs.call(id, message.recipient.as_deref().unwrap_or_default());
        } else if message.role == Role::Tool
            && let Paired::Answer(call) | Paired::Again(call) =
                pairs.reply(id, message.name.as_deref())
            && message.name.is_none()
        {
            missing.push((at, pairs.tool(call).to_owned()));
        } else if ends_turn(message) {
            pairs.turn();
        }
    }
    missing
}
