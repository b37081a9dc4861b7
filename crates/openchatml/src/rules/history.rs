//! Which messages a prompt contains.

use crate::model::{Channel, Conversation, Message, Role};

/// Which messages of a conversation a prompt contains.
#[derive(Clone, Copy, Debug)]
pub(crate) enum History {
    /// All except the reasoning before answers, and foreign messages (OpenChatML 2.2 §7).
    Answered,
    /// Those that a renderer keeps, without foreign messages.
    Kept(fn(&Conversation<'_>) -> Vec<bool>),
    /// All except foreign messages.
    All,
    /// All except foreign messages. The chat template that writes them drops messages itself.
    Template,
}

/// Returns the messages of a prompt whose template keeps the reasoning after the user's last
/// message.
pub(crate) fn kept_after_last_user(conversation: &Conversation<'_>) -> Vec<bool> {
    let messages = &conversation.messages;
    let last = messages.iter().rposition(|message| message.role == Role::User);
    let is_kept = |at: usize| last.is_some_and(|last| at > last);
    let keeps = |(at, message): (usize, &Message<'_>)| !message.is_reasoning() || is_kept(at);
    messages.iter().enumerate().map(keeps).collect()
}

/// Returns the messages of a prompt whose template keeps all reasoning if the conversation has tools,
/// and otherwise the reasoning after the user's last message.
pub(crate) fn kept_with_tools(conversation: &Conversation<'_>) -> Vec<bool> {
    let is_of_tool = |it: &Message<'_>| it.is_call() || it.role == Role::Tool;
    match conversation.tools.is_empty() && !conversation.messages.iter().any(is_of_tool) {
        true => kept_after_last_user(conversation),
        false => vec![true; conversation.messages.len()],
    }
}

/// Returns the messages of a prompt whose template keeps the reasoning after the last message of
/// the assistant without calls.
pub(crate) fn kept_after_last_answer(conversation: &Conversation<'_>) -> Vec<bool> {
    let messages = &conversation.messages;
    let is_followed_by_call = |at: usize| {
        let next = messages.get(at + 1).filter(|next| next.role == Role::Assistant);
        next.is_some_and(|next| {
            next.is_call() || messages[at].is_reasoning() && !next.is_reasoning()
        })
    };
    let is_answer = |at: &usize| {
        let message = &messages[*at];
        message.role == Role::Assistant && !message.is_call() && !is_followed_by_call(*at)
    };
    let last = (0..messages.len()).rev().find(is_answer);
    let keeps = |(at, message): (usize, &Message<'_>)| {
        !message.is_reasoning() || last.is_none_or(|last| at > last)
    };
    messages.iter().enumerate().map(keeps).collect()
}

/// Returns the messages of a prompt whose template keeps no reasoning.
pub(crate) fn kept_without_reasoning(conversation: &Conversation<'_>) -> Vec<bool> {
    conversation.messages.iter().map(|message| !message.is_reasoning()).collect()
}

/// Returns the messages that the reference renderer keeps in a prompt. If the assistant's last
/// message is on `final`, it drops the reasoning before the first answer.
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
