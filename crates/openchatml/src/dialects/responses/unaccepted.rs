//! What the writer writes although the service does not accept it.

use std::collections::HashSet;

use super::FORM;
use crate::model::{Conversation, Role};
use crate::rules::Unaccepted;
use crate::services::beyond_of;
use crate::services::unaccepted::{FunctionName, of_compositions, of_tools};

const NAMES: FunctionName = FunctionName { others: "_-", begins_with_letter: false, max: 64 };

/// Finds what the service does not accept.
pub(super) fn find(conversation: &Conversation<'_>) -> Vec<Unaccepted> {
    let mut found = of_tools(conversation, &NAMES, &["defer_loading", "strict"]);
    found.extend(of_compositions(conversation));
    let messages = &conversation.messages;
    let replies = messages.iter().filter(|it| it.role == Role::Tool);
    let answered: HashSet<&str> = replies.filter_map(|it| it.call_id.as_deref()).collect();
    let mut called = HashSet::new();
    let last_reply = messages.iter().rposition(|it| it.role != Role::Assistant);
    for (at, message) in messages.iter().enumerate() {
        let id = message.call_id.as_deref();
        let reason = match message.role {
            Role::Assistant if message.is_reasoning() => {
                let fields = beyond_of(message, FORM).map_or(&[][..], |beyond| &beyond.fields);
                let has_id = fields.iter().any(|field| field.0 == "id");
                (!has_id).then_some("reasoning without the id that the service gave it")
            }
            Role::Assistant if message.is_call() => {
                called.extend(id);
                // The calls at the end are still to be answered.
                let is_answered =
                    Some(at) > last_reply || id.is_some_and(|id| answered.contains(id));
                NAMES.of_call(message).or((!is_answered).then_some("a call without its output"))
            }
            Role::Tool => {
                let answers = id.is_some_and(|id| called.contains(id));
                (!answers).then_some("an output without its call")
            }
            _ => message.name.is_some().then_some("the name of a message"),
        };
        found.extend(reason.map(|reason| Unaccepted::of(at, reason)));
    }
    found
}
