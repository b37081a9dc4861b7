//! What the writer writes although the service does not accept it.

use std::collections::HashSet;

use super::FORM;
use crate::function_name;
use crate::model::{Conversation, Message, Role};
use crate::services::{beyond_of, calls::is_inline_object};

/// Returns the positions of messages that the service does not accept, and the reasons.
pub(super) fn find(conversation: &Conversation<'_>) -> Vec<(usize, &'static str)> {
    const UNANSWERED: &str = "a call without a result";
    let mut found = Vec::new();
    // The ids of the calls that the next results can answer.
    let (mut waiting, mut has_results) = (HashSet::new(), false);
    for (at, message) in conversation.messages.iter().enumerate() {
        let goes_on = match message.role {
            Role::Assistant => has_results,
            Role::User => true,
            Role::Tool | Role::System | Role::Developer => false,
        };
        if goes_on {
            has_results = false;
            found.extend((!waiting.is_empty()).then_some((at, UNANSWERED)));
            waiting.clear();
        }
        let reason = match message.role {
            Role::Assistant => {
                waiting.extend(message.call_id.as_deref().filter(|_| message.is_call()));
                of_assistant(message)
            }
            Role::Tool => {
                has_results = true;
                let answers = message.call_id.as_deref().is_some_and(|id| waiting.remove(id));
                (!answers).then_some("a result that does not directly follow its call")
            }
            _ => None,
        };
        found.extend(reason.map(|reason| (at, reason)));
    }
    found
}

fn of_assistant(message: &Message<'_>) -> Option<&'static str> {
    if message.is_reasoning() {
        let fields = beyond_of(message, FORM).map_or(&[][..], |beyond| &beyond.fields);
        let is_signed = fields.iter().any(|field| field.0 == "signature");
        return (!is_signed).then_some("thinking without a signature");
    }
    if !message.is_call() {
        return None;
    }
    if message.recipient.as_deref().and_then(function_name).is_none() {
        return Some("a tool that is not a function");
    }
    let is_object = message.body.as_plain().is_some_and(is_inline_object);
    (!is_object).then_some("input that is not an object")
}
