//! Reads headers that are as the writer writes them, which nearly all are. `header.rs` reads all
//! headers, and these with the same result, but it takes several times as long.

use std::borrow::Cow;

use super::attribute::is_type_word;
use super::{Attribute, RoleWord, Rules, Speaker, TypeStyle};
use crate::Span;
use crate::grammar::is_graphic;
use crate::lex::{Frame, Piece};
use crate::limits::Limits;
use crate::model::{Channel, Intent, Message, Role};
use crate::reading::Keep;

/// Returns the message whose header `frame` has, or `None` if the writer would write another header,
/// or if there is anything to report about it.
pub(super) fn message<'a>(
    frame: &Frame<'_>,
    rules: &Rules,
    limits: &Limits,
    keep: Keep<'a>,
) -> Option<Message<'a>> {
    let (word, attributes) = split_word(frame.header);
    let (role, name) = match (rules.speaker)(word.0)? {
        Speaker::Role(role) => (role, None),
        Speaker::Named(role, name) => (role, Some(name)),
        _ => return None,
    };
    let values = Values { limits, keep };
    let mut message = Message::new(role, "");
    if let Some(name) = name {
        message.name = Some(values.value((name, Span::new(word.1.end - name.len(), word.1.end)))?);
    }
    if !attributes.0.is_empty() {
        values.attributes(attributes, rules, &mut message)?;
    }
    if message.name.is_some() {
        let is_apart = matches!((rules.role_word)(&message), RoleWord::Role(_));
        (is_apart == name.is_none()).then_some(())?;
    }
    values.tags(frame, rules, &mut message)?;
    (rules.settle)(&mut message);
    message.span = Span::new(frame.start.start, frame.message.end);
    (!message.recovered).then_some(message)
}

/// Reads the values of a header.
struct Values<'a, 'l> {
    limits: &'l Limits,
    keep: Keep<'a>,
}

impl<'a> Values<'a, '_> {
    /// Returns a value to which nothing is objectionable.
    fn value(&self, (text, span): Piece<'_>) -> Option<Cow<'a, str>> {
        let is_value =
            !text.is_empty() && text.len() <= self.limits.value_bytes && is_graphic(text);
        is_value.then(|| self.keep.text(text, span))
    }

    /// Reads the attributes: each after one space, in the order of the writer.
    fn attributes(
        &self,
        attributes: Piece<'_>,
        rules: &Rules,
        message: &mut Message<'a>,
    ) -> Option<()> {
        let mut order = match message.role {
            Role::Tool => rules.reply_attributes.iter(),
            _ => rules.attributes.iter(),
        };
        let mut rest = attributes;
        for _ in 0..self.limits.attributes {
            let (word, after) = split_word(skip_space(rest)?);
            let (attribute, value) = Attribute::split(word.0)?;
            order.find(|it| **it == attribute)?;
            let place = Span::new(word.1.end - value.len(), word.1.end);
            let slot = match attribute {
                Attribute::To => &mut message.recipient,
                Attribute::CallId => &mut message.call_id,
                Attribute::Name => &mut message.name,
                Attribute::ContentType => &mut message.content_type,
                Attribute::Intent => {
                    message.intent = Some(Intent::from_word(value)?);
                    &mut None
                }
            };
            if slot.is_some() {
                return None;
            }
            *slot = Some(self.value((value, place))?);
            rest = after;
            if rest.0.is_empty() {
                return Some(());
            }
        }
        None
    }

    /// Reads the channel and the content type after it.
    fn tags(&self, frame: &Frame<'_>, rules: &Rules, message: &mut Message<'a>) -> Option<()> {
        let by_word = rules.type_style == TypeStyle::Word;
        let mut after = ("", Span::default());
        if let Some((_, text)) = frame.channel {
            let (word, rest) = split_word(text);
            message.channel = Some(Channel::from_word(word.0)?);
            after = rest;
        } else if by_word && (message.role == Role::Assistant || frame.constrain.is_some()) {
            return None;
        }
        let typed = match frame.constrain {
            Some((_, value)) => {
                message.constrained = true;
                let end = if by_word { skip_space(after)? } else { after };
                end.0.is_empty().then_some(value)?
            }
            None if after.0.is_empty() => return Some(()),
            None if by_word => skip_space(after)?,
            None => return None,
        };
        if message.content_type.is_some() {
            return None;
        }
        message.content_type = Some(self.value(typed)?);
        let is_channel = |it: &Channel| it.as_str().eq_ignore_ascii_case(typed.0);
        let is_type = match message.constrained {
            true => !Channel::ALL.iter().any(is_channel),
            false => is_type_word(message),
        };
        is_type.then_some(())
    }
}

/// Returns the text up to the first space, and the rest.
fn split_word((text, span): Piece<'_>) -> (Piece<'_>, Piece<'_>) {
    let at = memchr::memchr(b' ', text.as_bytes()).unwrap_or(text.len());
    let (word, rest) = text.split_at(at);
    let at = span.start + at;
    ((word, Span::new(span.start, at)), (rest, Span::new(at, span.end)))
}

/// Returns the text after one space.
fn skip_space((text, span): Piece<'_>) -> Option<Piece<'_>> {
    Some((text.strip_prefix(' ')?, Span::new(span.start + 1, span.end)))
}
