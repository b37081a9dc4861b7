//! Writes the headers of framed messages, and checks their values.

use std::borrow::Cow;

use super::attribute::is_type_word;
use super::{Attribute, RoleWord, Rules, TypeStyle};
use crate::lex::TokenTable;
use crate::model::{Intent, Message, Raw, Role};
use crate::writing::{Part, Place, Sink, SinkError, check_value, find_control};
use crate::{Control, Span};

/// A target to which a header is written.
pub(super) trait HeaderTarget {
    type Error;

    fn control(&mut self, control: Control) -> Result<(), Self::Error>;

    /// Writes a word of the format.
    fn word(&mut self, word: &'static str) -> Result<(), Self::Error>;

    /// Writes a value of the message.
    fn value(&mut self, value: &str) -> Result<(), Self::Error>;

    /// Ends the role word, before the attributes.
    fn end_opening(&mut self);

    /// Returns the error for a header that the format cannot represent.
    fn refuse(&self, reason: &'static str) -> Self::Error;
}

/// Writes a header in canonical order.
pub(super) fn header<T: HeaderTarget>(
    message: &Message<'_>,
    rules: &Rules,
    to: &mut T,
) -> Result<(), (Place, T::Error)> {
    let role = |error| (Place::Role, error);
    let name = |error| (Place::Name, error);
    let mut names = true;
    match (rules.role_word)(message) {
        RoleWord::Role(word) => to.word(word).map_err(role)?,
        RoleWord::Name(word) => {
            to.value(word).map_err(name)?;
            names = false;
        }
        RoleWord::Joined(word, value) => {
            to.word(word).map_err(role)?;
            to.word(":").map_err(role)?;
            to.value(value).map_err(name)?;
            names = false;
        }
        RoleWord::Refused(reason) => return Err(role(to.refuse(reason))),
    }
    to.end_opening();
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
        for text in [" ", attribute.as_str(), "="] {
            to.word(text).map_err(role)?;
        }
        to.value(value).map_err(|error| (place_of(*attribute), error))?;
    }
    if let Some(channel) = message.channel {
        to.control(Control::Channel).map_err(|error| (Place::End, error))?;
        to.word(channel.as_str()).map_err(role)?;
    }
    content_type(message, rules, to)
}

/// Writes the content type if it is not an attribute.
fn content_type<T: HeaderTarget>(
    message: &Message<'_>,
    rules: &Rules,
    to: &mut T,
) -> Result<(), (Place, T::Error)> {
    let by_word = rules.type_style == TypeStyle::Word;
    let typed = message.content_type.as_deref().filter(|_| message.constrained || by_word);
    let Some(content_type) = typed else { return Ok(()) };
    let fail = |error| (Place::ContentType, error);
    if by_word && !message.constrained && !is_type_word(message) {
        let reason = "without a name, this content type would be read as something else";
        return Err(fail(to.refuse(reason)));
    }
    if by_word {
        to.word(" ").map_err(|error| (Place::Role, error))?;
    }
    if message.constrained {
        to.control(Control::Constrain).map_err(|error| (Place::End, error))?;
    }
    to.value(content_type).map_err(fail)
}

/// Writes to a sink. The sink receives no value that is not allowed in a header.
pub(super) struct Checked<'s> {
    pub(super) sink: &'s mut dyn Sink,
    pub(super) controls: &'static TokenTable,
}

impl HeaderTarget for Checked<'_> {
    type Error = SinkError;

    fn control(&mut self, control: Control) -> Result<(), SinkError> {
        self.sink.control(control)
    }

    fn word(&mut self, word: &'static str) -> Result<(), SinkError> {
        self.sink.word(word)
    }

    fn value(&mut self, value: &str) -> Result<(), SinkError> {
        check_value(value, self.controls)?;
        self.sink.text(value)
    }

    fn end_opening(&mut self) {
        self.sink.part(Part::Header);
    }

    fn refuse(&self, reason: &'static str) -> SinkError {
        SinkError::new(Span::default(), "", reason)
    }
}

/// Returns the header of a message as it is written, if the format can represent it.
pub(crate) fn raw_header(message: &Message<'_>, rules: &Rules) -> Option<Raw<'static>> {
    let mut collected = Collected { raw: Raw::default(), controls: rules.controls };
    header(message, rules, &mut collected).ok()?;
    Some(collected.raw)
}

/// Collects the written header.
struct Collected {
    raw: Raw<'static>,
    controls: &'static TokenTable,
}

impl HeaderTarget for Collected {
    type Error = SinkError;

    fn control(&mut self, control: Control) -> Result<(), SinkError> {
        self.raw.push_control(control, self.controls.spelling(control).unwrap_or_default());
        Ok(())
    }

    fn word(&mut self, word: &'static str) -> Result<(), SinkError> {
        self.raw.push_text(word);
        Ok(())
    }

    fn value(&mut self, value: &str) -> Result<(), SinkError> {
        check_value(value, self.controls)?;
        self.raw.push_text(value);
        Ok(())
    }

    fn end_opening(&mut self) {}

    fn refuse(&self, reason: &'static str) -> SinkError {
        SinkError::new(Span::default(), "", reason)
    }
}

/// Whether `raw` is the header that the writer would write for a message.
pub(super) fn is_canonical(raw: &str, message: &Message<'_>, rules: &Rules) -> bool {
    let mut compared = Compared { rest: raw, controls: rules.controls };
    header(message, rules, &mut compared).is_ok() && compared.rest.is_empty()
}

/// Compares with a text instead of writing. Contains the rest of the text.
struct Compared<'r> {
    rest: &'r str,
    controls: &'static TokenTable,
}

/// The text is different.
struct Differs;

impl Compared<'_> {
    #[inline(always)]
    fn take(&mut self, text: &str) -> Result<(), Differs> {
        self.rest = self.rest.strip_prefix(text).ok_or(Differs)?;
        Ok(())
    }
}

impl HeaderTarget for Compared<'_> {
    type Error = Differs;

    fn control(&mut self, control: Control) -> Result<(), Differs> {
        self.take(self.controls.spelling(control).unwrap_or_default())
    }

    fn word(&mut self, word: &'static str) -> Result<(), Differs> {
        self.take(word)
    }

    fn value(&mut self, value: &str) -> Result<(), Differs> {
        self.take(value)
    }

    fn end_opening(&mut self) {}

    fn refuse(&self, _: &'static str) -> Differs {
        Differs
    }
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

#[cfg(test)]
mod tests {
    use crate::Control;
    use crate::dialects::{chatml_wire, openchatml_2_0, openchatml_2_2};
    use crate::grammar::frame::Rules;
    use crate::parse;

    /// Whether the reader keeps no layout for a message with this header, in which `^` is
    /// `<|channel|>` and `!` is `<|constrain|>`.
    fn is_canonical(rules: &Rules, header: &str) -> bool {
        let spelled = |control| rules.controls.spelling(control).unwrap_or_default();
        let header = header
            .replace('^', spelled(Control::Channel))
            .replace('!', spelled(Control::Constrain));
        let [start, begin, end] = [Control::Start, Control::Message, Control::End].map(spelled);
        let text = format!("{start}{header}{begin}{end}");
        let format = format!("{}:text", rules.form.name()).parse().expect("a format");
        let conversation = parse(&text, format, &Default::default()).into_conversation();
        let layout = conversation.messages[0].layout.as_deref();
        layout.is_none_or(|layout| layout.header.is_none())
    }

    #[test]
    fn headers_are_kept_where_the_writer_would_write_others() {
        let (v2_2, v2_0) = (&openchatml_2_2::RULES, &openchatml_2_0::RULES);
        let canonical = [
            (v2_2, "developer"),
            (v2_2, "assistant intent=preamble^commentary"),
            (v2_2, "assistant to=functions.f call_id=a content_type=json^final"),
            (v2_2, "assistant to=functions.f call_id=a^commentary!json"),
            (v2_2, "tool name=functions.f call_id=a to=assistant^commentary"),
            (v2_0, "functions.f to=assistant^commentary"),
            (v2_0, "tool name=f to=assistant^commentary"),
            (&chatml_wire::RULES, "system:example_user"),
        ];
        for (rules, header) in canonical {
            assert!(is_canonical(rules, header), "{header}");
        }
        let others = [
            (v2_2, " user"),
            (v2_2, "user "),
            (v2_2, "user  name=a"),
            (v2_2, "user\tname=a"),
            (v2_2, "user name=a call_id=a"),
            (v2_2, "user name=a name=a"),
            (v2_2, "functions.f"),
            (v2_2, "assistant^final to=a"),
            (v2_2, "assistant^final !json"),
            (v2_2, "assistant^final!analysis"),
            (v2_0, "tool name=functions.f to=assistant"),
            (v2_0, "functions.f name=functions.g to=assistant"),
            (&chatml_wire::RULES, "Assistant"),
        ];
        for (rules, header) in others {
            assert!(!is_canonical(rules, header), "{header}");
        }
    }
}
