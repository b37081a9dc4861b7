//! Preference pairs that teach no preference.

use crate::model::{Conversation, Message, Pair, Role};
use crate::{Code, Diagnostic, Span};

/// Finds pairs whose sides are the same, answer different prompts, or have no answer.
pub(super) fn unbalanced(pair: &Pair<'_>, found: &mut Vec<Diagnostic>) {
    let mut report = |span: Span, text: String, help: &'static str| {
        found.push(Code::UnbalancedPair.at(span, text).help(help));
    };
    let remove = "a model learns no preference from this pair: remove it, or correct it";
    if pair.chosen.messages == pair.rejected.messages {
        let text = "`chosen` and `rejected` are the same".to_owned();
        return report(end(&pair.rejected), text, remove);
    }
    let mut is_answered = true;
    for (name, side) in pair.sides() {
        if side.messages.last().is_none_or(|last| last.role != Role::Assistant) {
            is_answered = false;
            let text = format!("`{name}` does not end with a message of `assistant`");
            report(end(side), text, "add the answer, or remove the pair");
        }
    }
    if is_answered && prompt(&pair.chosen) != prompt(&pair.rejected) {
        let text = "`chosen` and `rejected` answer different prompts".to_owned();
        report(end(&pair.rejected), text, remove);
    }
}

/// Returns the messages up to the last one of a user.
fn prompt<'c, 'a>(conversation: &'c Conversation<'a>) -> &'c [Message<'a>] {
    let messages = &conversation.messages;
    let asked = messages.iter().rposition(|message| message.role == Role::User);
    &messages[..asked.map_or(0, |at| at + 1)]
}

/// Returns the place of the last message.
fn end(conversation: &Conversation<'_>) -> Span {
    conversation.messages.last().map_or(Span::at(0), |last| last.span)
}
