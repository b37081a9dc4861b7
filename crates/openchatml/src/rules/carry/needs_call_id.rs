//! Required `call_id`s: calls and replies without one get `call_1`, `call_2`, …

use std::collections::HashSet;

use super::ConversationRule;
use crate::model::{Message, Role};
use crate::pairing::{Paired, Pairs, ends_turn};

pub(super) const RULE: ConversationRule = ConversationRule {
    name: "needs call_id",
    fits: |conversation, carries| {
        let messages = &conversation.messages;
        !carries.needs_call_ids || !messages.iter().any(lacks_id) || missing(messages).is_empty()
    },
    adapt: |conversation, _, _| {
        for (at, id) in missing(&conversation.messages) {
            conversation.messages[at].call_id = Some(id.into());
        }
        Vec::new()
    },
};

fn lacks_id(message: &Message<'_>) -> bool {
    message.call_id.is_none() && (message.role == Role::Tool || message.is_call())
}

/// Returns the missing ids and their positions. A reply gets the id of its call. A reply without a
/// call gets none.
fn missing(messages: &[Message<'_>]) -> Vec<(usize, String)> {
    let mut missing = Vec::new();
    let used: HashSet<&str> = messages.iter().filter_map(|it| it.call_id.as_deref()).collect();
    let ids = (1..).map(|number| format!("call_{number}"));
    let mut unused = ids.filter(|id| !used.contains(id.as_str()));
    let mut pairs = Pairs::default();
    let mut calls = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let own = message.call_id.as_deref();
        if message.is_call() {
            let id = own.map(str::to_owned).or_else(|| unused.next()).unwrap_or_default();
            if pairs.call(Some(&id), message.recipient.as_deref().unwrap_or_default()).is_some() {
                calls.push(id.clone());
            }
            missing.extend(own.is_none().then_some((at, id)));
        } else if message.role == Role::Tool
            && let Paired::Answer(call) = pairs.reply(own, message.name.as_deref())
            && own.is_none()
        {
            missing.push((at, calls[call].clone()));
        } else if ends_turn(message) {
            pairs.turn();
        }
    }
    missing
}
