//! Joins the reasoning, text and calls of the assistant into objects. Each object has as many
//! messages as will be read back unchanged.

use super::calls;
use crate::Code;
use crate::document::write_string_field;
use crate::json::{write_string, write_value};
use crate::model::{FormId, Message, Role};
use crate::services::{Replies, beyond_of, content_of, joins, write_fields};
use crate::writing::RenderError;

type Result<T> = std::result::Result<T, RenderError>;

/// Writes messages in order. The messages of several lists are those of one conversation.
#[derive(Clone, Debug)]
pub(crate) struct ChatWriter {
    form: FormId,
    replies: Replies,
}

impl ChatWriter {
    /// Creates a writer of messages with a layout of this form.
    pub(crate) fn new(form: FormId) -> Self {
        Self { form, replies: Replies::default() }
    }

    /// Writes the objects of a list. Returns their number.
    ///
    /// # Errors
    ///
    /// A preamble without a call after it.
    pub(crate) fn messages(&mut self, out: &mut String, messages: &[Message<'_>]) -> Result<usize> {
        let mut rest = messages;
        let mut count = 0;
        while let Some((first, others)) = rest.split_first() {
            if rest.len() < messages.len() {
                out.push(',');
            }
            rest = match first.role {
                Role::Assistant => self.turn(out, rest, messages.len() - rest.len())?,
                _ => {
                    self.other(out, first);
                    others
                }
            };
            count += 1;
        }
        Ok(count)
    }

    fn other(&mut self, out: &mut String, message: &Message<'_>) {
        out.push_str(r#"{"role":""#);
        out.push_str(message.role.as_str());
        out.push('"');
        let (name, author) = match message.role {
            Role::Tool => self.replies.identify(message),
            _ => (message.name.as_deref(), None),
        };
        write_string_field(out, "name", name);
        write_string_field(out, "author", author);
        write_string_field(out, "tool_call_id", message.call_id.as_deref());
        content(out, message, self.form);
        write_fields(out, message, self.form);
        out.push('}');
    }

    /// Writes the longest turn that begins here. Returns the messages after it.
    fn turn<'m, 'a>(
        &mut self,
        out: &mut String,
        messages: &'m [Message<'a>],
        index: usize,
    ) -> Result<&'m [Message<'a>]> {
        let turn = Turn::of(messages, self.form);
        if let Some(text_message) = turn
            .content
            .filter(|text_message| text_message.is_commentary() && turn.calls.is_empty())
        {
            let at = messages.iter().position(|message| std::ptr::eq(message, text_message));
            let text = format!("`{}` supports preambles only before calls", self.form.name());
            let index = index + at.unwrap_or_default();
            return Err(RenderError::new(Code::RenderUnsupported, Some(index), text));
        }
        out.push_str(r#"{"role":"assistant""#);
        write_string_field(out, "name", messages.first().and_then(|it| it.name.as_deref()));
        if let Some(reasoning) = turn.reasoning {
            let key = beyond_of(reasoning, self.form).map_or("", |beyond| beyond.key);
            // A hidden refusal is not a refusal any more.
            let key = if matches!(key, "" | "refusal") { "reasoning_content" } else { key };
            write_string_field(out, key, Some(&reasoning.body.text()));
        }
        if let Some(text_message) = turn.content {
            content(out, text_message, self.form);
        }
        write_string_field(out, "refusal", turn.refusal.map(|it| it.body.text()).as_deref());
        for (at, call) in turn.calls.iter().enumerate() {
            out.push_str(if at == 0 { ",\"tool_calls\":[" } else { "," });
            calls::write(out, call);
            self.replies.call(call);
        }
        out.push_str(if turn.calls.is_empty() { "" } else { "]" });
        if let Some(first) = messages.first() {
            write_fields(out, first, self.form);
        }
        out.push('}');
        Ok(&messages[turn.len()..])
    }
}

/// The messages of one object.
pub(super) struct Turn<'m, 'a> {
    reasoning: Option<&'m Message<'a>>,
    content: Option<&'m Message<'a>>,
    refusal: Option<&'m Message<'a>>,
    calls: &'m [Message<'a>],
}

impl<'m, 'a> Turn<'m, 'a> {
    /// Returns the longest turn at the front of `messages`. Empty text must be alone, or it would
    /// be read as missing.
    pub(super) fn of(messages: &'m [Message<'a>], form: FormId) -> Self {
        let mut turn = Turn { reasoning: None, content: None, refusal: None, calls: &[] };
        let joins = |message: &&Message<'_>| joins(message, &messages[0], form);
        let mut rest = messages;
        turn.reasoning = rest.first().filter(|first| first.is_reasoning());
        if turn.reasoning.is_some() {
            rest = &rest[1..];
            if messages[0].body.is_empty() {
                return turn;
            }
        }
        let is_said = |it: &&Message<'_>| it.is_answer() || it.is_commentary();
        let text_message =
            rest.first().filter(joins).filter(is_said).filter(|it| !is_refusal(it, form));
        if let Some(text_message) =
            text_message.filter(|it| turn.reasoning.is_none() || !is_silent(it, form))
        {
            turn.content = Some(text_message);
            rest = &rest[1..];
            if is_silent(text_message, form) {
                return turn;
            }
        }
        let is_preamble = turn.content.is_some_and(Message::is_commentary);
        let refusal =
            rest.first().filter(joins).filter(|it| it.is_answer() && is_refusal(it, form));
        let is_alone = turn.reasoning.is_none() && turn.content.is_none();
        let refusal = refusal.filter(|it| !is_preamble && (is_alone || !it.body.is_empty()));
        if refusal.is_some() {
            turn.refusal = refusal;
            rest = &rest[1..];
            if turn.content.is_some() || refusal.is_some_and(|it| it.body.is_empty()) {
                return turn;
            }
        }
        if turn.content.is_none() || is_preamble {
            let count = rest.iter().take_while(|it| joins(it) && it.is_call()).count();
            turn.calls = &rest[..count];
        }
        turn
    }

    pub(super) fn calls(&self) -> &'m [Message<'a>] {
        self.calls
    }

    /// Whether it is nothing but reasoning.
    pub(super) fn is_reasoning(&self) -> bool {
        self.reasoning.is_some() && self.len() == 1
    }

    pub(super) fn len(&self) -> usize {
        let texts = [self.reasoning, self.content, self.refusal];
        texts.into_iter().flatten().count() + self.calls.len()
    }
}

/// Whether the content of a message would be read as missing.
fn is_silent(message: &Message<'_>, form: FormId) -> bool {
    message.body.is_empty() && content_of(message, form, "").is_none()
}

fn is_refusal(message: &Message<'_>, form: FormId) -> bool {
    beyond_of(message, form).is_some_and(|beyond| beyond.key == "refusal")
}

fn content(out: &mut String, message: &Message<'_>, form: FormId) {
    out.push_str(",\"content\":");
    match content_of(message, form, "") {
        Some(content) => write_value(out, content),
        None => write_string(out, &message.body.text()),
    }
}
