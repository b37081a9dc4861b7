//! What the writer writes although the service does not accept it.

use crate::model::{Conversation, Message, Role};
use crate::rules::Unaccepted;
use crate::services::calls::is_inline_object;
use crate::services::unaccepted::{FunctionName, of_tools};

const NAMES: FunctionName = FunctionName { others: "_.:-", begins_with_letter: true, max: 128 };

/// The keys of a function besides its name, description and schema.
const TOOL_KEYS: &[&str] = &["behavior", "response", "responseJsonSchema"];

/// Finds what the service does not accept.
pub(super) fn find(conversation: &Conversation<'_>) -> Vec<Unaccepted> {
    const UNANSWERED: &str = "a call without a result";
    let messages = &conversation.messages;
    let mut found = of_tools(conversation, &NAMES, TOOL_KEYS);
    if messages.iter().all(|message| matches!(message.role, Role::System | Role::Developer)) {
        found.push(Unaccepted::of_document("a conversation without a message of the user"));
    }
    // The number of calls that the next results can answer.
    let (mut waiting, mut has_results, mut has_begun) = (0_usize, false, false);
    for (at, message) in messages.iter().enumerate() {
        let goes_on = match message.role {
            Role::Assistant => has_results,
            Role::User => true,
            Role::Tool | Role::System | Role::Developer => false,
        };
        if goes_on {
            has_results = false;
            found.extend((waiting > 0).then(|| Unaccepted::of(at, UNANSWERED)));
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
            Role::User => message.body.is_empty().then_some("an empty message"),
        };
        has_begun |= !matches!(message.role, Role::System | Role::Developer);
        found.extend(reason.map(|reason| Unaccepted::of(at, reason)));
    }
    found
}

fn of_call(call: &Message<'_>) -> Option<&'static str> {
    if !call.is_call() {
        return None;
    }
    if let Some(reason) = NAMES.of_call(call) {
        return Some(reason);
    }
    let is_object = call.body.as_plain().is_some_and(is_inline_object);
    (!is_object).then_some("arguments that are not an object")
}
