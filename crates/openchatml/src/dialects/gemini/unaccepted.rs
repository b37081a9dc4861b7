//! What the writer writes although the service does not accept it.

use crate::function_name;
use crate::model::{Conversation, Message, Role};
use crate::services::calls::is_inline_object;

/// Returns the positions of messages that the service does not accept, and the reasons.
pub(super) fn find(conversation: &Conversation<'_>) -> Vec<(usize, &'static str)> {
    const UNANSWERED: &str = "a call without a result";
    let mut found = Vec::new();
    // The number of calls that the next results can answer.
    let (mut waiting, mut has_results, mut has_begun) = (0_usize, false, false);
    for (at, message) in conversation.messages.iter().enumerate() {
        let goes_on = match message.role {
            Role::Assistant => has_results,
            Role::User => true,
            Role::Tool | Role::System | Role::Developer => false,
        };
        if goes_on {
            has_results = false;
            found.extend((waiting > 0).then_some((at, UNANSWERED)));
            waiting = 0;
        }
        let reason = match message.role {
            Role::Assistant => {
                waiting += usize::from(message.is_call());
                of_call(message)
            }
            Role::Tool if waiting == 0 => Some("a result that does not directly follow its call"),
            Role::Tool => {
                has_results = true;
                waiting -= 1;
                message.name.is_none().then_some("a result without the name of its function")
            }
            Role::System | Role::Developer => has_begun.then_some("a late system message"),
            Role::User => None,
        };
        has_begun |= !matches!(message.role, Role::System | Role::Developer);
        found.extend(reason.map(|reason| (at, reason)));
    }
    found
}

fn of_call(call: &Message<'_>) -> Option<&'static str> {
    if !call.is_call() {
        return None;
    }
    if call.recipient.as_deref().and_then(function_name).is_none() {
        return Some("a tool that is not a function");
    }
    let is_object = call.body.as_plain().is_some_and(is_inline_object);
    (!is_object).then_some("arguments that are not an object")
}
