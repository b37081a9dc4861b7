//! Which messages of a conversation a prompt has.

use crate::model::{Channel, Conversation, Message, Role};

/// Which messages of a conversation a prompt has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum History {
    /// All but the reasoning that led to an answer, and what is foreign (OpenChatML 2.2 §7).
    Answered,
    /// Those that a renderer keeps, without what is foreign.
    Kept(fn(&Conversation<'_>) -> Vec<bool>),
    /// All but what is foreign.
    All,
    /// All but what is foreign: the chat template that writes them leaves out what it leaves out.
    Template,
}

/// Which messages a prompt has whose template keeps the reasoning behind the last question of the user.
pub(crate) fn kept_after_last_user(conversation: &Conversation<'_>) -> Vec<bool> {
    let messages = &conversation.messages;
    let last = messages.iter().rposition(|message| message.role == Role::User);
    let is_kept = |at: usize| last.is_some_and(|last| at > last);
    let keeps = |(at, message): (usize, &Message<'_>)| !message.is_reasoning() || is_kept(at);
    messages.iter().enumerate().map(keeps).collect()
}

/// Which messages a prompt has whose template keeps no reasoning.
pub(crate) fn kept_without_reasoning(conversation: &Conversation<'_>) -> Vec<bool> {
    conversation.messages.iter().map(|message| !message.is_reasoning()).collect()
}

/// Which messages the reference renderer keeps in a prompt: where the assistant spoke last on
/// `final`, reasoning before the first answer is left out.
pub(crate) fn kept_by_reference(conversation: &Conversation<'_>) -> Vec<bool> {
    let messages = &conversation.messages;
    let is_final = |message: &Message<'_>| message.channel == Some(Channel::Final);
    let last = messages.iter().rfind(|message| message.role == Role::Assistant);
    let first = messages.iter().position(is_final).filter(|_| last.is_some_and(is_final));
    let keeps = |(index, message): (usize, &Message<'_>)| {
        first.is_none_or(|first| index >= first) || message.channel != Some(Channel::Analysis)
    };
    messages.iter().enumerate().map(keeps).collect()
}
