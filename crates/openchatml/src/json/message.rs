//! What JSON formats say of messages: who speaks, how, and what, within the limits.

use std::borrow::Cow;

use super::reader::Result;
use super::segment::segment;
use super::{Json, Sheet};
use crate::check::Book;
use crate::diagnostic::{did_you_mean, quote};
use crate::model::{Body, Channel, Conversation, End, Intent, Message, Role};
use crate::read::{Parsed, ReadOptions};
use crate::{Code, Span, function_name};

/// Who speaks, as an object says it.
#[derive(Debug)]
pub(crate) struct Speaker<'a> {
    role: Role,
    name: Option<Cow<'a, str>>,
    /// Nobody knows who speaks: the least authority of all, and hidden.
    is_guess: bool,
}

/// What is said, as an object says it.
#[derive(Debug, Default)]
pub(crate) struct Written<'a> {
    pub(crate) body: Body<'a>,
    /// Where the text begins; 0 where it is not the same in JSON as in the message.
    at: usize,
    /// Whether it exceeded `message_bytes`.
    is_cut: bool,
}

impl<'a> Speaker<'a> {
    /// A role that is known.
    pub(crate) fn known(role: Role) -> Self {
        Self { role, name: None, is_guess: false }
    }

    /// Writes the speaker into a message that is complete otherwise.
    pub(crate) fn speak(self, message: &mut Message<'a>) {
        message.role = self.role;
        if let Some(name) = self.name {
            message.name = Some(name);
        }
        if self.is_guess {
            message.channel = Some(Channel::Analysis);
            message.recovered = true;
        }
    }

    /// The role; `None` if it is a guess.
    pub(crate) fn role(&self) -> Option<Role> {
        (!self.is_guess).then_some(self.role)
    }
}

impl<'a> Written<'a> {
    /// Texts as one.
    pub(crate) fn joined(mut texts: Vec<Self>) -> Self {
        if texts.len() < 2 {
            return texts.pop().unwrap_or_default();
        }
        let is_cut = texts.iter().any(|text| text.is_cut);
        let whole: String = texts.iter().map(|text| text.body.text()).collect();
        Self { body: Body::from(whole), at: 0, is_cut }
    }

    /// Text, and where it stands if it is the same there.
    pub(crate) fn new(text: Cow<'a, str>, at: usize) -> Self {
        let at = if matches!(text, Cow::Borrowed(_)) { at } else { 0 };
        Self { body: Body::from(text), at, is_cut: false }
    }

    /// The same, which exceeded `message_bytes` if that is so.
    pub(crate) fn cut(mut self, is_cut: bool) -> Self {
        self.is_cut = is_cut;
        self
    }

    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// The body of `message`.
    pub(crate) fn say(self, message: &mut Message<'a>) {
        message.body = self.body;
        message.body_at = self.at;
        message.recovered |= self.is_cut;
    }
}

impl Sheet<'_> {
    /// Who speaks; with `legacy`, `functions.search` is the tool of that name, too.
    pub(crate) fn speaker<'a>(
        &mut self,
        json: &mut Json<'a>,
        legacy: bool,
    ) -> Result<Option<Speaker<'a>>> {
        let Some((word, span)) = self.string(json)? else { return Ok(None) };
        Ok(Some(self.speaker_of(word, span, legacy)))
    }

    /// The same of a word that is read.
    pub(crate) fn speaker_of<'a>(
        &mut self,
        word: Cow<'a, str>,
        span: Span,
        legacy: bool,
    ) -> Speaker<'a> {
        if let Some(role) = Role::from_word(&word) {
            return Speaker::known(role);
        }
        let is_guess = !(legacy && function_name(&word).is_some());
        if is_guess {
            let text = format!("{} is no role", quote(&word));
            let help = did_you_mean(&word, Role::WORDS, "the message is hidden");
            self.report(Code::ParseJson.at(span, text).help(help));
        }
        Speaker { role: Role::Tool, name: Some(word), is_guess }
    }

    /// The speaker of the object at `span`, which may not have said it.
    pub(crate) fn spoken<'a>(&mut self, speaker: Option<Speaker<'a>>, span: Span) -> Speaker<'a> {
        speaker.unwrap_or_else(|| {
            let place = Span::new(span.start, span.start + 1);
            let found = Code::ParseJson.at(place, "the message has no role");
            self.report(found.help("the message is hidden"));
            Speaker { role: Role::Assistant, name: None, is_guess: true }
        })
    }

    /// Reads what a header says of a message, by the names of the canonical JSON.
    pub(crate) fn field<'a>(
        &mut self,
        json: &mut Json<'a>,
        key: &str,
        message: &mut Message<'a>,
    ) -> Result<()> {
        match key {
            "channel" => self.channel(json, message)?,
            "name" => message.name = self.value(json, key, message)?,
            "recipient" => message.recipient = self.value(json, key, message)?,
            "call_id" => message.call_id = self.value(json, key, message)?,
            "content_type" => message.content_type = self.value(json, key, message)?,
            "intent" => message.intent = self.word(json, key, Intent::WORDS, Intent::from_word)?,
            "constrained" => message.constrained = self.boolean(json)?,
            _ => {
                let end = self.word(json, "end", End::WORDS, End::from_word)?;
                message.end = end.unwrap_or_default();
            }
        }
        Ok(())
    }

    /// The channel of a message. One that nobody knows hides the message, whatever it says.
    fn channel(&mut self, json: &mut Json<'_>, message: &mut Message<'_>) -> Result<()> {
        if json.peek() == Some(b'n') {
            return json.word().map(|_| ());
        }
        let is_hidden = message.recovered && message.channel == Some(Channel::Analysis);
        match self.word(json, "channel", Channel::WORDS, Channel::from_word)? {
            // A message that is hidden already stays so.
            Some(_) if is_hidden => {}
            Some(channel) => message.channel = Some(channel),
            None => {
                message.channel = Some(Channel::Analysis);
                message.recovered = true;
            }
        }
        Ok(())
    }

    /// Reads the value of an attribute, which `message` goes without if it is too long.
    pub(crate) fn value<'a>(
        &mut self,
        json: &mut Json<'a>,
        key: &str,
        message: &mut Message<'_>,
    ) -> Result<Option<Cow<'a, str>>> {
        let Some((value, span)) = self.string(json)? else { return Ok(None) };
        let most = self.options.limits.value_bytes;
        if value.len() <= most {
            return Ok(Some(value));
        }
        let text = format!("`{key}` exceeds the limit `value_bytes` of {most}");
        self.report(Code::Limit.at(span, text).help("it is left out"));
        message.recovered = true;
        if key == "recipient" {
            // It may be no answer to the user.
            message.channel = Some(Channel::Analysis);
        }
        Ok(None)
    }

    /// The messages that the object at `span` stands for, if the text form can say them.
    pub(crate) fn sayable<'a>(
        &mut self,
        messages: std::result::Result<Vec<Message<'a>>, &'static str>,
        span: Span,
    ) -> Vec<Message<'a>> {
        messages.unwrap_or_else(|text| {
            let help = "the text form has no place for this; the object is left out";
            self.report(Code::ParseJson.at(span, text).help(help));
            Vec::new()
        })
    }

    /// Reads an object that stands for messages, up to the limit `messages`.
    pub(crate) fn message<'a>(
        &mut self,
        json: &mut Json<'a>,
        messages: &mut Vec<Message<'a>>,
        item: impl FnOnce(&mut Self, &mut Json<'a>, &mut Vec<Message<'a>>) -> Result<()>,
    ) -> Result<()> {
        let start = json.offset();
        item(self, json, messages)?;
        if messages.len() > self.options.limits.messages {
            messages.truncate(self.options.limits.messages);
            self.too_many(start, json);
        }
        Ok(())
    }

    /// Reads an array of objects that each stand for messages, up to the limit `messages`.
    pub(crate) fn messages<'a>(
        &mut self,
        json: &mut Json<'a>,
        messages: &mut Vec<Message<'a>>,
        mut item: impl FnMut(&mut Self, &mut Json<'a>, &mut Vec<Message<'a>>) -> Result<()>,
    ) -> Result<()> {
        let most = self.options.limits.messages;
        let mut too_many = None;
        self.array(json, |sheet, json| {
            let start = json.offset();
            if messages.len() >= most {
                too_many.get_or_insert(start);
                return json.skip();
            }
            item(sheet, json, messages)?;
            if messages.len() > most {
                too_many.get_or_insert(start);
                messages.truncate(most);
            }
            Ok(())
        })?;
        if let Some(start) = too_many {
            self.too_many(start, json);
        }
        Ok(())
    }

    /// Reports that there are too many messages, from byte `start` on.
    fn too_many(&mut self, start: usize, json: &Json<'_>) {
        let most = self.options.limits.messages;
        let text = format!("the conversation exceeds the limit `messages` of {most}");
        let span = Span::new(start, json.position());
        self.report(Code::Limit.at(span, text).help("the rest is left out"));
    }

    /// Reads the text of a body.
    pub(crate) fn written<'a>(&mut self, json: &mut Json<'a>) -> Result<Option<Written<'a>>> {
        let start = json.offset() + 1;
        Ok(self.long_text(json)?.map(|(text, is_cut)| {
            let at = if matches!(text, Cow::Borrowed(_)) { start } else { 0 };
            Written { body: Body::from(text), at, is_cut }
        }))
    }

    /// Reads a message that is a string.
    pub(crate) fn said<'a>(
        &mut self,
        json: &mut Json<'a>,
        role: Role,
    ) -> Result<Option<Message<'a>>> {
        let start = json.offset();
        let written = self.written(json)?;
        Ok(written.map(|written| {
            let mut message = Message::new(role, "");
            message.in_json = true;
            message.span = Span::new(start, json.position());
            written.say(&mut message);
            message
        }))
    }

    /// Reads text up to the limit `message_bytes`, and whether it exceeds that.
    pub(crate) fn long_text<'a>(
        &mut self,
        json: &mut Json<'a>,
    ) -> Result<Option<(Cow<'a, str>, bool)>> {
        let Some((text, span)) = self.string(json)? else { return Ok(None) };
        Ok(Some(self.limited(text, span)))
    }

    /// Text that stands at `span` up to the limit `message_bytes`, and whether it exceeds that.
    #[inline]
    pub(crate) fn limited<'a>(&mut self, text: Cow<'a, str>, span: Span) -> (Cow<'a, str>, bool) {
        if text.len() <= self.options.limits.message_bytes {
            return (text, false);
        }
        let mut room = Room::new(self.options.limits.message_bytes);
        let text = room.take(text);
        self.exceeds(room.is_exceeded, span);
        (text, room.is_exceeded)
    }

    /// Reads the text of a body, or its segments where there is more than plain text.
    pub(crate) fn content<'a>(&mut self, json: &mut Json<'a>) -> Result<Option<Written<'a>>> {
        match json.peek() {
            Some(b'"' | b'n') => self.written(json),
            Some(b'[') => {
                let start = json.offset();
                let mut room = Room::new(self.options.limits.message_bytes);
                let mut segments = Vec::new();
                self.array(json, |sheet, json| {
                    segments.extend(segment(sheet, json, &mut room)?);
                    Ok(())
                })?;
                let is_cut = room.is_exceeded;
                self.exceeds(is_cut, Span::new(start, json.position()));
                Ok(Some(Written { body: Body::from_segments(segments), at: 0, is_cut }))
            }
            _ => self.wrong(json, "a string or an array of segments").map(|()| None),
        }
    }

    fn exceeds(&mut self, is_cut: bool, span: Span) {
        if is_cut {
            let most = self.options.limits.message_bytes;
            let text = format!("the text exceeds the limit `message_bytes` of {most}");
            self.report(Code::Limit.at(span, text).help("what exceeds it was left out"));
        }
    }
}

/// Reads a document that is an object that stands for messages, or an array of such objects.
pub(crate) fn read_messages<'a>(
    text: &'a str,
    options: &ReadOptions,
    book: &'static Book,
    item: impl FnMut(&mut Sheet<'_>, &mut Json<'a>, &mut Vec<Message<'a>>) -> Result<()>,
) -> Parsed<'a> {
    let mut sheet = Sheet::new(options);
    let mut json = sheet.json(text);
    let mut conversation = Conversation::default();
    let messages = &mut conversation.messages;
    let read = match json.peek() {
        Some(b'{') => sheet.message(&mut json, messages, item),
        _ => sheet.messages(&mut json, messages, item),
    };
    sheet.finish(json, read, conversation.into(), |_| Some(book))
}

/// What is left of the limit `message_bytes`.
pub(super) struct Room {
    left: usize,
    is_exceeded: bool,
}

impl Room {
    fn new(left: usize) -> Self {
        Self { left, is_exceeded: false }
    }

    /// What there is room for of `text`.
    pub(super) fn take<'a>(&mut self, text: Cow<'a, str>) -> Cow<'a, str> {
        let kept = text.floor_char_boundary(self.left);
        self.left -= kept;
        if kept == text.len() {
            return text;
        }
        self.is_exceeded = true;
        self.left = 0;
        match text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[..kept]),
            Cow::Owned(text) => Cow::Owned(text[..kept].to_owned()),
        }
    }
}
