//! Reads headers in canonical form, as nearly all are, in one pass. `header.rs` reads all other
//! headers, and would give the same result for these.

use super::attribute::may_hide;
use super::{Attribute, RoleWord, Rules, Speaker, TypeStyle};
use crate::Span;
use crate::header::is_builtin_tool;
use crate::lex::Frame;
use crate::limits::Limits;
use crate::model::{Channel, Intent, Message, Role};
use crate::reading::Keep;

/// Returns the message of `frame`, or `None` if its header is not canonical or would give a
/// diagnostic.
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
        Speaker::Addressed(name) if header.contains(" to=") => (Role::Tool, Some(name)),
        Speaker::Legacy(..) | Speaker::Builtin(_) | Speaker::Addressed(_) | Speaker::Slip(..) => {
            return None;
        }
    };
    let mut reader = Reader { message: Message::new(role, ""), rules, limits, keep };
    if let Some(name) = name {
        // Any white space ends a word, not only the space that is searched here.
        is_value(name, limits).then_some(())?;
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
    if let Some((_, (text, span))) = frame.channel {
        let (word, rest) = match rules.type_style {
            TypeStyle::Attribute => (text, ""),
            TypeStyle::Word => first_word(text),
        };
        message.channel = Some(Channel::from_word(word)?);
        if rules.type_style == TypeStyle::Word {
            reader.type_after(rest, span.end, frame.constrain.is_some())?;
        }
    } else if rules.type_style == TypeStyle::Word && frame.constrain.is_some() {
        return None;
    }
    let message = &mut reader.message;
    if let Some((_, (word, span))) = frame.constrain {
        (message.content_type.is_none() && is_value(word, limits)).then_some(())?;
        message.content_type = Some(keep.text(word, span));
        message.constrained = true;
    }
    (rules.settle)(message);
    // The other reader reports its errors.
    (!message.recovered).then_some(reader.message)
}

struct Reader<'a, 'l> {
    message: Message<'a>,
    rules: &'static Rules,
    limits: &'l Limits,
    keep: Keep<'a>,
}

impl Reader<'_, '_> {
    /// Reads the attributes in `text`, which ends at byte `end`: each after one space, in order.
    fn attributes(&mut self, text: &str, end: usize) -> Option<()> {
        let mut order = match self.message.role {
            Role::Tool => self.rules.reply_attributes,
            _ => self.rules.attributes,
        };
        let mut rest = text;
        for _ in 0..self.limits.attributes {
            let words = rest.strip_prefix(' ')?;
            let named =
                |attribute: &Attribute| words.strip_prefix(attribute.as_str())?.strip_prefix('=');
            let (rank, words) = order.iter().map(named).enumerate().find(|it| it.1.is_some())?;
            let attribute = order[rank];
            order = &order[rank + 1..];
            let (value, next) = first_word(words?);
            rest = next;
            let end = end - rest.len();
            self.attribute(attribute, value, Span::new(end - value.len(), end))?;
            if rest.is_empty() {
                return Some(());
            }
        }
        None
    }

    /// Reads the text after a channel: a space before a constraint, or the content type.
    fn type_after(&mut self, text: &str, end: usize, is_constraint: bool) -> Option<()> {
        match text.strip_prefix(' ') {
            None | Some("") => ((text == " ") == is_constraint).then_some(()),
            Some(word) => {
                let speaks = matches!(self.message.role, Role::Assistant | Role::Tool);
                let is_type = word.bytes().all(|byte| byte.is_ascii_lowercase());
                let is_type = is_type && !may_hide(word);
                if is_constraint || !speaks || !is_type || is_builtin_tool(word) {
                    return None;
                }
                let span = Span::new(end - word.len(), end);
                is_value(word, self.limits).then_some(())?;
                self.message.content_type = Some(self.keep.text(word, span));
                Some(())
            }
        }
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

/// Returns the first word of `text`, and the text after it.
fn first_word(text: &str) -> (&str, &str) {
    text.split_at(memchr::memchr(b' ', text.as_bytes()).unwrap_or(text.len()))
}

/// Whether `text` is a valid value.
fn is_value(text: &str, limits: &Limits) -> bool {
    !text.is_empty()
        && text.len() <= limits.value_bytes
        // Without an early exit, this processes many bytes at once.
        && text.bytes().fold(true, |all, byte| all & byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::message;
    use crate::lex::{Lexer, Mode};
    use crate::limits::Limits;
    use crate::model::Message;
    use crate::reading::Keep;
    use crate::{Document, ReadOptions, parse};

    /// What a frame with this header is read as, by these rules. The header has `^` for
    /// `<|channel|>` and `!` for `<|constrain|>`.
    fn read(
        rules: &'static super::Rules,
        limits: &Limits,
        header: &str,
    ) -> Option<Message<'static>> {
        let spelled = |control| rules.controls.spelling(control).unwrap_or_default();
        let header = header
            .replace('^', spelled(crate::Control::Channel))
            .replace('!', spelled(crate::Control::Constrain));
        let [start, begin, end] =
            [crate::Control::Start, crate::Control::Message, crate::Control::End].map(spelled);
        let text = format!("{start}{header}{begin}{end}");
        let mut lexer = Lexer::new(rules.controls, Mode::Outside, 0);
        let frame = lexer.frame(&mut text.as_str(), usize::MAX).expect("a frame");
        let read = message(&frame, rules, limits, Keep::Whole(&text));
        if let Some(it) = &read {
            let values = [&it.name, &it.recipient, &it.call_id, &it.content_type];
            let owned = |value: &&Option<Cow<'_, str>>| matches!(value, Some(Cow::Owned(_)));
            assert!(!values.iter().any(owned), "{text} is copied");
        }
        let read = read.map(Message::into_owned);
        if let Some(message) = &read {
            // Byte by byte it is read the long way.
            let format = rules.form.name().parse().expect("a text format");
            let mut stream = crate::Stream::new(format, &ReadOptions::default());
            let mut same = false;
            let mut compare = |event: crate::Event<'_>| {
                if let crate::Event::MessageDone { message: other, .. } = event {
                    same = *other == *message;
                }
            };
            text.as_bytes().chunks(1).for_each(|byte| stream.feed_with(byte, &mut compare));
            stream.finish_with(&mut compare);
            assert!(same, "{text} is not {message:?}");
            let document = parse(&text, format.into(), &ReadOptions::default()).document;
            assert_eq!(
                document,
                Document::from(crate::Conversation::from_messages([message.clone()]))
            );
        }
        read
    }

    #[test]
    fn what_the_writer_writes_is_read_at_once() {
        use crate::dialects::{chatml, openchatml_2_0, openchatml_2_2};
        let limits = Limits::default();
        let cases = [
            (&openchatml_2_2::RULES, "developer"),
            (&openchatml_2_2::RULES, "assistant^commentary"),
            (&openchatml_2_2::RULES, "assistant intent=preamble^commentary"),
            (&openchatml_2_2::RULES, "assistant to=functions.f call_id=a content_type=json^final"),
            (&openchatml_2_2::RULES, "assistant to=functions.f call_id=a^commentary!json"),
            (&openchatml_2_2::RULES, "tool name=functions.f call_id=a to=assistant^commentary"),
            (&openchatml_2_0::RULES, "functions.f to=assistant^commentary"),
            (&openchatml_2_0::RULES, "tool name=f to=assistant^commentary"),
            (&chatml::RULES, "system:example_user"),
            (&chatml::RULES, "assistant"),
        ];
        for (rules, header) in cases {
            let message = read(rules, &limits, header);
            let message = message.unwrap_or_else(|| panic!("{header} is not canonical"));
            assert!(!message.recovered);
        }
        let name = read(&openchatml_2_0::RULES, &limits, "functions.f").and_then(|it| it.name);
        assert_eq!(name.as_deref(), Some("functions.f"));
    }

    #[test]
    fn all_else_is_left_to_a_closer_look() {
        use crate::dialects::{chatml, openchatml_2_0, openchatml_2_2};
        let limits = Limits { value_bytes: 4, attributes: 2, ..Limits::default() };
        let cases = [
            (&openchatml_2_2::RULES, ""),
            (&openchatml_2_2::RULES, " user"),
            (&openchatml_2_2::RULES, "user "),
            (&openchatml_2_2::RULES, "User"),
            (&openchatml_2_2::RULES, "functions.f"),
            (&openchatml_2_2::RULES, "python"),
            (&openchatml_2_2::RULES, "user name"),
            (&openchatml_2_2::RULES, "user  name=a"),
            (&openchatml_2_2::RULES, "user name=a "),
            (&openchatml_2_2::RULES, "user name="),
            (&openchatml_2_2::RULES, "user name=abcde"),
            (&openchatml_2_2::RULES, "user name=a\tb"),
            (&openchatml_2_2::RULES, "user name=a name=a"),
            (&openchatml_2_2::RULES, "user call_id=a to=b"),
            (&openchatml_2_2::RULES, "user to=b call_id=a name=c"),
            (&openchatml_2_2::RULES, "user intent=x"),
            (&openchatml_2_2::RULES, "user other=x"),
            (&openchatml_2_2::RULES, "assistant^"),
            (&openchatml_2_2::RULES, "assistant^Final"),
            (&openchatml_2_2::RULES, "assistant^final to=a"),
            (&openchatml_2_2::RULES, "assistant content_type=json!json"),
            (&openchatml_2_2::RULES, "assistant^final!"),
            (&openchatml_2_2::RULES, "assistant^final!a b"),
            (&openchatml_2_0::RULES, "assistant call_id=a"),
            (&openchatml_2_0::RULES, "tool name=functions.f to=a"),
            (&openchatml_2_0::RULES, "functions.f name=a"),
            (&openchatml_2_0::RULES, "functions.f\ng to=a"),
            (&chatml::RULES, "Assistant"),
            (&chatml::RULES, "assistant:example_user"),
        ];
        for (rules, header) in cases {
            assert!(read(rules, &limits, header).is_none(), "{header}");
        }
    }
}
