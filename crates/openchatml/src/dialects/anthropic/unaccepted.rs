//! What the writer writes although the service does not accept it.

use std::collections::HashSet;

use super::FORM;
use super::block::is_signed;
use crate::model::{Conversation, Message, Role};
use crate::rules::Unaccepted;
use crate::services::unaccepted::{FunctionName, of_compositions, of_tools};
use crate::services::{calls::is_inline_object, content_of};

const NAMES: FunctionName = FunctionName { others: "_-", begins_with_letter: false, max: 128 };

/// The keys of a function besides its name, description and schema.
const TOOL_KEYS: &[&str] = &[
    "allowed_callers",
    "cache_control",
    "defer_loading",
    "eager_input_streaming",
    "input_examples",
    "strict",
];

/// Finds what the service does not accept.
pub(super) fn find(conversation: &Conversation<'_>) -> Vec<Unaccepted> {
    const UNANSWERED: &str = "a call without a result";
    let messages = &conversation.messages;
    let mut found = of_tools(conversation, &NAMES, TOOL_KEYS);
    found.extend(of_compositions(conversation));
    if messages.iter().all(|message| matches!(message.role, Role::System | Role::Developer)) {
        found.push(Unaccepted::of_document("a conversation without a message of the user"));
    }
    // The ids of the calls that the next results can answer.
    let (mut waiting, mut has_results) = (HashSet::new(), false);
    for (at, message) in messages.iter().enumerate() {
        let goes_on = match message.role {
            Role::Assistant => has_results,
            Role::User => true,
            Role::Tool | Role::System | Role::Developer => false,
        };
        if goes_on {
            has_results = false;
            found.extend((!waiting.is_empty()).then(|| Unaccepted::of(at, UNANSWERED)));
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
            Role::System | Role::Developer => {
                let before = at.checked_sub(1).map(|before| messages[before].role);
                (before == Some(Role::Assistant))
                    .then_some("a late system message behind an answer")
            }
            Role::User => None,
        };
        let is_last = at + 1 == messages.len();
        let reason = reason.or_else(|| is_empty(message, is_last).then_some("an empty message"));
        let ends_in_space = is_last && message.is_answer() && {
            message.body.text().ends_with(|c: char| c.is_ascii_whitespace())
        };
        let reason =
            reason.or(ends_in_space.then_some("white space at the end of the last answer"));
        found.extend(reason.map(|reason| Unaccepted::of(at, reason)));
    }
    found
}

fn of_assistant(message: &Message<'_>) -> Option<&'static str> {
    if message.is_reasoning() {
        return (!is_signed(message)).then_some("thinking without a signature");
    }
    if !message.is_call() {
        return None;
    }
    if let Some(reason) = NAMES.of_call(message) {
        return Some(reason);
    }
    let is_id = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-');
    if message.call_id.as_deref().is_some_and(|id| id.is_empty() || !id.chars().all(is_id)) {
        return Some("the id of the call");
    }
    let is_object = message.body.as_plain().is_some_and(is_inline_object);
    (!is_object).then_some("input that is not an object")
}

/// Whether a message has no content but white space, although it must have some. The answer that the
/// service goes on with and results can be empty.
fn is_empty(message: &Message<'_>, is_last: bool) -> bool {
    let is_said = match message.role {
        Role::Assistant => !message.is_call() && !message.is_reasoning() && !is_last,
        Role::Tool => false,
        Role::User | Role::System | Role::Developer => true,
    };
    is_said && message.body.text().trim().is_empty() && content_of(message, FORM, "").is_none()
}
