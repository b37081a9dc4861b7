//! Reads one object: everything that a speaker says at once.

use std::borrow::Cow;

use super::calls;
use crate::document::{DocumentReader, Key, Keys, Others, Speaker, Written, same};
use crate::json::{Data, Json, JsonError, Value};
use crate::model::{Channel, FormId, Intent, Layout, Message, Role};
use crate::services::calls::{Name, name, name_by};
use crate::services::parts::{Piece, pieces};
use crate::services::{
    Declared, Fields, Replies, State, WEIGHT_KEYS, beyond, hide_marked, last_of_each, push_column,
};
use crate::{Code, Span};

type Result<T> = std::result::Result<T, JsonError>;

/// Keys of messages.
pub(crate) const KEYS: &[&str] = &[
    "role",
    "content",
    "tool_calls",
    "tool_call_id",
    "reasoning_content",
    "name",
    "refusal",
    "reasoning",
    "thinking",
    "function_call",
    "author",
    "tool_name",
    "weight",
    "loss",
    "loss_weight",
    "train",
    "trainable",
    "training",
    "train_on_turn",
    "loss_scale",
    // Kept unchanged.
    "audio",
    "annotations",
];

/// Keys that mean the same.
const SAME: &[u64] = &[same(KEYS, &["name", "tool_name"]), same(KEYS, WEIGHT_KEYS)];

/// The fields of an object before its speaker is known.
struct Turn<'a> {
    form: FormId,
    /// The reasoning, and its key.
    reasoning: Option<(&'static str, Written<'a>)>,
    content: Option<Written<'a>>,
    pieces: Vec<Piece<'a>>,
    refusal: Option<Written<'a>>,
    calls: Vec<Message<'a>>,
    /// The deprecated form of a call.
    legacy: Option<Message<'a>>,
    fields: Vec<(Cow<'a, str>, Value<'a>)>,
    /// Whether the assistant says it as audio.
    is_spoken: bool,
    name: Name<'a>,
    author: Option<Cow<'a, str>>,
}

/// Reads one object, whose messages have a layout of this form.
pub(crate) fn read<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
    form: FormId,
) -> Result<()> {
    let mut turn = Turn::new(form);
    let mut message = Message::new(Role::User, "");
    message.in_json = true;
    let (mut speaker, mut weight_key) = (None, "");
    let keys = Keys { known: KEYS, same: SAME, others: Others::Fields(KEYS) };
    let span = reader.object_with(json, &keys, |reader, json, key| {
        let key = match key {
            Key::Known(key) => key,
            Key::Other(key) => return push_column(&mut turn.fields, reader, json, key),
        };
        match key {
            "role" => speaker = role(reader, json)?,
            "content" => turn.content(reader, json, &mut state.declared)?,
            "tool_calls" => {
                turn.calls.clear();
                calls::read(reader, json, &mut turn.calls)?;
            }
            "function_call" => turn.legacy = calls::read_legacy(reader, json)?,
            "tool_call_id" => message.call_id = reader.value(json, key, &mut message)?,
            "name" | "tool_name" => turn.name = name(reader, json, &mut message)?,
            "author" => turn.author = reader.value(json, key, &mut message)?,
            "reasoning_content" | "reasoning" | "thinking" => turn.reasoning(reader, json, key)?,
            "refusal" => turn.refusal = reader.written(json)?,
            key if WEIGHT_KEYS.contains(&key) => {
                message.weight = reader.weight(json)?;
                weight_key = if key == "weight" { "" } else { key };
            }
            _ => push(&mut turn.fields, key, json.value()?),
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(()) };
    turn.calls.extend(turn.legacy.take());
    message.span = span;
    if speaker.is_none() && turn.is_nothing(reader, span) {
        return Ok(());
    }
    let speaker = reader.spoken(speaker, span);
    let first = messages.len();
    let fields = last_of_each(std::mem::take(&mut turn.fields));
    hide_marked(reader, &fields);
    match speaker.role() {
        Some(Role::Assistant) => {
            turn.is_spoken = fields.iter().any(|field| field.0 == "audio");
            turn.unfold(reader, &message, messages);
        }
        role => {
            let message = turn.said_by_another(reader, role, speaker, message, &mut state.replies);
            messages.push(message);
        }
    }
    for call in messages[first..].iter().filter(|message| message.is_call()) {
        state.replies.call(call);
    }
    keep_fields(messages.get_mut(first), fields, weight_key, form);
    Ok(())
}

/// Adds a field, unless it is null.
fn push<'a>(fields: &mut Fields<'a>, key: &'static str, value: Value<'a>) {
    if value.data != Data::Null {
        fields.push((key.into(), value));
    }
}

/// Keeps the other fields of an object with its first message.
fn keep_fields<'a>(
    first: Option<&mut Message<'a>>,
    fields: Fields<'a>,
    weight_key: &'static str,
    form: FormId,
) {
    if let Some(message) = first.filter(|_| !fields.is_empty() || !weight_key.is_empty()) {
        let beyond = beyond(message, form);
        (beyond.fields, beyond.weight_key) = (fields, weight_key);
    }
}

/// Reads the role. `function` is a deprecated role of tools.
fn role<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Option<Speaker<'a>>> {
    let Some((word, span)) = reader.string(json)? else { return Ok(None) };
    Ok(Some(match word.as_ref() {
        "function" => Speaker::known(Role::Tool),
        _ => reader.speaker_of(word, span, false),
    }))
}

impl<'a> Turn<'a> {
    fn new(form: FormId) -> Self {
        Self {
            form,
            reasoning: None,
            content: None,
            pieces: Vec::new(),
            refusal: None,
            calls: Vec::new(),
            legacy: None,
            fields: Vec::new(),
            is_spoken: false,
            name: Name::default(),
            author: None,
        }
    }

    fn content(
        &mut self,
        reader: &mut DocumentReader<'_>,
        json: &mut Json<'a>,
        declared: &mut Declared<'a>,
    ) -> Result<()> {
        (self.content, self.pieces) = (None, Vec::new());
        if json.peek() != Some(b'[') {
            self.content = reader.written(json)?;
            return Ok(());
        }
        if let Data::List(parts) = json.value()?.data {
            self.pieces = pieces(reader, parts, declared);
        }
        Ok(())
    }

    /// Reads reasoning. Some services write the same reasoning under two keys.
    fn reasoning(
        &mut self,
        reader: &mut DocumentReader<'_>,
        json: &mut Json<'a>,
        key: &'static str,
    ) -> Result<()> {
        let start = json.offset();
        if json.peek() == Some(b't') {
            // `true` says that the content is reasoning.
            reader.hide_message();
        }
        let Some(written) = reader.written(json)? else { return Ok(()) };
        match &self.reasoning {
            Some((_, before)) if before.body == written.body || written.is_empty() => {}
            Some((_, before)) if !before.is_empty() => {
                let span = Span::new(start, json.position());
                let found =
                    Code::ParseJson.at(span, "the object has two different reasoning texts");
                reader.drop_value(found.help("this one will be dropped"));
            }
            _ => self.reasoning = Some((key, written)),
        }
        Ok(())
    }

    /// Returns a message of a speaker other than the assistant.
    fn said_by_another(
        self,
        reader: &mut DocumentReader<'_>,
        role: Option<Role>,
        speaker: Speaker<'a>,
        mut message: Message<'a>,
        replies: &mut Replies,
    ) -> Message<'a> {
        let span = message.span;
        let is_extra = |piece: &Piece<'_>| !matches!(piece, Piece::Said(..));
        let reasons = self.reasoning.is_some_and(|(_, written)| !written.is_empty());
        if reasons || !self.calls.is_empty() || self.pieces.iter().any(is_extra) {
            let found =
                Code::ParseJson.at(span, "only the assistant can have reasoning and tool calls");
            reader.drop_value(found.help("the reasoning and the calls will be dropped"));
        }
        let refusal = self.refusal.filter(|written| !written.is_empty());
        match (self.content, joined_text(self.pieces), refusal) {
            (None, None, Some(refusal)) => refusal.say(&mut message),
            (content, parts, refusal) if content.is_some() || parts.is_some() => {
                if let Some(content) = content {
                    content.say(&mut message);
                } else if let Some((content, parts)) = parts {
                    content.say(&mut message);
                    keep(&mut message, parts, self.form);
                }
                if refusal.is_some() {
                    let found = Code::ParseJson.at(span, "only the assistant can have a `refusal`");
                    reader.drop_value(found.help("the `refusal` will be dropped"));
                }
            }
            _ => {
                reader.tolerate(Code::ParseJson.at(span, "the message has no `content`"));
            }
        }
        if role != Some(Role::Tool) && message.call_id.take().is_some() {
            let text = "only a tool reply can have a `tool_call_id`";
            reader.drop_value(Code::ParseJson.at(span, text).help("it will be dropped"));
        }
        let name = name_by(reader, self.name, self.author.as_deref());
        message.name = match role {
            Some(Role::Tool) => {
                message.channel = Some(Channel::Commentary);
                message.recipient = Some("assistant".into());
                replies.name(message.call_id.as_deref(), name, self.author)
            }
            _ => self.author.or(name),
        };
        reader.speak(speaker, &mut message);
        message
    }

    /// Whether an object without a role has no content either. Reports it.
    fn is_nothing(&self, reader: &mut DocumentReader<'_>, span: Span) -> bool {
        let is_nothing = self.reasoning.is_none()
            && self.content.is_none()
            && self.refusal.is_none()
            && self.pieces.is_empty()
            && self.calls.is_empty();
        if is_nothing {
            let text = "the object has no role and no content: it is no message";
            reader.drop_item(Code::ParseJson.at(span, text).help("it will be dropped"));
        }
        is_nothing
    }

    /// Removes empty text if there is anything else.
    fn hush(&mut self) {
        let is_silent = self.reasoning.as_ref().is_none_or(|(_, written)| written.is_empty())
            && self.content.as_ref().is_none_or(Written::is_empty)
            && self.refusal.as_ref().is_none_or(Written::is_empty)
            && self.pieces.is_empty()
            && self.calls.is_empty();
        let (has_content, has_refusal) = (self.content.is_some(), self.refusal.is_some());
        self.reasoning
            .take_if(|(_, it)| it.is_empty() && (!is_silent || has_content || has_refusal));
        self.refusal.take_if(|it| it.is_empty() && (!is_silent || has_content));
        self.content.take_if(|it| it.is_empty() && !is_silent);
    }

    /// Returns the messages of the assistant: reasoning, text and calls.
    fn unfold(
        mut self,
        reader: &mut DocumentReader<'_>,
        like: &Message<'a>,
        messages: &mut Vec<Message<'a>>,
    ) {
        let first = messages.len();
        if like.call_id.is_some() {
            let text = "only a tool reply can have a `tool_call_id`";
            reader.drop_value(Code::ParseJson.at(like.span, text).help("it will be dropped"));
        }
        self.hush();
        let say = |channel, written: Written<'a>| {
            let mut message = Message::new(Role::Assistant, "");
            message.channel = Some(channel);
            message.span = like.span;
            message.in_json = true;
            written.say(&mut message);
            message
        };
        if let Some((key, written)) = self.reasoning {
            let mut message = say(Channel::Analysis, written);
            if key != "reasoning_content" {
                beyond(&mut message, self.form).key = key;
            }
            messages.push(message);
        }
        messages.extend(self.content.map(|written| say(Channel::Final, written)));
        for piece in self.pieces {
            match piece {
                Piece::Calls(calls) => messages.extend(calls),
                Piece::Reasoning(written) => messages.push(say(Channel::Analysis, written)),
                Piece::Said(written, parts) => {
                    let mut message = say(Channel::Final, written);
                    keep(&mut message, parts, self.form);
                    messages.push(message);
                }
            }
        }
        if let Some(written) = self.refusal {
            let mut message = say(Channel::Final, written);
            beyond(&mut message, self.form).key = "refusal";
            messages.push(message);
        }
        messages.extend(self.calls);
        if messages.len() == first && self.is_spoken {
            messages.push(say(Channel::Final, Written::default()));
        }
        if messages.len() == first {
            let found = Code::ParseJson.at(like.span, "the message is empty: it will be dropped");
            reader.drop_item(found.help("add `content`, reasoning or `tool_calls`"));
        }
        let name = name_by(reader, self.name, self.author.as_deref());
        let name = self.author.or(name);
        for message in &mut messages[first..] {
            message.name.clone_from(&name);
            message.weight = like.weight;
            message.recovered |= like.recovered;
        }
        lead(&mut messages[first..]);
    }
}

/// Makes text of the assistant directly before a call a preamble.
fn lead(messages: &mut [Message<'_>]) {
    for at in 1..messages.len() {
        let (before, after) = messages.split_at_mut(at);
        let Some(last) = before.last_mut() else { continue };
        let is_refusal = last.layout.as_deref().and_then(|it| it.beyond.as_deref());
        let is_refusal = is_refusal.is_some_and(|beyond| beyond.key == "refusal");
        if after[0].is_call() && last.is_answer() && !last.body.is_empty() && !is_refusal {
            last.channel = Some(Channel::Commentary);
            last.intent = Some(Intent::Preamble);
        }
    }
}

/// Returns the text if it is the only piece.
fn joined_text(pieces: Vec<Piece<'_>>) -> Option<(Written<'_>, Option<Value<'_>>)> {
    pieces.into_iter().find_map(|piece| match piece {
        Piece::Said(written, parts) => Some((written, parts)),
        _ => None,
    })
}

/// Keeps the original parts of a message.
fn keep<'a>(message: &mut Message<'a>, parts: Option<Value<'a>>, form: FormId) {
    if let Some(parts) = parts {
        let layout = Layout { form, content: Some(parts), ..Layout::default() };
        message.layout = Some(Box::new(layout));
    }
}
