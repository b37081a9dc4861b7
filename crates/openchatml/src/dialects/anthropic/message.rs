//! Reads one object: a turn of the user or of the assistant.

use super::FORM;
use super::block::{Block, Said, list, refuse, said, say};
use crate::document::{DocumentReader, Speaker, Written};
use crate::json::{Data, Json, JsonError, Value};
use crate::model::{Channel, Intent, Message, Role};
use crate::services::parts::{Kind, text};
use crate::services::{Fields, State, beyond};
use crate::{Code, Span};

type Result<T> = std::result::Result<T, JsonError>;

pub(super) const KEYS: &[&str] = &[
    "role",
    "content",
    // A response.
    "type",
    "id",
    "model",
    "stop_reason",
    "stop_sequence",
    "stop_details",
    "usage",
    "container",
    "context_management",
    "diagnostics",
];

/// Keeps data that only the service uses.
pub(super) fn keep<'a>(
    json: &mut Json<'a>,
    key: &'static str,
    fields: &mut Fields<'a>,
) -> Result<()> {
    let value = json.value()?;
    fields.retain(|field| field.0 != key);
    if value.data != Data::Null {
        fields.push((key.into(), value));
    }
    Ok(())
}

/// The content of an object, before its speaker is known.
enum Content<'a> {
    Text(Written<'a>),
    Blocks(Vec<Block<'a>>),
}

pub(super) fn read<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    let (mut speaker, mut content, mut is_response) = (None, None, false);
    let mut fields = Fields::new();
    let span = reader.object(json, KEYS, |reader, json, key| {
        match key {
            "role" => speaker = role(reader, json)?,
            "content" if json.peek() == Some(b'[') => {
                content = Some(Content::Blocks(list(reader, json)?));
            }
            "content" => content = reader.written(json)?.map(Content::Text),
            "type" => {
                let of = |word: &str| (word == "message").then_some(());
                is_response = reader.word(json, "object type", &["message"], of)?.is_some();
            }
            _ => {
                let value = json.value()?;
                fields.retain(|field| field.0 != key);
                fields.push((key.into(), value));
            }
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(()) };
    let first = messages.len();
    let speaker = reader.spoken(speaker, span);
    let mut turn = Turn { reader, messages, state, span };
    match (speaker.role(), content) {
        (role, None) => turn.lacks_content(role, speaker),
        (Some(Role::Assistant), Some(content)) => turn.of_assistant(content),
        (_, Some(content)) => turn.of_another(speaker, content),
    }
    if let Some(message) = messages.get_mut(first).filter(|_| is_response || !fields.is_empty()) {
        // The messages of the object are those inside of its place.
        message.span = span;
        let beyond = beyond(message, FORM);
        beyond.fields.append(&mut fields);
        beyond.key = if is_response { "message" } else { "" };
    }
    Ok(())
}

/// Reads the role. The API has no `developer`, and no role for tools.
fn role<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Option<Speaker<'a>>> {
    let Some((word, span)) = reader.string(json)? else { return Ok(None) };
    let instead = match word.as_ref() {
        "developer" => Some("write `system`"),
        "tool" => Some("write a `tool_result` block in a message of the user"),
        _ => None,
    };
    if let Some(instead) = instead {
        let found = Code::ParseJson.at(span, "this role is not one of the Messages API");
        reader.tolerate(found.help(instead));
    }
    Ok(Some(reader.speaker_of(word, span, false)))
}

/// The messages of one object.
struct Turn<'t, 'o, 'a> {
    reader: &'t mut DocumentReader<'o>,
    messages: &'t mut Vec<Message<'a>>,
    state: &'t mut State<'a>,
    span: Span,
}

impl<'a> Turn<'_, '_, 'a> {
    fn lacks_content(&mut self, role: Option<Role>, speaker: Speaker<'a>) {
        if role == Some(Role::Assistant) {
            let found = Code::ParseJson.at(self.span, "the message is empty: it will be dropped");
            return self.reader.drop_item(found.help("add `content`"));
        }
        self.reader.tolerate(Code::ParseJson.at(self.span, "the message has no `content`"));
        self.push_of(speaker, (Written::default(), None));
    }

    fn message(&self, role: Role) -> Message<'a> {
        let mut message = Message::new(role, "");
        message.span = self.span;
        message.in_json = true;
        message
    }

    /// Adds a message of a speaker other than the assistant.
    fn push_of(&mut self, speaker: Speaker<'a>, said: Said<'a>) {
        let mut message = self.message(Role::User);
        say(said, &mut message);
        if speaker.role() == Some(Role::Tool) {
            message.channel = Some(Channel::Commentary);
            message.recipient = Some("assistant".into());
            message.name = self.state.replies.name(None, None, None);
        }
        self.reader.speak(speaker, &mut message);
        self.messages.push(message);
    }

    /// Reads what the user or the system says, and the results of calls.
    fn of_another(&mut self, speaker: Speaker<'a>, content: Content<'a>) {
        let blocks = match content {
            Content::Text(written) => return self.push_of(speaker, (written, None)),
            Content::Blocks(blocks) => blocks,
        };
        let first = self.messages.len();
        let (role, count) = (speaker.role(), blocks.len());
        let mut parts = Vec::new();
        let mut has_said = false;
        for block in blocks {
            match block {
                Block::Part(part) if is_of_user(&part) => parts.push(part),
                Block::Result(reply, name, author) if role == Some(Role::User) => {
                    has_said |= self.flush(role, &mut parts, count);
                    if has_said {
                        let text = "the results of calls must come first in a message";
                        let found = Code::ParseJson.at(reply.span, text);
                        refuse(self.reader, found.help("move them before the other blocks"));
                    }
                    self.reply(reply, name, author);
                }
                Block::Part(Value { span, .. }) => self.only("the user", "text and media", span),
                Block::Thinking(message) | Block::Call(message) => {
                    self.only("the assistant", "thinking and calls", message.span);
                }
                Block::Result(message, ..) => self.only("the user", "results", message.span),
            }
        }
        let is_last = self.messages.len() == first;
        if is_last || !parts.is_empty() {
            let is_silent = matches!(&parts[..], [part] if is_silent(part));
            if is_last || !is_silent {
                let said = said(self.reader, parts).unwrap_or_default();
                self.push_of(speaker, said);
            }
        }
    }

    /// Adds a message of the user with the blocks so far. Returns whether there is one.
    fn flush(&mut self, role: Option<Role>, parts: &mut Vec<Value<'a>>, count: usize) -> bool {
        let parts = std::mem::take(parts);
        if matches!(&parts[..], [part] if count > 1 && is_silent(part)) {
            return false;
        }
        let Some(said) = said(self.reader, parts) else { return false };
        self.push_of(Speaker::known(role.unwrap_or(Role::User)), said);
        true
    }

    fn only(&mut self, speaker: &str, what: &str, span: Span) {
        let text = format!("only {speaker} can have {what}");
        let found = Code::ParseJson.at(span, text);
        self.reader.drop_item(found.help("the block will be dropped"));
    }

    fn reply(
        &mut self,
        mut reply: Message<'a>,
        name: Option<std::borrow::Cow<'a, str>>,
        author: Option<std::borrow::Cow<'a, str>>,
    ) {
        reply.name = self.state.replies.name(reply.call_id.as_deref(), name, author);
        self.messages.push(reply);
    }

    /// Reads what the assistant thinks, says and calls.
    fn of_assistant(&mut self, content: Content<'a>) {
        let first = self.messages.len();
        let blocks = match content {
            Content::Text(written) => {
                self.answer((written, None));
                return;
            }
            Content::Blocks(blocks) => blocks,
        };
        let is_single = blocks.len() == 1;
        let (mut parts, mut items) = (Vec::new(), Vec::new());
        for block in blocks {
            let is_text = |part: &Value<'_>| Kind::of(part) == Kind::Text && text(part).is_some();
            match block {
                Block::Part(part) if is_text(&part) => {
                    if is_single || !is_silent(&part) {
                        parts.push(part);
                    }
                    continue;
                }
                Block::Result(message, ..) => {
                    self.only("the user", "results of calls", message.span);
                    continue;
                }
                _ => {}
            }
            self.said(&mut parts, &mut items);
            match block {
                Block::Part(item) => items.push(item),
                Block::Thinking(message) => self.push(message, &mut items),
                Block::Call(call) => {
                    self.state.replies.call(&call);
                    self.push(call, &mut items);
                }
                Block::Result(..) => {}
            }
        }
        self.said(&mut parts, &mut items);
        if self.messages.len() == first {
            // Nothing but other blocks, or none at all.
            let nothing = Value { data: Data::List(Vec::new()), span: self.span };
            self.answer((Written::default(), Some(nothing)));
        }
        if !items.is_empty()
            && let Some(last) = self.messages.last_mut()
        {
            beyond(last, FORM).after = items;
        }
        lead(&mut self.messages[first..]);
    }

    /// Adds an answer with the blocks so far, if there are any.
    fn said(&mut self, parts: &mut Vec<Value<'a>>, items: &mut Vec<Value<'a>>) {
        if let Some(said) = said(self.reader, std::mem::take(parts)) {
            self.answer(said);
            self.hold(items);
        }
    }

    fn answer(&mut self, said: Said<'a>) {
        let mut message = self.message(Role::Assistant);
        message.channel = Some(Channel::Final);
        say(said, &mut message);
        self.messages.push(message);
    }

    fn push(&mut self, message: Message<'a>, items: &mut Vec<Value<'a>>) {
        self.messages.push(message);
        self.hold(items);
    }

    /// Keeps the blocks before the last message with it.
    fn hold(&mut self, items: &mut Vec<Value<'a>>) {
        if !items.is_empty()
            && let Some(last) = self.messages.last_mut()
        {
            beyond(last, FORM).items = std::mem::take(items);
        }
    }
}

/// Whether a block is text or a medium, which the user and the system can have.
fn is_of_user(part: &Value<'_>) -> bool {
    matches!(Kind::of(part), Kind::Text | Kind::Other(_))
}

/// Whether a block is empty text and nothing else.
fn is_silent(part: &Value<'_>) -> bool {
    let is_plain = |key: &str| matches!(key, "type" | "text");
    let fields = part.as_map().unwrap_or_default();
    Kind::of(part) == Kind::Text
        && text(part) == Some("")
        && fields.iter().all(|field| is_plain(&field.0))
}

/// Makes text of the assistant directly before a call a preamble.
fn lead(messages: &mut [Message<'_>]) {
    for at in 1..messages.len() {
        let (before, after) = messages.split_at_mut(at);
        let Some(said) = before.last_mut() else { continue };
        if after[0].is_call() && said.is_answer() && !said.body.is_empty() {
            said.channel = Some(Channel::Commentary);
            said.intent = Some(Intent::Preamble);
        }
    }
}
