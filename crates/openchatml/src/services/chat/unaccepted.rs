//! What the writer writes although Chat Completions does not accept it.

use std::collections::HashSet;

use super::write::Turn;
use crate::model::{Conversation, FormId, Role};
use crate::rules::Unaccepted;
use crate::services::unaccepted::{FunctionName, of_compositions, of_tools};

const NAMES: FunctionName = FunctionName { others: "_-", begins_with_letter: false, max: 64 };

/// The largest number of characters of the id of a call.
const LONGEST_ID: usize = 40;

/// Finds what the service does not accept.
pub(crate) fn find(conversation: &Conversation<'_>, form: FormId) -> Vec<Unaccepted> {
    let mut found = of_tools(conversation, &NAMES, &["strict"]);
    found.extend(of_compositions(conversation));
    // The ids of the calls of the object before.
    let mut waiting = HashSet::new();
    let mut last_call = 0;
    let mut rest = conversation.messages.as_slice();
    while let Some(first) = rest.first() {
        let at = conversation.messages.len() - rest.len();
        if first.role == Role::Tool {
            let answers = first.call_id.as_deref().is_some_and(|id| waiting.remove(id));
            let reason = "a reply that does not directly follow its call";
            found.extend((!answers).then(|| Unaccepted::of(at, reason)));
            rest = &rest[1..];
            continue;
        }
        if !waiting.is_empty() {
            found.push(Unaccepted::of(last_call, "a call without a reply directly after it"));
            waiting.clear();
        }
        let turn = Turn::of(rest, form);
        if first.role != Role::Assistant || turn.len() == 0 {
            rest = &rest[1..];
            continue;
        }
        if turn.is_reasoning() {
            found.push(Unaccepted::of(at, "reasoning without an answer or a call"));
        }
        for (position, call) in turn.calls().iter().enumerate() {
            last_call = at + turn.len() - turn.calls().len() + position;
            waiting.extend(call.call_id.as_deref());
            let is_long = call.call_id.as_deref().is_some_and(|id| id.chars().count() > LONGEST_ID);
            let reason =
                NAMES.of_call(call).or(is_long.then_some("the length of the id of the call"));
            found.extend(reason.map(|reason| Unaccepted::of(last_call, reason)));
        }
        rest = &rest[turn.len()..];
    }
    found
}
