//! Reasoning that is written in tags in the text of the assistant: `<think>Easy.</think>4.`

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use crate::dialects::ALL;
use crate::model::{Channel, Conversation, Message, Role, Shape};
use crate::{Control, Section};

/// The tags that open and close reasoning.
type Pair = (&'static str, &'static str);

/// Tags of models whose formats are not in the registry.
const OTHERS: &[Pair] = &[("<thinking>", "</thinking>"), ("[THINK]", "[/THINK]")];

/// The tags in which models write reasoning.
pub(crate) static TAGS: LazyLock<Vec<Pair>> = LazyLock::new(|| {
    let section = Section::Reasoning;
    let own = ALL.iter().filter_map(|dialect| {
        let spelling = |control| dialect.controls.spelling(control);
        spelling(Control::OpenSection(section)).zip(spelling(Control::CloseSection(section)))
    });
    let mut tags: Vec<Pair> = OTHERS.iter().copied().chain(own).collect();
    tags.sort_unstable();
    tags.dedup();
    tags
});

/// Moves reasoning in tags to messages of its own. A conversation gets at most `most` messages.
pub(crate) fn split(conversation: &mut Conversation<'_>, most: usize) {
    let asked = match conversation.layout.as_deref().map(|layout| layout.shape) {
        Some(Shape::Exchange(asked)) => asked,
        _ => 0,
    };
    let mut left = most.saturating_sub(conversation.messages.len());
    let mut messages = Vec::with_capacity(conversation.messages.len());
    let mut asked_now = 0;
    for (at, mut message) in std::mem::take(&mut conversation.messages).into_iter().enumerate() {
        if at == asked {
            asked_now = messages.len();
        }
        match (left > 0).then(|| take_reasoning(&mut message)).flatten() {
            Some(reasoning) => {
                messages.push(reasoning);
                if !message.body.is_empty() {
                    left -= 1;
                    messages.push(message);
                }
            }
            None => messages.push(message),
        }
    }
    conversation.messages = messages;
    if let Some(layout) = &mut conversation.layout
        && let Shape::Exchange(asked) = &mut layout.shape
    {
        *asked = if *asked == 0 { 0 } else { asked_now };
    }
}

/// Takes the reasoning from the text of a message that a user can see.
fn take_reasoning<'a>(message: &mut Message<'a>) -> Option<Message<'a>> {
    let is_text = message.role == Role::Assistant
        && !message.is_reasoning()
        && !message.is_call()
        && !message.recovered;
    let (thought, answer) = cut(message.body.as_plain().filter(|_| is_text)?)?;
    let text = std::mem::take(&mut message.body).into_text();
    message.pieces = None;
    let mut reasoning = message.clone();
    reasoning.body = part(&text, thought).into();
    reasoning.channel = Some(Channel::Analysis);
    reasoning.intent = None;
    reasoning.content_type = None;
    message.body = part(&text, answer).into();
    // What the object says about itself belongs to its first message.
    if let Some(layout) = &mut reasoning.layout {
        (layout.content, layout.is_stopped) = (None, false);
        if let Some(beyond) = &mut layout.beyond {
            beyond.key = "";
            beyond.after.clear();
        }
    }
    if let Some(beyond) = message.layout.as_mut().and_then(|it| it.beyond.as_mut()) {
        beyond.fields.clear();
        beyond.items.clear();
    }
    Some(reasoning)
}

/// Returns the places of the reasoning and of the answer. Without a tag that opens it, as after a
/// prompt that ends in the tag, the text before the tag that closes it is reasoning.
fn cut(text: &str) -> Option<(Range<usize>, Range<usize>)> {
    let start = text.len() - text.trim_start().len();
    TAGS.iter().find_map(|(open, close)| {
        let first = text[start..].strip_prefix(open).map(|_| start + open.len());
        let end = text[first.unwrap_or(0)..].find(close).map(|at| first.unwrap_or(0) + at);
        let (first, end) = match (first, end) {
            (Some(first), end) => (first, end),
            (None, Some(end)) if !text[..end].contains(open) && !text[..end].ends_with('`') => {
                (0, Some(end))
            }
            _ => return None,
        };
        let answer = end.map_or(text.len(), |end| end + close.len())..text.len();
        Some((trimmed(text, first..end.unwrap_or(text.len())), trimmed(text, answer)))
    })
}

/// Returns the place without the line breaks around it: chat templates write them.
fn trimmed(text: &str, place: Range<usize>) -> Range<usize> {
    let is_break = |c| matches!(c, '\n' | '\r');
    let words = &text[place.clone()];
    let start = place.end - words.trim_start_matches(is_break).len();
    start..(start + text[start..place.end].trim_end_matches(is_break).len())
}

/// Returns a part of a text.
fn part<'a>(text: &Cow<'a, str>, place: Range<usize>) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[place]),
        Cow::Owned(text) => Cow::Owned(text[place].to_owned()),
    }
}
