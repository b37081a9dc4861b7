//! The habits of the reference renderer.

use super::declared;
use crate::declare::Style;
use crate::model::{Body, Conversation, Document, End, Message, Role};

/// The document as the reference renderer would have it.
pub(super) fn reference<'a>(document: &Document<'a>) -> Document<'a> {
    let Document::Conversation(conversation) = document else { return document.clone() };
    let mut changed = conversation.clone();
    let last = changed.messages.len().saturating_sub(1);
    for (index, message) in changed.messages.iter_mut().enumerate() {
        end(message, index == last);
        if message.recipient.as_deref() == Some(ALL) {
            everybody(message);
        }
        if let Some(texts) = declared::texts_of(message, conversation, Style::Reference) {
            message.body = Body::of_parts(texts);
        }
    }
    Document::Conversation(changed)
}

/// Whom this names need not be named.
const ALL: &str = "all";

/// Leaves out that a message is for all.
fn everybody(message: &mut Message<'_>) {
    message.recipient = None;
    (super::RULES.settle)(message);
    if let Some(header) = message.layout.as_mut().and_then(|layout| layout.header.as_mut()) {
        *header = header.replacen(&format!(" to={ALL}"), "", 1).into();
    }
}

fn end(message: &mut Message<'_>, is_last: bool) {
    message.end = match message.end {
        open @ (End::Open | End::Prompt) if is_last => open,
        End::Return if is_last && message.role == Role::Assistant => End::Return,
        _ if message.role == Role::Assistant && message.recipient.is_some() => End::Call,
        _ => End::End,
    };
}

/// Which messages the reference renderer keeps in a prompt: where the assistant spoke last on
/// `final`, reasoning before the first answer is left out.
pub(crate) fn kept(conversation: &Conversation<'_>) -> Vec<bool> {
    use crate::model::Channel;
    let messages = &conversation.messages;
    let is_final = |message: &Message<'_>| message.channel == Some(Channel::Final);
    let last = messages.iter().rfind(|message| message.role == Role::Assistant);
    let first = messages.iter().position(is_final).filter(|_| last.is_some_and(is_final));
    let keeps = |(index, message): (usize, &Message<'_>)| {
        first.is_none_or(|first| index >= first) || message.channel != Some(Channel::Analysis)
    };
    messages.iter().enumerate().map(keeps).collect()
}
