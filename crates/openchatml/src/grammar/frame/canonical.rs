//! Headers that are written in the canonical way, as nearly all are: read at once, with nothing to
//! say about them. `header.rs` reads all the others, and would say the same of these.

use super::{Attribute, RoleWord, Rules, Speaker};
use crate::Span;
use crate::lex::Frame;
use crate::model::{Channel, Intent, Message, Role};
use crate::read::{Keep, Limits};

/// The message that `frame` begins. `None` if the writer would write its header in another way, or
/// if there is anything to report about it.
pub(super) fn message<'a>(
    frame: &Frame<'_>,
    rules: &'static Rules,
    limits: &Limits,
    keep: Keep<'a>,
) -> Option<Message<'a>> {
    let (header, span) = frame.header;
    let (word, attributes) = first_word(header);
    let (role, name) = match (rules.speaker)(word)? {
        Speaker::Role(role) => (role, None),
        Speaker::Named(role, name) => (role, Some(name)),
        Speaker::Legacy(..) | Speaker::Builtin(_) | Speaker::Slip(..) => return None,
    };
    let mut reader = Reader { message: Message::new(role, ""), rules, limits, keep };
    if let Some(name) = name {
        let end = span.start + word.len();
        reader.message.name = Some(keep.text(name, Span::new(end - name.len(), end)));
    }
    if !attributes.is_empty() {
        reader.attributes(attributes, span.end)?;
    }
    let message = &mut reader.message;
    if message.name.is_some() && (name.is_some() || role == Role::Tool) {
        let is_named = !matches!((rules.role_word)(message), RoleWord::Role(_));
        (is_named == name.is_some()).then_some(())?;
    }
    if let Some((_, (word, _))) = frame.channel {
        message.channel = Some(Channel::from_word(word)?);
    }
    if let Some((_, (word, span))) = frame.constrain {
        (message.content_type.is_none() && is_value(word, limits)).then_some(())?;
        message.content_type = Some(keep.text(word, span));
        message.constrained = true;
    }
    Some(reader.message)
}

struct Reader<'a, 'l> {
    message: Message<'a>,
    rules: &'static Rules,
    limits: &'l Limits,
    keep: Keep<'a>,
}

impl Reader<'_, '_> {
    /// Reads the attributes in `text`, which ends at byte `end`: each after one space, and in their
    /// order.
    fn attributes(&mut self, text: &str, end: usize) -> Option<()> {
        let mut order = match self.message.role {
            Role::Tool => self.rules.reply_attributes,
            _ => self.rules.attributes,
        };
        let mut rest = text;
        for _ in 0..self.limits.attributes {
            let (word, next) = first_word(rest.strip_prefix(' ')?);
            rest = next;
            let at = word.bytes().position(|byte| byte == b'=')?;
            let (attribute, value) = (Attribute::from_word(&word[..at])?, &word[at + 1..]);
            let rank = order.iter().position(|one| *one == attribute)?;
            order = &order[rank + 1..];
            let end = end - rest.len();
            self.attribute(attribute, value, Span::new(end - value.len(), end))?;
            if rest.is_empty() {
                return Some(());
            }
        }
        None
    }

    fn attribute(&mut self, attribute: Attribute, value: &str, span: Span) -> Option<()> {
        if !is_value(value, self.limits) {
            return None;
        }
        let message = &mut self.message;
        let slot = match attribute {
            Attribute::To => &mut message.recipient,
            Attribute::CallId => &mut message.call_id,
            Attribute::Name => &mut message.name,
            Attribute::ContentType => &mut message.content_type,
            Attribute::Intent => {
                message.intent = Some(Intent::from_word(value)?);
                return Some(());
            }
        };
        if slot.is_some() {
            return None;
        }
        *slot = Some(self.keep.text(value, span));
        Some(())
    }
}

/// The first word of `text`, and what follows it.
fn first_word(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().position(|byte| byte == b' ').unwrap_or(text.len()))
}

/// Whether `text` is a value about which there is nothing to say.
fn is_value(text: &str, limits: &Limits) -> bool {
    !text.is_empty()
        && text.len() <= limits.value_bytes
        && text.bytes().all(|b| b.is_ascii_graphic())
}
