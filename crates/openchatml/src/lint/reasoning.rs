//! Tags of reasoning in text that a user can see.

use crate::dialects::ALL;
use crate::model::{Conversation, Role};
use crate::{Code, Control, Diagnostic, Section, Span};

/// Tags of models whose formats are not in the registry.
const OTHERS: &[&str] = &["<thinking>", "</thinking>", "[THINK]", "[/THINK]"];

/// Returns the tags in which models write reasoning.
fn tags() -> impl Iterator<Item = &'static str> {
    let spelled = ALL.iter().flat_map(|dialect| {
        let section = Section::Reasoning;
        let controls = [Control::OpenSection(section), Control::CloseSection(section)];
        controls.into_iter().filter_map(|control| dialect.controls.spelling(control))
    });
    spelled.chain(OTHERS.iter().copied())
}

/// Finds the first tag in each visible message of the assistant.
pub(super) fn visible(conversation: &Conversation<'_>, found: &mut Vec<Diagnostic>) {
    for message in &conversation.messages {
        let is_visible =
            message.role == Role::Assistant && !message.is_reasoning() && !message.is_call();
        let body = message.body.text();
        if !is_visible {
            continue;
        }
        let places = tags().filter_map(|tag| Some((body.find(tag)?, tag)));
        let Some((at, tag)) = places.min() else { continue };
        let span = message.body_span(Span::new(at, at + tag.len()));
        let found_one = Code::VisibleReasoning.at(span, format!("`{tag}` in visible text"));
        found.push(found_one.help("move the reasoning to its own message or field"));
    }
}
