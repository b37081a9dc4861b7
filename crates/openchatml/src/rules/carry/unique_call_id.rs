//! Unique `call_id`s: a call with the id of an answered call gets the id with a number behind it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::{ConversationRule, Loss, Lost};
use crate::model::{Message, Role};
use crate::pairing::Pairs;

pub(super) const RULE: ConversationRule = ConversationRule {
    name: "unique call_id",
    fits: |conversation, carries| {
        !carries.unique_call_ids || repeated(&conversation.messages).is_empty()
    },
    adapt: |conversation, _, _| {
        let mut losses = Vec::new();
        for (at, id) in repeated(&conversation.messages) {
            let message = &mut conversation.messages[at];
            message.call_id = Some(id.into());
            losses.push(Loss::new(Some(at), message.span, Lost::CallIdChanged));
        }
        losses
    },
};

/// Returns the messages with a repeated id, and their new ids. A reply gets the id of its call.
fn repeated(messages: &[Message<'_>]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut used: HashSet<Cow<'_, str>> = HashSet::new();
    let mut renamed: HashMap<&str, String> = HashMap::new();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut pairs = Pairs::default();
    let all: HashSet<&str> = messages.iter().filter_map(|it| it.call_id.as_deref()).collect();
    for (at, message) in messages.iter().enumerate() {
        let Some(id) = message.call_id.as_deref() else { continue };
        if message.is_call() {
            let tool = message.recipient.as_deref().unwrap_or_default();
            // A call whose id still waits for a reply is a mistake, which stays.
            let is_again = pairs.call(Some(id), tool).is_some() && !used.insert(id.into());
            if is_again {
                let count = counts.entry(id).or_insert(1);
                let new = loop {
                    *count += 1;
                    let new = format!("{id}_{count}");
                    if !all.contains(new.as_str()) && !used.contains(new.as_str()) {
                        break new;
                    }
                };
                used.insert(new.clone().into());
                renamed.insert(id, new.clone());
                found.push((at, new));
            }
        } else if message.role == Role::Tool {
            pairs.reply(Some(id), message.name.as_deref());
            found.extend(renamed.get(id).map(|new| (at, new.clone())));
        }
    }
    found
}
