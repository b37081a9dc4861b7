//! Reasoning in text that a user can see: the tags and headers in which models write it.

use std::sync::LazyLock;

use crate::dialects::ALL;
use crate::model::{Channel, Conversation, Role};
use crate::options::ReadOptions;
use crate::tagged::{self, TAGS};
use crate::{Code, Control, Diagnostic, Span};

/// The tags in which models write reasoning, and the headers of messages with it.
static MARKS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tags = TAGS.iter().flat_map(|(open, close)| [open, close]);
    let mut marks: Vec<String> = tags.map(|tag| (*tag).to_owned()).collect();
    let channels = ALL.iter().filter_map(|dialect| dialect.controls.spelling(Control::Channel));
    marks.extend(channels.map(|token| format!("{token}{}", Channel::Analysis.as_str())));
    marks.sort();
    marks.dedup();
    marks
});

/// Finds the first tag in each visible message of the assistant, and messages that are completions
/// without their control tokens.
pub(super) fn visible(conversation: &Conversation<'_>, found: &mut Vec<Diagnostic>) {
    for message in &conversation.messages {
        let is_visible =
            message.role == Role::Assistant && !message.is_reasoning() && !message.is_call();
        if !is_visible {
            continue;
        }
        let body = message.body.text();
        let places = MARKS.iter().filter_map(|tag| Some((body.find(tag.as_str())?, tag)));
        if let Some((at, tag)) = places.min() {
            let span = message.body_span(Span::new(at, at + tag.len()));
            let found_one = Code::VisibleReasoning.at(span, format!("`{tag}` in visible text"));
            found.push(found_one.help(tagged::help(&body)));
            continue;
        }
        let mut forms = ALL.iter().filter_map(|dialect| dialect.text?.stripped);
        let Some((form, parsed)) =
            forms.find_map(|form| Some((form, (form.read)(&body, &ReadOptions::default())?)))
        else {
            continue;
        };
        let words = parsed.diagnostics.first().map_or(Span::at(0), |found| found.span);
        let text = format!("the text is {}", form.name);
        let found_one = Code::VisibleReasoning.at(message.body_span(words), text);
        found.push(found_one.help(
            "let the server keep them (`skip_special_tokens=False`), or separate the reasoning",
        ));
    }
}
