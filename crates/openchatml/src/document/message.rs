//! Messages in JSON formats: role, header fields and text, within the limits.

use std::borrow::Cow;

use super::DocumentReader;
use super::keys::may_hide_twice;
use super::segment::segment;
use crate::diagnostic::{did_you_mean, quote};
use crate::json::{Json, Result};
use crate::model::{Body, Channel, End, Intent, Message, Role, Segment, Visibility};
use crate::reading::hide;
use crate::writing::check_value;
use crate::{Code, Dropped, Span, function_name};

/// The speaker of an object.
#[derive(Debug)]
pub(crate) struct Speaker<'a> {
    role: Role,
    name: Option<Cow<'a, str>>,
    /// The role is unknown, so the message has the least authority and is hidden.
    is_guess: bool,
}

/// The text of an object.
#[derive(Debug, Default)]
pub(crate) struct Written<'a> {
    pub(crate) body: Body<'a>,
    /// The start of the text in the input, or 0 if the text differs there.
    at: usize,
    /// Whether the text exceeds `message_bytes`.
    is_cut: bool,
    /// Its first chain-of-thought marker.
    marker: Option<Box<MarkerPlace>>,
}

/// The place of a chain-of-thought marker.
#[derive(Debug)]
pub(crate) struct MarkerPlace {
    span: Span,
    pointer: String,
}

impl<'a> Speaker<'a> {
    /// Creates a speaker with a known role.
    pub(crate) fn known(role: Role) -> Self {
        Self { role, name: None, is_guess: false }
    }

    /// Returns the role, or `None` if it is a guess.
    pub(crate) fn role(&self) -> Option<Role> {
        (!self.is_guess).then_some(self.role)
    }
}

impl<'a> Written<'a> {
    /// Joins texts.
    pub(crate) fn joined(mut texts: Vec<Self>) -> Self {
        if texts.len() < 2 {
            return texts.pop().unwrap_or_default();
        }
        let is_cut = texts.iter().any(|text| text.is_cut);
        let whole: String = texts.iter().map(|text| text.body.text()).collect();
        Self { body: Body::from(whole), is_cut, ..Self::default() }
    }

    /// Creates a text, with its place if it is unchanged in the input.
    pub(crate) fn new(text: Cow<'a, str>, at: usize) -> Self {
        let at = if matches!(text, Cow::Borrowed(_)) { at } else { 0 };
        Self { body: Body::from(text), at, ..Self::default() }
    }

    /// Sets whether the text exceeds `message_bytes`.
    pub(crate) fn cut(mut self, is_cut: bool) -> Self {
        self.is_cut = is_cut;
        self
    }

    /// Whether the text is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// Sets the body of `message`.
    pub(crate) fn say(self, message: &mut Message<'a>) {
        message.body = self.body;
        message.body_at = self.at;
        message.recovered |= self.is_cut;
    }

    /// Takes the first chain-of-thought marker, which must be [placed](DocumentReader::place_marker).
    pub(crate) fn take_marker(&mut self) -> Option<Box<MarkerPlace>> {
        self.marker.take()
    }
}

impl DocumentReader<'_> {
    /// Reads the speaker. With `legacy`, `functions.search` is also the tool with that name.
    pub(crate) fn speaker<'a>(
        &mut self,
        json: &mut Json<'a>,
        legacy: bool,
    ) -> Result<Option<Speaker<'a>>> {
        let Some((word, span)) = self.string(json)? else { return Ok(None) };
        Ok(Some(self.speaker_of(word, span, legacy)))
    }

    /// Returns the speaker for a word that was read.
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
            let text = format!("unknown role {}", quote(&word));
            let hidden = "the message is hidden";
            let help = match meant(&word) {
                Some(role) => format!("write `{}`; {hidden}", role.as_str()),
                None => did_you_mean(&word, Role::WORDS, hidden),
            };
            self.report(Code::ParseJson.at(span, text).help(help).drops(Dropped::Value));
        }
        Speaker { role: Role::Tool, name: Some(word), is_guess }
    }

    /// Returns the speaker of the object at `span`, which can be missing.
    pub(crate) fn spoken<'a>(&mut self, speaker: Option<Speaker<'a>>, span: Span) -> Speaker<'a> {
        speaker.unwrap_or_else(|| {
            let place = Span::new(span.start, span.start + 1);
            let found = Code::ParseJson.at(place, "the message has no role");
            self.report(found.help("the message is hidden"));
            Speaker { role: Role::Assistant, name: None, is_guess: true }
        })
    }

    /// Sets the speaker of a message whose other fields are complete.
    ///
    /// A message has one name. If the role names a tool or is unknown, and `name` differs, the word
    /// of the role is kept as an unknown word.
    #[inline]
    pub(crate) fn speak<'a>(&mut self, speaker: Speaker<'a>, message: &mut Message<'a>) {
        message.role = speaker.role;
        if speaker.is_guess || speaker.name.is_some() {
            self.speak_as(speaker, message);
        }
    }

    /// Handles a speaker with a name or an unknown role.
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
            let text = "the role and `name` name different tools";
            let help =
                "`name` is used and the message is marked as recovered; write the role `tool`";
            self.report(Code::ParseJson.at(message.span, text).help(help));
        }
        let before = message.unread.take().map(|it| format!("{it} ")).unwrap_or_default();
        message.unread = Some(format!("{before}{word}").into());
        message.recovered = true;
    }

    /// Reads a header field, by its key in canonical JSON.
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

    /// Reads the channel. An unknown channel always hides the message.
    fn channel(&mut self, json: &mut Json<'_>, message: &mut Message<'_>) -> Result<()> {
        if json.peek() == Some(b'n') {
            return json.word().map(|_| ());
        }
        let is_hidden = message.recovered && message.channel == Some(Channel::Analysis);
        match self.word(json, "channel", Channel::WORDS, Channel::from_word)? {
            // A message that is already hidden stays hidden.
            Some(_) if is_hidden => {}
            Some(channel) => message.channel = Some(channel),
            None => {
                message.channel = Some(Channel::Analysis);
                message.recovered = true;
            }
        }
        Ok(())
    }

    /// Reads the value of an attribute. A value that is too long is dropped.
    pub(crate) fn value<'a>(
        &mut self,
        json: &mut Json<'a>,
        key: &str,
        message: &mut Message<'_>,
    ) -> Result<Option<Cow<'a, str>>> {
        let is_null = json.peek() == Some(b'n');
        let most = self.options.limits.value_bytes;
        match self.string(json)? {
            // The wrong type is already reported.
            None if is_null || key != "recipient" => return Ok(None),
            None => {}
            Some((value, span)) if value.len() <= most => {
                self.check_value(key, &value, span);
                return Ok(Some(value));
            }
            Some((_, span)) => {
                let text = format!("`{key}` exceeds the limit `value_bytes` of {most}");
                self.report(
                    Code::Limit.at(span, text).help("it will be dropped").drops(Dropped::Limit),
                );
            }
        }
        message.recovered = true;
        if key == "recipient" {
            // The message could be hidden from the user.
            message.channel = Some(Channel::Analysis);
        }
        Ok(None)
    }

    /// Reports a value that is not allowed in a header of the text form (OpenChatML 2.2 §10, §15).
    fn check_value(&mut self, key: &str, value: &str, span: Span) {
        let Some(controls) = self.header else { return };
        if let Err(error) = check_value(value, controls) {
            let text = format!("`{key}` cannot be written in a header: {}", error.reason);
            let text = match error.spelling {
                "" => text,
                spelling => format!("{text} `{spelling}`"),
            };
            let help = "the text form cannot hold the value; remove these characters";
            self.tolerate(Code::ParseHeader.at(span, text).help(help));
        }
    }

    /// Returns the messages of the object at `span`, if the text form can express them.
    pub(crate) fn sayable<'a>(
        &mut self,
        messages: std::result::Result<Vec<Message<'a>>, &'static str>,
        span: Span,
    ) -> Vec<Message<'a>> {
        messages.unwrap_or_else(|text| {
            let help = "the text form cannot express this; the object will be dropped";
            self.drop_item(Code::ParseJson.at(span, text).help(help));
            Vec::new()
        })
    }

    /// Reads an object with messages, up to the limit `messages`.
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

    /// Reads an array of objects with messages, up to the limit `messages`.
    pub(crate) fn messages<'a>(
        &mut self,
        json: &mut Json<'a>,
        messages: &mut Vec<Message<'a>>,
        mut item: impl FnMut(&mut Self, &mut Json<'a>, &mut Vec<Message<'a>>) -> Result<()>,
    ) -> Result<()> {
        if json.peek() == Some(b'n') {
            // `null` is not an empty conversation.
            return self.wrong(json, "an array");
        }
        if json.peek() == Some(b'"') {
            let mut error = json.unexpected("an array");
            let start = error.span.start;
            json.skip()?;
            error.span = Span::new(start, json.position());
            let found = Code::ParseJson.at(error.span, error.message.into_owned());
            let help = "if the array is written as JSON in a string, write the array itself";
            self.drop_value(found.help(help));
            return Ok(());
        }
        let most = self.options.limits.messages;
        let mut too_many = None;
        self.array(json, |reader, json| {
            let start = json.offset();
            if messages.len() >= most {
                too_many.get_or_insert(start);
                return json.skip();
            }
            reader.one(json, messages, &mut item)?;
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

    /// Hides the current message, because it is unknown which part of it a user can see.
    pub(crate) fn hide_message(&mut self) {
        self.may_be_hidden = true;
    }

    /// Reads an object with messages. If a dropped part could have hidden them, they are hidden.
    fn one<'a>(
        &mut self,
        json: &mut Json<'a>,
        messages: &mut Vec<Message<'a>>,
        item: impl FnOnce(&mut Self, &mut Json<'a>, &mut Vec<Message<'a>>) -> Result<()>,
    ) -> Result<()> {
        let first = messages.len();
        self.may_be_hidden = false;
        let noted = json.duplicates();
        let read = item(self, json, messages);
        self.may_be_hidden |= json.has_duplicate(noted, may_hide_twice);
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
    pub(crate) fn too_many(&mut self, start: usize, json: &Json<'_>) {
        let most = self.options.limits.messages;
        let text = format!("the conversation exceeds the limit `messages` of {most}");
        let span = Span::new(start, json.position());
        self.report(
            Code::Limit.at(span, text).help("the rest will be dropped").drops(Dropped::Limit),
        );
    }

    /// Reads the text of a body.
    pub(crate) fn written<'a>(&mut self, json: &mut Json<'a>) -> Result<Option<Written<'a>>> {
        let start = json.offset() + 1;
        Ok(self.long_text(json)?.map(|(text, is_cut)| {
            let at = if matches!(text, Cow::Borrowed(_)) { start } else { 0 };
            Written { body: Body::from(text), at, is_cut, marker: None }
        }))
    }

    /// Reads a message that is only a string.
    pub(crate) fn text_message<'a>(
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

    /// Reports a marker that is not allowed, as in text (OpenChatML 2.2 §7). In a visible message,
    /// the text after it becomes a separate hidden message, which is returned.
    pub(crate) fn place_marker<'a>(
        &mut self,
        message: &mut Message<'a>,
        marker: Option<Box<MarkerPlace>>,
    ) -> Option<Message<'a>> {
        let MarkerPlace { span, pointer } = *marker?;
        if let Some((mut visible, mut reasoning)) = message.split_reasoning() {
            let text = "reasoning in a message that a user can see";
            let mut found = Code::PermVisibility.at(span, text).help("the text after it is hidden");
            found.pointer = Some(pointer);
            self.report(found);
            (visible.recovered, reasoning.recovered) = (true, true);
            visible.end = End::Open;
            *message = visible;
            return Some(reasoning);
        }
        let is_thought =
            message.role == Role::Assistant && message.effective_channel() == Channel::Analysis;
        if !is_thought {
            let text = "a reasoning marker outside of the assistant's `analysis` channel";
            let help = "markers are allowed only in reasoning; the message is hidden in any case";
            let mut found = Code::ParseJson.at(span, text).help(help);
            found.pointer = Some(pointer);
            self.tolerate(found);
        }
        None
    }

    /// Reads text up to the limit `message_bytes`. Returns whether it exceeds the limit.
    pub(crate) fn long_text<'a>(
        &mut self,
        json: &mut Json<'a>,
    ) -> Result<Option<(Cow<'a, str>, bool)>> {
        let Some((text, span)) = self.string(json)? else { return Ok(None) };
        Ok(Some(self.limited(text, span)))
    }

    /// Cuts the text at `span` to the limit `message_bytes`. Returns whether it exceeds the limit.
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

    /// Reads the text of a body, or its segments if it is more than plain text.
    pub(crate) fn content<'a>(&mut self, json: &mut Json<'a>) -> Result<Option<Written<'a>>> {
        match json.peek() {
            Some(b'"' | b'n') => self.written(json),
            Some(b'[') => {
                let start = json.offset();
                let mut room = Room::new(self.options.limits.message_bytes);
                let mut segments = Vec::new();
                let mut marker = None;
                self.array(json, |reader, json| {
                    let start = json.offset();
                    let segment = segment(reader, json, &mut room)?;
                    // The dropped segment could have been a marker.
                    reader.may_be_hidden |= segment.is_none();
                    if let (None, Some(Segment::Marker(_))) = (&marker, &segment) {
                        let span = Span::new(start, json.position());
                        marker = Some(Box::new(MarkerPlace { span, pointer: reader.pointer() }));
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
            let found =
                Code::Limit.at(span, text).help("the text beyond the limit will be dropped");
            self.report(found.drops(Dropped::Limit));
        }
    }
}

impl DocumentReader<'_> {
    /// Reports open messages other than the last. In text, they end where the next message begins.
    pub(crate) fn check_ends(&mut self, messages: &[Message<'_>]) {
        let Some((_, before)) = messages.split_last() else { return };
        let is_open = |it: &&Message<'_>| matches!(it.end, End::Open | End::Prompt);
        for message in before.iter().filter(is_open).filter(|it| !it.recovered) {
            let text = "the message is open, but another one follows";
            let help = "only the last message of a conversation can be open";
            let found = Code::StreamTruncated.at(message.span, text).help(help);
            let severity = self.tolerated();
            self.pass(found.severity(severity));
        }
    }
}

/// The remaining part of the limit `message_bytes`.
pub(crate) struct Room {
    left: usize,
    is_exceeded: bool,
}

impl Room {
    fn new(left: usize) -> Self {
        Self { left, is_exceeded: false }
    }

    /// Returns the part of `text` within the remaining limit.
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

/// Returns the role that a data set means with a word of another format.
fn meant(word: &str) -> Option<Role> {
    let is = |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    match () {
        () if is(&["human", "user", "prompter", "instruction", "customer"]) => Some(Role::User),
        () if is(&["gpt", "assistant", "bot", "chatgpt", "model", "ai", "chatbot"]) => {
            Some(Role::Assistant)
        }
        () if is(&["system"]) => Some(Role::System),
        () if is(&["tool", "function", "observation", "function_response"]) => Some(Role::Tool),
        () => None,
    }
}
