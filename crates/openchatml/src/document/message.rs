//! What JSON formats say of messages: who speaks, how, and what, within the limits.

use std::borrow::Cow;

use super::Sheet;
use super::segment::segment;
use crate::diagnostic::{did_you_mean, quote};
use crate::json::{Json, Result};
use crate::model::{Body, Channel, End, Intent, Message, Role, Segment, Visibility};
use crate::reading::hide;
use crate::writing::check_value;
use crate::{Code, Dropped, Span, function_name};

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
    /// Its first chain-of-thought marker.
    marker: Option<Box<MarkerPlace>>,
}

/// Where a chain-of-thought marker stands.
#[derive(Debug)]
pub(crate) struct MarkerPlace {
    span: Span,
    pointer: String,
}

impl<'a> Speaker<'a> {
    /// A role that is known.
    pub(crate) fn known(role: Role) -> Self {
        Self { role, name: None, is_guess: false }
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
        Self { body: Body::from(whole), is_cut, ..Self::default() }
    }

    /// Text, and where it stands if it is the same there.
    pub(crate) fn new(text: Cow<'a, str>, at: usize) -> Self {
        let at = if matches!(text, Cow::Borrowed(_)) { at } else { 0 };
        Self { body: Body::from(text), at, ..Self::default() }
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

    /// Its first chain-of-thought marker, which is to be [placed](Sheet::place_marker).
    pub(crate) fn take_marker(&mut self) -> Option<Box<MarkerPlace>> {
        self.marker.take()
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

    /// Writes the speaker into a message that is complete otherwise.
    ///
    /// A message has one name. Where the role names a tool, or is no role, and `name` says something
    /// else, the word of the role is kept as one that could not be read.
    #[inline]
    pub(crate) fn speak<'a>(&mut self, speaker: Speaker<'a>, message: &mut Message<'a>) {
        message.role = speaker.role;
        if speaker.is_guess || speaker.name.is_some() {
            self.speak_as(speaker, message);
        }
    }

    /// The same where the role says more than the role.
    fn speak_as<'a>(&mut self, speaker: Speaker<'a>, message: &mut Message<'a>) {
        if speaker.is_guess {
            message.channel = Some(Channel::Analysis);
            message.recovered = true;
        }
        let Some(word) = speaker.name else { return };
        if message.name.as_ref().is_none_or(|name| *name == word) {
            message.name = Some(word);
            return;
        }
        if !speaker.is_guess {
            let text = "the role names another tool than `name`";
            let help = "write the role `tool`; the name counts, and the message is recovered";
            self.report(Code::ParseJson.at(message.span, text).help(help));
        }
        let before = message.unread.take().map(|it| format!("{it} ")).unwrap_or_default();
        message.unread = Some(format!("{before}{word}").into());
        message.recovered = true;
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
        let is_null = json.peek() == Some(b'n');
        let most = self.options.limits.value_bytes;
        match self.string(json)? {
            // That it is no string was said already.
            None if is_null || key != "recipient" => return Ok(None),
            None => {}
            Some((value, span)) if value.len() <= most => {
                self.check_value(key, &value, span);
                return Ok(Some(value));
            }
            Some((_, span)) => {
                let text = format!("`{key}` exceeds the limit `value_bytes` of {most}");
                self.report(Code::Limit.at(span, text).help("it is dropped").drops(Dropped::Limit));
            }
        }
        message.recovered = true;
        if key == "recipient" {
            // It may be no answer to the user.
            message.channel = Some(Channel::Analysis);
        }
        Ok(None)
    }

    /// Reports a value that no header of the text form can hold (OpenChatML 2.2 §10, §15).
    fn check_value(&mut self, key: &str, value: &str, span: Span) {
        let Some(controls) = self.header else { return };
        if let Err(error) = check_value(value, controls) {
            let text = format!("`{key}` is no value of a header: {}", error.reason);
            let text = match error.spelling {
                "" => text,
                spelling => format!("{text} `{spelling}`"),
            };
            let help = "the text form cannot say it; write the value without";
            self.tolerate(Code::ParseHeader.at(span, text).help(help));
        }
    }

    /// The messages that the object at `span` stands for, if the text form can say them.
    pub(crate) fn sayable<'a>(
        &mut self,
        messages: std::result::Result<Vec<Message<'a>>, &'static str>,
        span: Span,
    ) -> Vec<Message<'a>> {
        messages.unwrap_or_else(|text| {
            let help = "the text form has no place for this; the object is dropped";
            self.drop_item(Code::ParseJson.at(span, text).help(help));
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
        self.one(json, messages, item)?;
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
        if json.peek() == Some(b'n') {
            // A conversation is more than none.
            return self.wrong(json, "an array");
        }
        let most = self.options.limits.messages;
        let mut too_many = None;
        self.array(json, |sheet, json| {
            let start = json.offset();
            if messages.len() >= most {
                too_many.get_or_insert(start);
                return json.skip();
            }
            sheet.one(json, messages, &mut item)?;
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

    /// Hides the message that is being read: nobody knows how much of it a user may see.
    pub(crate) fn hide_message(&mut self) {
        self.may_be_hidden = true;
    }

    /// Reads an object that stands for messages. If something was dropped that may have hidden them,
    /// they are hidden.
    fn one<'a>(
        &mut self,
        json: &mut Json<'a>,
        messages: &mut Vec<Message<'a>>,
        item: impl FnOnce(&mut Self, &mut Json<'a>, &mut Vec<Message<'a>>) -> Result<()>,
    ) -> Result<()> {
        let first = messages.len();
        self.may_be_hidden = false;
        let read = item(self, json, messages);
        if std::mem::take(&mut self.may_be_hidden) {
            let new = messages.iter_mut().skip(first);
            for message in new.filter(|message| message.role == Role::Assistant) {
                message.recovered = true;
                if message.visibility() == Visibility::User {
                    hide(message);
                }
            }
        }
        read
    }

    /// Reports that there are too many messages, from byte `start` on.
    fn too_many(&mut self, start: usize, json: &Json<'_>) {
        let most = self.options.limits.messages;
        let text = format!("the conversation exceeds the limit `messages` of {most}");
        let span = Span::new(start, json.position());
        self.report(Code::Limit.at(span, text).help("the rest is dropped").drops(Dropped::Limit));
    }

    /// Reads the text of a body.
    pub(crate) fn written<'a>(&mut self, json: &mut Json<'a>) -> Result<Option<Written<'a>>> {
        let start = json.offset() + 1;
        Ok(self.long_text(json)?.map(|(text, is_cut)| {
            let at = if matches!(text, Cow::Borrowed(_)) { start } else { 0 };
            Written { body: Body::from(text), at, is_cut, marker: None }
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

    /// Reports a marker where none may stand, as in text (OpenChatML 2.2 §7). In a message for the
    /// user, what follows it becomes a hidden message of its own, which this gives.
    pub(crate) fn place_marker<'a>(
        &mut self,
        message: &mut Message<'a>,
        marker: Option<Box<MarkerPlace>>,
    ) -> Option<Message<'a>> {
        let MarkerPlace { span, pointer } = *marker?;
        if let Some((mut said, mut reasoning)) = message.split_reasoning() {
            let text = "reasoning inside a message that a user may see";
            let mut found = Code::PermVisibility.at(span, text).help("what follows is hidden");
            found.pointer = Some(pointer);
            self.report(found);
            (said.recovered, reasoning.recovered) = (true, true);
            said.end = End::Open;
            *message = said;
            return Some(reasoning);
        }
        let is_thought =
            message.role == Role::Assistant && message.effective_channel() == Channel::Analysis;
        if !is_thought {
            let text = "a marker outside of the assistant's `analysis`";
            let help = "markers stand in reasoning only; the message is hidden anyway";
            let mut found = Code::ParseJson.at(span, text).help(help);
            found.pointer = Some(pointer);
            self.tolerate(found);
        }
        None
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
                let mut marker = None;
                self.array(json, |sheet, json| {
                    let start = json.offset();
                    let segment = segment(sheet, json, &mut room)?;
                    // It may have been a marker.
                    sheet.may_be_hidden |= segment.is_none();
                    if let (None, Some(Segment::Marker(_))) = (&marker, &segment) {
                        let span = Span::new(start, json.position());
                        marker = Some(Box::new(MarkerPlace { span, pointer: sheet.pointer() }));
                    }
                    segments.extend(segment);
                    Ok(())
                })?;
                let is_cut = room.is_exceeded;
                self.exceeds(is_cut, Span::new(start, json.position()));
                Ok(Some(Written { body: Body::from_segments(segments), at: 0, is_cut, marker }))
            }
            _ => self.wrong(json, "a string or an array of segments").map(|()| None),
        }
    }

    fn exceeds(&mut self, is_cut: bool, span: Span) {
        if is_cut {
            let most = self.options.limits.message_bytes;
            let text = format!("the text exceeds the limit `message_bytes` of {most}");
            let found = Code::Limit.at(span, text).help("the text beyond it is dropped");
            self.report(found.drops(Dropped::Limit));
        }
    }
}

impl Sheet<'_> {
    /// Reports messages that are open, and not the last: in text they end where the next one begins.
    pub(crate) fn check_ends(&mut self, messages: &[Message<'_>]) {
        let Some((_, before)) = messages.split_last() else { return };
        let is_open = |it: &&Message<'_>| matches!(it.end, End::Open | End::Prompt);
        for message in before.iter().filter(is_open).filter(|it| !it.recovered) {
            let text = "the message is open, and another one follows";
            let help = "only the last message can be open";
            let found = Code::StreamTruncated.at(message.span, text).help(help);
            let severity = self.tolerated();
            self.pass(found.severity(severity));
        }
    }
}

/// What is left of the limit `message_bytes`.
pub(crate) struct Room {
    left: usize,
    is_exceeded: bool,
}

impl Room {
    fn new(left: usize) -> Self {
        Self { left, is_exceeded: false }
    }

    /// What there is room for of `text`.
    pub(crate) fn take<'a>(&mut self, text: Cow<'a, str>) -> Cow<'a, str> {
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
