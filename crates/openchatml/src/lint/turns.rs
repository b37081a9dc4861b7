//! The order of turns, and turns without content.

use crate::json::Value;
use crate::model::{Conversation, End, Message, Role};
use crate::services::parts;
use crate::{Code, Diagnostic, Span};

/// Finds messages without content, and conversations without messages. Calls and replies can be
/// empty.
pub(super) fn empty(conversation: &Conversation<'_>, found: &mut Vec<Diagnostic>) {
    if conversation.messages.is_empty() {
        let text = "the conversation has no messages";
        found.push(Code::EmptyMessage.at(Span::at(0), text).help("remove it, or fill it"));
    }
    for message in &conversation.messages {
        let is_open = matches!(message.end, End::Open | End::Prompt);
        let can_be_empty = is_open || message.is_call() || message.role == Role::Tool;
        let is_empty = message.body.as_plain().is_some_and(|text| text.trim().is_empty());
        if !can_be_empty && is_empty && !has_other_parts(message) {
            let text = format!("the message of `{}` is empty", message.role);
            found.push(Code::EmptyMessage.at(message.span, text).help("remove it, or fill it"));
        }
    }
}

/// Whether a message contains an image or another part without text.
fn has_other_parts(message: &Message<'_>) -> bool {
    let content = message.layout.as_deref().and_then(|layout| layout.content.as_ref());
    let parts = content.and_then(Value::as_list).unwrap_or_default();
    parts.iter().any(|part| parts::text(part).is_none())
}

/// Finds messages of the assistant that are incomplete: the service stopped in them. If a text ends in
/// a message, the reader reports it.
pub(super) fn open(conversation: &Conversation<'_>, found: &mut Vec<Diagnostic>) {
    let is_open = |it: &&Message<'_>| {
        let is_of_text = !it.in_json && it.span != Span::default();
        it.role == Role::Assistant && it.end == End::Open && !it.recovered && !is_of_text
    };
    for message in conversation.messages.iter().filter(is_open) {
        let text = "the message of `assistant` is incomplete";
        let help = "complete it; a model that is trained on it learns to stop in the middle";
        found.push(Code::OpenMessage.at(message.span, text).help(help));
    }
}

/// Finds a conversation in which the assistant says nothing.
pub(super) fn no_assistant(conversation: &Conversation<'_>, found: &mut Vec<Diagnostic>) {
    let is_assistant = |message: &Message<'_>| message.role == Role::Assistant;
    let Some(last) = conversation.messages.last() else { return };
    if !conversation.messages.iter().any(is_assistant) {
        let text = "the conversation has no message of `assistant`";
        let help = "a model learns nothing from this sample: remove it, or add an answer";
        found.push(Code::NoAssistant.at(last.span, text).help(help));
    }
}

/// Finds two turns of the user, or two answers, without anything between them.
pub(super) fn repeated(conversation: &Conversation<'_>, found: &mut Vec<Diagnostic>) {
    for pair in conversation.messages.windows(2) {
        let [first, second] = pair else { continue };
        let is_repeated = match (first.role, second.role) {
            (Role::User, Role::User) => true,
            (Role::Assistant, Role::Assistant) => first.is_answer() && first.intent.is_none(),
            _ => false,
        };
        if is_repeated {
            let text = format!("two turns of `{}` in a row", second.role);
            let help =
                "many chat templates refuse this: join the two turns, or add the missing one";
            found.push(Code::RepeatedRole.at(second.span, text).help(help));
        }
    }
}

/// Finds messages of the system or the developer behind messages of others.
pub(super) fn late_system(conversation: &Conversation<'_>, found: &mut Vec<Diagnostic>) {
    let is_early = |message: &&Message<'_>| is_instruction(message);
    let early = conversation.messages.iter().take_while(is_early).count();
    for message in conversation.messages[early..].iter().filter(|message| is_instruction(message)) {
        let text = format!("a message of `{}` after the beginning", message.role);
        let help = "many chat templates drop or refuse it: move it to the beginning";
        let span = Span::new(message.span.start, message.header_span().end);
        found.push(Code::LateSystem.at(span, text).help(help));
    }
}

fn is_instruction(message: &Message<'_>) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}
