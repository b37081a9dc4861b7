//! Follows the state of the template while it processes messages.

use super::super::RULES;
use super::content::{self, Call, Content, Said, Says};
use super::replies::Replies;
use crate::document::{DocumentReader, Speaker, Written};
use crate::grammar::paired::TemplateLayout;
use crate::json::{Json, JsonError, Value};
use crate::model::{Channel, End, Layout, Message, Raw, Role};
use crate::{Code, Control, Section, Span};

type Result<T> = std::result::Result<T, JsonError>;

/// Whether messages of the assistant contain text or blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Blocks,
}

/// The state of the template while it processes the messages.
pub(super) struct TemplateState {
    layout_of_template: TemplateLayout,
    in_assistant: bool,
    in_tool: bool,
    in_inner: bool,
    format: Option<Format>,
    replies: Replies,
    is_first: bool,
}

impl TemplateState {
    pub(super) fn new() -> Self {
        Self {
            layout_of_template: TemplateLayout::new(&RULES),
            in_assistant: false,
            in_tool: false,
            in_inner: false,
            format: None,
            replies: Replies::default(),
            is_first: true,
        }
    }

    /// Returns the output of the template after the last message, if it is not canonical.
    pub(super) fn finish(mut self, messages: &[Message<'_>]) -> Option<Raw<'static>> {
        if self.in_tool {
            self.layout_of_template.text("]");
        }
        self.layout_of_template.tail().filter(|_| !messages.is_empty())
    }

    pub(super) fn message<'a>(
        &mut self,
        reader: &mut DocumentReader<'_>,
        json: &mut Json<'a>,
        messages: &mut Vec<Message<'a>>,
    ) -> Result<()> {
        let (mut speaker, mut said, mut calls) = (None, None, Vec::new());
        // The keys that only some roles can have, and their positions.
        let mut places: Vec<(&str, Span)> = Vec::new();
        let mut message = Message::new(Role::User, "");
        let keys = ["role", "content", "tool_calls", "tool_call_id", "name"];
        let span = reader.object(json, &keys, |reader, json, key| {
            let (start, is_null) = (json.offset(), json.peek() == Some(b'n'));
            match key {
                "role" => speaker = reader.speaker(json, false)?,
                "content" if json.peek() == Some(b'n') => {
                    json.word()?;
                }
                "content" => {
                    let role = speaker.as_ref().and_then(Speaker::role);
                    said = Some(content::read(reader, json, role)?);
                }
                "tool_calls" if json.peek() == Some(b'n') => {
                    json.word()?;
                }
                "tool_calls" => calls = content::tool_calls(reader, json)?,
                "tool_call_id" => message.call_id = reader.value(json, key, &mut message)?,
                _ => message.name = reader.value(json, key, &mut message)?,
            }
            if matches!(key, "tool_calls" | "tool_call_id" | "name") && !is_null {
                places.push((key, Span::new(start, json.position())));
            }
            Ok(())
        })?;
        let Some(span) = span else { return Ok(()) };
        message.span = span;
        message.in_json = true;
        let role = speaker.as_ref().and_then(Speaker::role);
        keep_own(reader, role, &places, &mut message);
        let is_first = std::mem::replace(&mut self.is_first, false);
        let speaker = reader.spoken(speaker, span);
        reader.speak(speaker, &mut message);
        match message.role {
            _ if message.recovered => self.guess(reader, message, said, messages),
            Role::System | Role::Developer => {
                self.system(reader, message, said, is_first, messages);
            }
            Role::User => self.user(reader, message, said, messages),
            Role::Tool => self.tool(reader, message, said, messages),
            Role::Assistant => self.assistant(reader, &message, said, calls, messages),
        }
        Ok(())
    }

    /// Keeps a message of an unknown role, with its content if that is text.
    fn guess<'a>(
        &mut self,
        reader: &mut DocumentReader<'_>,
        mut message: Message<'a>,
        content: Option<Said<'a>>,
        messages: &mut Vec<Message<'a>>,
    ) {
        match content.map(|said| (said.content, said.place)) {
            Some((Content::Text(text) | Content::System(text) | Content::Parts(text), _)) => {
                text.say(&mut message);
            }
            Some((Content::Blocks(_) | Content::Other, place)) => {
                let text = "the speaker is unknown: the content will be dropped";
                reader.drop_value(Code::ParseJson.at(place, text));
            }
            None => {}
        }
        messages.push(message);
    }

    fn system<'a>(
        &mut self,
        reader: &mut DocumentReader<'_>,
        mut message: Message<'a>,
        content: Option<Said<'a>>,
        is_first: bool,
        messages: &mut Vec<Message<'a>>,
    ) {
        if !is_first || message.role == Role::Developer {
            let text = "the format supports one system message, at the beginning";
            reader.report(Code::ParseJson.at(message.span, text));
        }
        match content {
            Some(Said { content: Content::Text(text), .. }) => text.say(&mut message),
            Some(Said { content: Content::System(text), value, .. }) => {
                text.say(&mut message);
                keep(&mut message, value);
            }
            other => wrong(
                reader,
                &message,
                other,
                "the content of a system message must be a string, or an object with `text`",
            ),
        }
        messages.push(message);
    }

    fn user<'a>(
        &mut self,
        reader: &mut DocumentReader<'_>,
        mut message: Message<'a>,
        content: Option<Said<'a>>,
        messages: &mut Vec<Message<'a>>,
    ) {
        self.in_inner = false;
        self.leave_replies();
        if std::mem::take(&mut self.in_assistant) {
            self.layout_of_template.control(Control::Close(Role::Assistant));
        }
        self.replies.begin();
        match content {
            Some(Said { content: Content::Text(text), .. }) => text.say(&mut message),
            Some(Said { content: Content::Parts(text), value, .. }) => {
                text.say(&mut message);
                keep(&mut message, value);
            }
            None => {
                // The template writes nothing for it.
                let text = "the message has no `content`: it will be dropped";
                return reader.drop_item(Code::ParseJson.at(message.span, text));
            }
            other => wrong(
                reader,
                &message,
                other,
                "the content of a user message must be a string, or an object with `parts`",
            ),
        }
        self.layout_of_template.control(Control::Open(Role::User));
        self.layout_of_template.message(&mut message, true);
        messages.push(message);
    }

    fn leave_replies(&mut self) {
        if std::mem::take(&mut self.in_tool) {
            self.layout_of_template.text("]");
        }
    }

    fn tool<'a>(
        &mut self,
        reader: &mut DocumentReader<'_>,
        mut message: Message<'a>,
        content: Option<Said<'a>>,
        messages: &mut Vec<Message<'a>>,
    ) {
        if !self.in_assistant {
            let text = "a message of a tool is only allowed in the assistant's turn";
            reader.report(Code::ParseJson.at(message.span, text));
        }
        match content {
            Some(Said { content: Content::Text(text), .. }) => text.say(&mut message),
            other => {
                // The role was read after the content.
                let place = other.as_ref().map_or(message.span, |said| said.place);
                if let Some(said) = &other {
                    content::taken(reader, said.raw, said.place).say(&mut message);
                }
                reader.report(Code::ParseJson.at(place, content::TOOLS_SAY));
            }
        }
        self.reply(reader, &mut message);
        let is_first = !std::mem::replace(&mut self.in_tool, true);
        self.layout_of_template.text(if is_first { "[" } else { ", " });
        if self.in_assistant {
            self.layout_of_template.message(&mut message, true);
        }
        messages.push(message);
    }

    /// Sets the tool that replies, and reports a wrong order.
    fn reply(&mut self, reader: &mut DocumentReader<'_>, message: &mut Message<'_>) {
        message.channel = Some(Channel::Commentary);
        message.recipient = Some("assistant".into());
        let answered = self.replies.reply(message.call_id.as_deref());
        if answered.is_early {
            let text = "this reply precedes the reply to an earlier call";
            let help = "write replies in the order of the calls; the template ignores ids";
            reader.report(Code::ParseJson.at(message.span, text).help(help));
        }
        if message.name.is_none() {
            message.name = answered.tool.map(|tool| tool.to_owned().into());
        }
    }

    fn assistant<'a>(
        &mut self,
        reader: &mut DocumentReader<'_>,
        message: &Message<'a>,
        content: Option<Said<'a>>,
        calls: Vec<Call<'a>>,
        messages: &mut Vec<Message<'a>>,
    ) {
        if !std::mem::replace(&mut self.in_assistant, true) {
            self.layout_of_template.control(Control::Open(Role::Assistant));
        }
        let Some(said) = content else {
            let text = "a message of the assistant must have `content`";
            reader.report(Code::ParseJson.at(message.span, text));
            return self.calls(message, calls, messages);
        };
        let format = match said.content {
            Content::Blocks(_) => Format::Blocks,
            _ => Format::Text,
        };
        if *self.format.get_or_insert(format) != format {
            let text = "the messages of the assistant must be either all strings or all blocks";
            reader.report(Code::ParseJson.at(said.place, text));
        }
        match said.content {
            Content::Text(text) => {
                self.leave_replies();
                // The legacy form writes only its calls.
                if calls.is_empty() || !text.body.is_empty() {
                    // The text is written inside the open inner section.
                    let inner = self.in_inner;
                    self.say(message, text, inner, messages);
                }
            }
            Content::Blocks(blocks) => {
                let mut is_first = true;
                for block in blocks {
                    let at = Message { span: block.span, ..bare(message) };
                    self.block(reader, &at, block.says, is_first, messages);
                    is_first = false;
                }
            }
            _ => {
                let text = "the content of an assistant message must be a string, or an object with `blocks`";
                reader.drop_value(Code::ParseJson.at(said.place, text));
            }
        }
        self.calls(message, calls, messages);
    }

    fn block<'a>(
        &mut self,
        reader: &mut DocumentReader<'_>,
        at: &Message<'a>,
        says: Says<'a>,
        is_first: bool,
        messages: &mut Vec<Message<'a>>,
    ) {
        match says {
            Says::Thoughts(text) => {
                self.leave_replies();
                if !std::mem::replace(&mut self.in_inner, true) {
                    self.layout_of_template.control(Control::OpenSection(Section::Reasoning));
                }
                self.say(at, text, true, messages);
            }
            Says::Response(text) => {
                self.leave_replies();
                self.leave_inner();
                self.say(at, text, false, messages);
            }
            Says::Calls(calls) => {
                self.leave_replies();
                let is_outer = |call: &Call<'_>| {
                    call.name.as_deref().is_some_and(|it| RULES.ends_reasoning(it))
                };
                if !is_first && calls.len() == 1 && calls.iter().all(is_outer) {
                    self.leave_inner();
                }
                if calls.is_empty() {
                    self.layout_of_template.control(Control::OpenSection(Section::Calls));
                    self.layout_of_template.text("[]");
                    self.layout_of_template.control(Control::CloseSection(Section::Calls));
                }
                self.calls(at, calls, messages);
            }
            Says::Outputs(outputs) => {
                if self.in_tool {
                    let text = "tool replies must be either all messages or all blocks";
                    reader.report(Code::ParseJson.at(at.span, text));
                    self.leave_replies();
                }
                self.layout_of_template.text("[");
                for (index, (output, span)) in outputs.into_iter().enumerate() {
                    let mut reply = Message { span, ..bare(at) };
                    reply.role = Role::Tool;
                    output.say(&mut reply);
                    self.reply(reader, &mut reply);
                    self.layout_of_template.text(if index == 0 { "" } else { ", " });
                    self.layout_of_template.message(&mut reply, true);
                    messages.push(reply);
                }
                self.layout_of_template.text("]");
            }
        }
    }

    fn leave_inner(&mut self) {
        if std::mem::take(&mut self.in_inner) {
            self.layout_of_template.control(Control::CloseSection(Section::Reasoning));
        }
    }

    fn say<'a>(
        &mut self,
        at: &Message<'a>,
        text: Written<'a>,
        inner: bool,
        messages: &mut Vec<Message<'a>>,
    ) {
        let mut message = Message { span: at.span, ..bare(at) };
        message.channel = Some(if inner { Channel::Analysis } else { Channel::Final });
        text.say(&mut message);
        self.layout_of_template.message(&mut message, true);
        messages.push(message);
    }

    fn calls<'a>(
        &mut self,
        at: &Message<'a>,
        calls: Vec<Call<'a>>,
        messages: &mut Vec<Message<'a>>,
    ) {
        if calls.is_empty() {
            return;
        }
        self.replies.begin();
        self.layout_of_template.control(Control::OpenSection(Section::Calls));
        self.layout_of_template.text("[");
        let count = calls.len();
        for (index, call) in calls.into_iter().enumerate() {
            let name = call.name.unwrap_or_default();
            let recipient = RULES.recipient(&name);
            for text in [if index == 0 { "{\"" } else { ", {\"" }, &name, "\": "] {
                self.layout_of_template.text(text);
            }
            let mut message = Message { span: call.span, ..bare(at) };
            message.channel = Some(Channel::Commentary);
            message.end = End::Call;
            self.replies.call(call.id.as_deref(), &recipient);
            message.recipient = Some(recipient.into());
            message.content_type = Some("json".into());
            message.call_id = call.id;
            call.arguments.say(&mut message);
            self.layout_of_template.message(&mut message, count == 1);
            messages.push(message);
            self.layout_of_template.text("}");
        }
        self.layout_of_template.text("]");
        self.layout_of_template.control(Control::CloseSection(Section::Calls));
    }
}

/// Drops the keys that a message of this `role` cannot have. `None` is an unknown role.
fn keep_own(
    reader: &mut DocumentReader<'_>,
    role: Option<Role>,
    places: &[(&str, Span)],
    message: &mut Message<'_>,
) {
    for (key, place) in places {
        let (is_own, text) = match *key {
            "tool_calls" => (role == Some(Role::Assistant), "only the assistant can call tools"),
            _ => (role.is_none_or(|it| it == Role::Tool), "only a tool reply can have this key"),
        };
        if is_own {
            continue;
        }
        let help = format!("`{key}` will be dropped");
        reader.drop_value(Code::ParseJson.at(*place, text).help(help));
        match *key {
            "name" => message.name = None,
            "tool_call_id" => message.call_id = None,
            _ => {}
        }
    }
}

/// Returns an empty message of the assistant.
fn bare<'a>(like: &Message<'_>) -> Message<'a> {
    let mut message = Message::new(Role::Assistant, "");
    message.in_json = like.in_json;
    message.recovered = like.recovered;
    message
}

fn keep<'a>(message: &mut Message<'a>, value: Option<Value<'a>>) {
    let layout = message.layout.get_or_insert_default();
    **layout = Layout { form: RULES.form, content: value, ..Layout::default() };
}

fn wrong(
    reader: &mut DocumentReader<'_>,
    message: &Message<'_>,
    content: Option<Said<'_>>,
    text: &str,
) {
    match content {
        Some(said) => reader.drop_value(Code::ParseJson.at(said.place, text)),
        None => reader.report(Code::ParseJson.at(message.span, text)),
    }
}
