//! Writes the headers of framed messages, and checks their values.

use std::borrow::Cow;

use super::attribute::is_type_word;
use super::writer::{Named, lacks, put};
use super::{Attribute, RoleWord, Rules, TypeStyle};
use crate::Control;
use crate::lex::TokenTable;
use crate::model::{Intent, Message, Role};
use crate::writing::{Part, Place, Sink, check_value, find_control};

/// Writes a header in canonical order.
pub(super) fn header(
    message: &Message<'_>,
    rules: &Rules,
    sink: &mut dyn Sink,
) -> Result<(), Named> {
    let word = |word: &'static str, sink: &mut dyn Sink| {
        sink.word(word).map_err(|error| (Place::Role, error))
    };
    let name_of = |name: &str, sink: &mut dyn Sink| {
        let written = check_value(name, rules.controls).and_then(|()| sink.text(name));
        written.map_err(|error| (Place::Name, error))
    };
    let mut names = true;
    match (rules.role_word)(message) {
        RoleWord::Role(role) => word(role, sink)?,
        RoleWord::Name(name) => {
            name_of(name, sink)?;
            names = false;
        }
        RoleWord::Joined(role, name) => {
            word(role, sink)?;
            word(":", sink)?;
            name_of(name, sink)?;
            names = false;
        }
        RoleWord::Refused(reason) => return Err(lacks(Place::Role, reason)),
    }
    sink.part(Part::Header);
    let order = match message.role {
        Role::Tool => rules.reply_attributes,
        _ => rules.attributes,
    };
    for attribute in order {
        let value = match attribute {
            Attribute::To => message.recipient.as_deref(),
            Attribute::CallId => message.call_id.as_deref(),
            Attribute::Name => message.name.as_deref().filter(|_| names),
            Attribute::Intent => message.intent.map(Intent::as_str),
            Attribute::ContentType => {
                message.content_type.as_deref().filter(|_| !message.constrained)
            }
        };
        let Some(value) = value else { continue };
        let place = place_of(*attribute);
        check_value(value, rules.controls).map_err(|error| (place, error))?;
        for text in [" ", attribute.as_str(), "="] {
            word(text, sink)?;
        }
        sink.text(value).map_err(|error| (place, error))?;
    }
    if let Some(channel) = message.channel {
        put(sink, Control::Channel)?;
        word(channel.as_str(), sink)?;
    }
    content_type(message, rules, sink)
}

/// Writes the content type if it is not an attribute.
fn content_type(message: &Message<'_>, rules: &Rules, sink: &mut dyn Sink) -> Result<(), Named> {
    let by_word = rules.type_style == TypeStyle::Word;
    let typed = message.content_type.as_deref().filter(|_| message.constrained || by_word);
    if let Some(content_type) = typed {
        if by_word && !message.constrained && !is_type_word(message) {
            let reason = "without a name, this content type would be read as something else";
            return Err(lacks(Place::ContentType, reason));
        }
        if by_word {
            sink.word(" ").map_err(|error| (Place::Role, error))?;
        }
        if message.constrained {
            put(sink, Control::Constrain)?;
        }
        let written =
            check_value(content_type, rules.controls).and_then(|()| sink.text(content_type));
        written.map_err(|error| (Place::ContentType, error))?;
    }
    Ok(())
}

fn place_of(attribute: Attribute) -> Place {
    match attribute {
        Attribute::To => Place::Recipient,
        Attribute::CallId => Place::CallId,
        Attribute::Name => Place::Name,
        Attribute::Intent => Place::Role,
        Attribute::ContentType => Place::ContentType,
    }
}

/// Whether a header value of a message is not allowed unchanged.
pub(crate) fn needs_sanitizing(message: &Message<'_>, controls: &'static TokenTable) -> bool {
    let Message { name, recipient, call_id, content_type, .. } = message;
    let mut values = [name, recipient, call_id, content_type].into_iter().flatten();
    values.any(|value| check_value(value, controls).is_err())
}

/// Returns the message with `_` in place of characters that are not allowed in header values (SPEC
/// 2.2 §11).
pub(crate) fn sanitized<'m>(message: &Message<'m>, controls: &'static TokenTable) -> Message<'m> {
    let clean = |value: &Cow<'m, str>| -> Option<Cow<'m, str>> {
        if check_value(value, controls).is_ok() {
            return Some(value.clone());
        }
        let mut text: String = value
            .chars()
            .map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c })
            .collect();
        while let Some((at, ..)) = find_control(&text, controls) {
            let first = text[at..].chars().next().map_or(0, char::len_utf8);
            text.replace_range(at..at + first, "_");
        }
        // Dropping it would change the meaning, and who can see the message.
        if text.is_empty() {
            text.push('_');
        }
        Some(Cow::Owned(text))
    };
    let mut message = message.clone();
    message.name = message.name.as_ref().and_then(clean);
    message.recipient = message.recipient.as_ref().and_then(clean);
    message.call_id = message.call_id.as_ref().and_then(clean);
    message.content_type = message.content_type.as_ref().and_then(clean);
    message
}
