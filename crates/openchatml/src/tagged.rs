//! Reasoning that is written in tags in the text of the assistant: `<think>Easy.</think>4.`

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use crate::dialects::ALL;
use crate::model::{Channel, Conversation, End, Message, Role, Shape};
use crate::{Code, Control, Diagnostic, Section};

/// The tags that open and close reasoning.
type Pair = (&'static str, &'static str);

/// Tags of models whose formats are not in the registry.
const OTHERS: &[Pair] = &[("<thinking>", "</thinking>")];

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

/// The help for reasoning in a text.
const APART: &str = "write reasoning as a message or field of its own, such as `reasoning_content`";

/// The help for reasoning in a text that [`split`] can move.
const SPLIT: &str = "write reasoning as a message or field of its own, such as `reasoning_content`; reading with `split_reasoning` (`--split-reasoning`) does it";

/// Returns how to separate the reasoning in a text.
pub(crate) fn help(text: &str) -> &'static str {
    if cut(text).is_some() { SPLIT } else { APART }
}

/// Moves reasoning in tags to messages of its own. A conversation gets at most `most` messages.
/// Returns what is wrong with the tags.
pub(crate) fn split(conversation: &mut Conversation<'_>, most: usize) -> Vec<Diagnostic> {
    let mut found = Vec::new();
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
            // As a message with an empty field of reasoning.
            Some(reasoning) if reasoning.body.is_empty() => messages.push(message),
            Some(reasoning) => {
                if reasoning.end == End::Open {
                    let text = "the reasoning has no end: there is no tag that closes it";
                    found.push(Code::StreamTruncated.at(reasoning.span, text));
                }
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
    found
}

/// Takes the reasoning from the text of a message that a user can see.
fn take_reasoning<'a>(message: &mut Message<'a>) -> Option<Message<'a>> {
    let is_text = message.role == Role::Assistant
        && !message.is_reasoning()
        && !message.is_call()
        && !message.recovered;
    let (thought, answer, is_closed) = cut(message.body.as_plain().filter(|_| is_text)?)?;
    let text = std::mem::take(&mut message.body).into_text();
    message.pieces = None;
    // They are those of the whole text.
    message.layout.iter_mut().for_each(|layout| layout.ids = None);
    let mut reasoning = message.clone();
    reasoning.body = part(&text, thought).into();
    reasoning.channel = Some(Channel::Analysis);
    reasoning.intent = None;
    reasoning.content_type = None;
    reasoning.end = if is_closed { End::End } else { End::Open };
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

/// Returns the places of the reasoning and of the answer, and whether a tag closes the reasoning.
/// Without a tag that opens it, as after a prompt that ends in the tag, the text before the tag that
/// closes it is reasoning. If a tag opens it twice, it is unknown which tag closes it, so it is the
/// last one.
fn cut(text: &str) -> Option<(Range<usize>, Range<usize>, bool)> {
    let start = text.len() - text.trim_start().len();
    TAGS.iter().find_map(|(open, close)| {
        let is_opened = text[start..].starts_with(open);
        let first = if is_opened { start + open.len() } else { 0 };
        let end = text[first..].find(close).map(|at| first + at);
        let is_opened_twice = text[first..end.unwrap_or(text.len())].contains(open);
        let mut end = if is_opened && is_opened_twice { text.rfind(close).or(end) } else { end };
        // Blocks of reasoning one after the other.
        while let Some(before) = end
            && let rest = text[before + close.len()..].trim_start()
            && rest.starts_with(open)
        {
            let rest = text.len() - rest.len();
            end = text[rest..].find(close).map(|at| rest + at);
        }
        if !is_opened && (is_opened_twice || end.is_none_or(|end| text[..end].ends_with('`'))) {
            return None;
        }
        let answer = end.map_or(text.len(), |end| end + close.len())..text.len();
        let thought = trimmed(text, first..end.unwrap_or(text.len()));
        Some((thought, trimmed(text, answer), end.is_some()))
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
