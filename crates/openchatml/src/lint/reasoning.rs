//! Tags of reasoning in text that a user can see.

use crate::model::{Conversation, Role};
use crate::{Code, Diagnostic, Span};

/// The tags in which models write reasoning.
const TAGS: &[&str] = &["<think>", "</think>", "<thinking>", "</thinking>", "[THINK]", "[/THINK]"];

/// Finds the first tag in each visible message of the assistant.
pub(super) fn visible(conversation: &Conversation<'_>, found: &mut Vec<Diagnostic>) {
    for message in &conversation.messages {
        let is_visible =
            message.role == Role::Assistant && !message.is_reasoning() && !message.is_call();
        let body = message.body.text();
        let places = TAGS.iter().filter_map(|tag| Some((body.find(tag)?, *tag)));
        let Some((at, tag)) = places.filter(|_| is_visible).min() else { continue };
        let span = message.body_span(Span::new(at, at + tag.len()));
        let found_one = Code::VisibleReasoning.at(span, format!("`{tag}` in visible text"));
        found.push(found_one.help("move the reasoning to its own message or field"));
    }
}
