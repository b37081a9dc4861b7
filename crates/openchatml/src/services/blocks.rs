//! Turns whose content is a list of blocks: text, thinking, calls, and results of calls. Each block
//! becomes a message, and the messages of a turn become its blocks again.

use std::borrow::Cow;

use super::beyond::{beyond, beyond_of, content_of};
use super::parts::{Kind, Piece, speech, text};
use super::state::State;
use crate::document::{DocumentReader, Speaker, Written};
use crate::json::{Data, Value};
use crate::model::{Channel, FormId, Intent, Layout, Message, Role};
use crate::options::Mode;
use crate::{Code, Diagnostic, Span};

/// What readers and writers of a form with blocks need to know.
#[derive(Debug)]
pub(crate) struct BlockForm {
    pub(crate) form: FormId,
    /// The keys that belong to a block and not to the object around it.
    pub(crate) own_keys: &'static [&'static str],
    /// Reports a result after another block, in strict mode, if the service does not accept it.
    pub(crate) late_result: Option<&'static str>,
}

/// A block, before its speaker is known.
pub(crate) enum Block<'a> {
    /// Text, or another block that is kept unchanged.
    Part(Value<'a>),
    Thinking(Message<'a>),
    Call(Message<'a>),
    /// The result of a call. The name of the tool is that of the call, or one of these: the name
    /// and the whole name.
    Result(Message<'a>, Option<Cow<'a, str>>, Option<Cow<'a, str>>),
}

/// The content of an object, before its speaker is known.
pub(crate) enum BlockContent<'a> {
    Text(Written<'a>),
    Blocks(Vec<Block<'a>>),
}

/// The text of a message, and its original blocks if they contain more than the text.
pub(crate) type Said<'a> = (Written<'a>, Option<Value<'a>>);

/// Returns the text of blocks that are kept unchanged.
pub(crate) fn said<'a>(
    reader: &mut DocumentReader<'_>,
    blocks: Vec<Value<'a>>,
) -> Option<Said<'a>> {
    match speech(reader, blocks, "")? {
        Piece::Said(written, parts) => Some((written, parts)),
        _ => None,
    }
}

/// Sets the text of a message.
pub(crate) fn say<'a>((written, parts): Said<'a>, message: &mut Message<'a>, form: FormId) {
    written.say(message);
    if parts.is_some() {
        let layout = message.layout.get_or_insert_default();
        **layout = Layout { form, content: parts, ..std::mem::take(&mut **layout) };
    }
}

/// Reports, in strict mode, what the service does not accept. The conversation is complete.
pub(crate) fn refuse(reader: &mut DocumentReader<'_>, found: Diagnostic) {
    if reader.options.mode == Mode::Strict {
        reader.report(found);
    }
}

/// Reads the messages of one object.
pub(crate) struct BlockTurn<'t, 'o, 'a> {
    pub(crate) of: &'static BlockForm,
    pub(crate) reader: &'t mut DocumentReader<'o>,
    pub(crate) messages: &'t mut Vec<Message<'a>>,
    pub(crate) state: &'t mut State<'a>,
    /// The place of the object.
    pub(crate) span: Span,
}

impl<'a> BlockTurn<'_, '_, 'a> {
    /// Reads an object of this speaker.
    pub(crate) fn read(mut self, speaker: Speaker<'a>, content: Option<BlockContent<'a>>) {
        match (speaker.role(), content) {
            (role, None) => self.lacks_content(role, speaker),
            (Some(Role::Assistant), Some(content)) => self.of_assistant(content),
            (_, Some(content)) => self.of_another(speaker, content),
        }
    }

    fn lacks_content(&mut self, role: Option<Role>, speaker: Speaker<'a>) {
        if role == Some(Role::Assistant) {
            let found = Code::ParseJson.at(self.span, "the message is empty: it will be dropped");
            return self.reader.drop_item(found.help("add its content"));
        }
        self.reader.tolerate(Code::ParseJson.at(self.span, "the message has no content"));
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
        say(said, &mut message, self.of.form);
        if speaker.role() == Some(Role::Tool) {
            message.channel = Some(Channel::Commentary);
            message.recipient = Some("assistant".into());
            message.name = self.state.replies.name(None, None, None);
        }
        self.reader.speak(speaker, &mut message);
        self.messages.push(message);
    }

    /// Reads what the user or the system says, and the results of calls.
    fn of_another(&mut self, speaker: Speaker<'a>, content: BlockContent<'a>) {
        let blocks = match content {
            BlockContent::Text(written) => return self.push_of(speaker, (written, None)),
            BlockContent::Blocks(blocks) => blocks,
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
                    if let Some(text) = self.of.late_result.filter(|_| has_said) {
                        let found = Code::ParseJson.at(reply.span, text);
                        refuse(self.reader, found.help("move it before the other blocks"));
                    }
                    self.reply(reply, name, author);
                }
                Block::Thinking(Message { span, .. })
                | Block::Call(Message { span, .. })
                | Block::Part(Value { span, .. }) => {
                    self.only("the assistant", "thinking and calls", span);
                }
                Block::Result(message, ..) => {
                    self.only("the user", "results of calls", message.span);
                }
            }
        }
        let is_last = self.messages.len() == first;
        if is_last || !parts.is_empty() {
            let is_silent = matches!(&parts[..], [part] if is_silent_part(part));
            if is_last || !is_silent {
                let said = said(self.reader, parts).unwrap_or_default();
                self.push_of(speaker, said);
            }
        }
    }

    /// Adds a message of the user with the blocks so far. Returns whether there is one.
    fn flush(&mut self, role: Option<Role>, parts: &mut Vec<Value<'a>>, count: usize) -> bool {
        let parts = std::mem::take(parts);
        if matches!(&parts[..], [part] if count > 1 && is_silent_part(part)) {
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
        name: Option<Cow<'a, str>>,
        author: Option<Cow<'a, str>>,
    ) {
        reply.name = self.state.replies.name(reply.call_id.as_deref(), name, author);
        self.messages.push(reply);
    }

    /// Reads what the assistant thinks, says and calls.
    fn of_assistant(&mut self, content: BlockContent<'a>) {
        let first = self.messages.len();
        let blocks = match content {
            BlockContent::Text(written) => return self.answer((written, None)),
            BlockContent::Blocks(blocks) => blocks,
        };
        let is_single = blocks.len() == 1;
        let (mut parts, mut items) = (Vec::new(), Vec::new());
        for block in blocks {
            let is_text = |part: &Value<'_>| Kind::of(part) == Kind::Text && text(part).is_some();
            match block {
                // Empty text with a signature says nothing: it is kept like a block of another kind.
                Block::Part(part) if is_text(&part) && (is_single || text(&part) != Some("")) => {
                    parts.push(part);
                    continue;
                }
                Block::Part(part) if is_silent_part(&part) => continue,
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
            beyond(last, self.of.form).after = items;
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
        say(said, &mut message, self.of.form);
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
            beyond(last, self.of.form).items = std::mem::take(items);
        }
    }
}

/// Whether a block is text or a medium, which the user and the system can have.
fn is_of_user(part: &Value<'_>) -> bool {
    matches!(Kind::of(part), Kind::Text | Kind::Other(_))
}

/// Whether a block is empty text and nothing else.
fn is_silent_part(part: &Value<'_>) -> bool {
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

impl BlockForm {
    /// Whether a key belongs to a block and not to the object around it.
    pub(crate) fn is_own(&self, key: &str) -> bool {
        self.own_keys.contains(&key)
    }

    /// Returns the number of messages in the longest turn at the front that is read back
    /// unchanged: blocks of the assistant, or the results of calls and then text of the user.
    pub(crate) fn turn(&self, messages: &[Message<'_>]) -> usize {
        match messages.first().map(|first| first.role) {
            None => 0,
            Some(Role::Assistant) => self.turn_of_assistant(messages),
            Some(Role::User | Role::Tool) => self.turn_of_user(messages),
            Some(Role::System | Role::Developer) => 1,
        }
    }

    fn turn_of_assistant(&self, messages: &[Message<'_>]) -> usize {
        let mut before: Option<&Message<'_>> = None;
        let is_text = |message: &Message<'_>| !message.is_call() && !message.is_reasoning();
        for (at, message) in messages.iter().enumerate() {
            let leads = before.is_some_and(Message::is_commentary) && message.is_call();
            let beyond = beyond_of(message, self.form);
            let has_items = beyond.is_some_and(|beyond| !beyond.items.is_empty());
            let fits = match before {
                None => true,
                Some(_) if message.role != Role::Assistant => false,
                Some(_) if leads => true,
                Some(_) if !self.joins(message, &messages[0]) => false,
                // Text next to text would be one message, and an answer before a call a preamble.
                Some(before) if is_text(before) => {
                    !self.is_silent(before)
                        && (message.is_reasoning() || has_items && !message.is_call())
                }
                Some(_) => true,
            };
            // Empty text must be alone.
            if !fits || at > 0 && is_text(message) && self.is_silent(message) {
                return at;
            }
            before = Some(message);
        }
        messages.len()
    }

    fn turn_of_user(&self, messages: &[Message<'_>]) -> usize {
        let Some(first) = messages.first() else { return 0 };
        let is_reply = |it: &&Message<'_>| it.role == Role::Tool && self.joins(it, first);
        let replies = messages.iter().take_while(is_reply).count();
        if replies == 0 {
            return 1;
        }
        let next = messages.get(replies).filter(|next| next.role == Role::User);
        let is_joined = next.is_some_and(|it| !self.is_silent(it) && self.joins(it, first));
        replies + usize::from(is_joined)
    }

    /// Whether the text of a message would be read as missing, if its object has anything else.
    fn is_silent(&self, message: &Message<'_>) -> bool {
        let content = content_of(message, self.form, "").and_then(Value::as_list);
        message.body.is_empty() && content.is_none_or(<[_]>::is_empty)
    }

    /// Whether a message can be the only content of an object, as a string.
    pub(crate) fn is_plain(&self, message: &Message<'_>) -> bool {
        let beyond = beyond_of(message, self.form);
        let has_items = beyond.is_some_and(|it| it.items.len() + it.after.len() > 0);
        let is_text = !message.is_call() && !message.is_reasoning() && message.role != Role::Tool;
        is_text && !has_items && content_of(message, self.form, "").is_none()
    }

    /// Whether a message can be in the same object as `first`. Data about an object belongs to the
    /// messages that were in it, and to no others.
    fn joins(&self, message: &Message<'_>, first: &Message<'_>) -> bool {
        let is_of_object = |message: &Message<'_>| {
            beyond_of(message, self.form).is_some_and(|beyond| {
                let fields = &beyond.fields;
                !beyond.key.is_empty() || fields.iter().any(|field| !self.is_own(&field.0))
            })
        };
        let was_in = first.span.start <= message.span.start && message.span.end <= first.span.end;
        std::ptr::eq(message, first) || !is_of_object(message) && (was_in || !is_of_object(first))
    }
}
