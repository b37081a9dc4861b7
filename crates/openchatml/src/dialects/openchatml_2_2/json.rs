//! JSON interchange: one object for each message (SPEC §10).
//!
//! The plain-text envelope is canonical, so JSON that it cannot express is refused. The example of
//! §10 has no keys for some fields of the envelope (`name`, `call_id` of a reply, the end of a
//! message). For these, the keys of the canonical JSON are used.

use std::borrow::Cow;

use crate::Code;
use crate::document::{
    DocumentReader, Speaker, Written, read_messages, write_message, write_string_field,
};
use crate::json::{Json, JsonError};
use crate::model::{Channel, Document, End, Message, Role, Shape};
use crate::options::{ReadOptions, RenderOptions};
use crate::reading::Parsed;
use crate::rules::Carries;
use crate::writing::RenderError;

type Result<T> = std::result::Result<T, JsonError>;

pub(super) static CARRIES: Carries = Carries { header: false, ..super::CARRIES };

pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    read_messages(super::DIALECT.form(), text, options, &super::CHECKS, message)
}

pub(super) const KEYS: &[&str] = &[
    "role",
    "channel",
    "content",
    "tool_call",
    "thinking",
    "intent",
    "name",
    "recipient",
    "call_id",
    "content_type",
    "constrained",
    "end",
    "tool_calls",
];

/// The fields of an object, before it is known whether the text form can express it.
#[derive(Default)]
struct Object<'a> {
    content: Option<Written<'a>>,
    call: Option<Call<'a>>,
    thinking: Option<Written<'a>>,
    tool_calls: bool,
    /// Whether the object says that its content type is not a constraint.
    is_free: bool,
}

#[derive(Default)]
struct Call<'a> {
    id: Option<Cow<'a, str>>,
    recipient: Option<Cow<'a, str>>,
    content_type: Option<Cow<'a, str>>,
    arguments: Option<Written<'a>>,
}

fn message<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
) -> Result<()> {
    let mut object = Object::default();
    let mut speaker = None;
    let mut message = Message::new(Role::User, "");
    let span = reader.object(json, KEYS, |reader, json, key| {
        match key {
            "role" => speaker = reader.speaker(json, true)?,
            "content" => object.content = reader.content(json)?,
            "tool_call" => object.call = call(reader, json, &mut message)?,
            "thinking" => object.thinking = reader.written(json)?,
            "constrained" => {
                object.is_free = json.peek() == Some(b'f');
                reader.field(json, key, &mut message)?;
            }
            "tool_calls" => {
                object.tool_calls = true;
                json.skip()?;
            }
            _ => reader.field(json, key, &mut message)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(()) };
    message.span = span;
    message.in_json = true;
    let speaker = reader.spoken(speaker, span);
    let unfolded = unfold(reader, object, speaker, message);
    messages.extend(reader.sayable(unfolded, span));
    Ok(())
}

fn call<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    message: &mut Message<'a>,
) -> Result<Option<Call<'a>>> {
    if json.peek() == Some(b'n') {
        return json.word().map(|_| None);
    }
    let mut call = Call::default();
    let keys = ["id", "recipient", "content_type", "arguments"];
    let span = reader.object(json, &keys, |reader, json, key| {
        match key {
            "id" => call.id = reader.value(json, key, message)?,
            "recipient" => call.recipient = reader.value(json, key, message)?,
            "content_type" => call.content_type = reader.value(json, key, message)?,
            _ => call.arguments = reader.written(json)?,
        }
        Ok(())
    })?;
    Ok(span.map(|_| call))
}

/// Returns the messages of an object: its thinking, its content, and its call.
///
/// DEVIATION: the example of SPEC §10 has all three in one object, but the text form needs a
/// message for each. They are read in that order, with a diagnostic.
fn unfold<'a>(
    reader: &mut DocumentReader<'_>,
    object: Object<'a>,
    speaker: Speaker<'a>,
    mut message: Message<'a>,
) -> std::result::Result<Vec<Message<'a>>, &'static str> {
    let Object { mut content, call, thinking, tool_calls, is_free } = object;
    let role = speaker.role();
    reader.speak(speaker, &mut message);
    let mut messages = Vec::new();
    if tool_calls {
        return Err("this format has no `tool_calls`; write an object with `tool_call` for each");
    }
    if let Some(thinking) = thinking {
        if role != Some(Role::Assistant) {
            return Err("only the assistant can have reasoning");
        }
        let is_alone = content.is_none() && call.is_none();
        // If the object contains only reasoning, its other fields belong to the reasoning.
        let mut reasoning = match is_alone {
            true if message.recipient.is_some() => return Err("reasoning cannot have a recipient"),
            true => message.clone(),
            false => Message { span: message.span, ..Message::reasoning("") },
        };
        reasoning.channel = Some(Channel::Analysis);
        thinking.say(&mut reasoning);
        reasoning.body_at = 0;
        check(&reasoning)?;
        messages.push(reasoning);
        if is_alone {
            return Ok(messages);
        }
    }
    if call.is_some() {
        // Empty content means that the content is missing.
        content.take_if(|content| content.is_empty());
    }
    if is_free && call.as_ref().is_some_and(|call| call.content_type.is_some()) {
        let text = "the type of a call is always a constraint: `constrained` will be dropped";
        reader.drop_value(Code::ParseJson.at(message.span, text));
    }
    match (content, call) {
        (content, Some(call)) => {
            let mut made = self::made(reader, call, role, &mut message, content.is_some())?;
            free(reader, &mut made);
            if let Some(content) = content {
                free(reader, &mut message);
                let text = "an object with content and a tool call is read as two messages";
                let help = "write one object for each";
                reader.tolerate(Code::ParseJson.at(message.span, text).help(help));
                say(reader, content, message, &mut messages);
            }
            messages.push(made);
        }
        (Some(content), None) => {
            check(&message)?;
            say(reader, content, message, &mut messages);
        }
        (None, None) if message.end == End::Open => {
            message.end = End::Prompt;
            check(&message)?;
            messages.push(message);
        }
        (None, None) => {
            return Err("the message has neither content nor a tool call");
        }
    }
    Ok(messages)
}

/// Drops a constraint without a type if that is the only error, because there is a call.
fn free(reader: &mut DocumentReader<'_>, message: &mut Message<'_>) {
    if check(message).is_err() {
        let text = "`constrained` requires a `content_type`: `constrained` will be dropped";
        reader.drop_value(Code::ParseJson.at(message.span, text));
        message.constrained = false;
    }
}

/// Adds the message, and its reasoning if it contains some.
fn say<'a>(
    reader: &mut DocumentReader<'_>,
    mut content: Written<'a>,
    mut message: Message<'a>,
    messages: &mut Vec<Message<'a>>,
) {
    let marker = content.take_marker();
    content.say(&mut message);
    let reasoning = reader.place_marker(&mut message, marker);
    messages.push(message);
    messages.extend(reasoning);
}

fn check(message: &Message<'_>) -> std::result::Result<(), &'static str> {
    match message.constrained && message.content_type.is_none() {
        true => Err("`constrained` requires a `content_type`"),
        false => Ok(()),
    }
}

/// Returns the message of a call. The fields of the object belong to the call or, if it also
/// `speaks`, to its content.
fn made<'a>(
    reader: &mut DocumentReader<'_>,
    call: Call<'a>,
    role: Option<Role>,
    message: &mut Message<'a>,
    speaks: bool,
) -> std::result::Result<Message<'a>, &'static str> {
    if role != Some(Role::Assistant) {
        return Err("only the assistant can call tools");
    }
    if message.end != End::End && message.end != End::Call {
        return Err("a tool call must end with `<|call|>`");
    }
    if message.recipient.is_some() || message.call_id.is_some() {
        return Err("the recipient and the id of a call belong in `tool_call`");
    }
    let mut made = message.clone();
    if speaks {
        message.end = End::End;
        made.intent = None;
        (made.content_type, made.constrained) = (None, false);
        if made.effective_channel() == Channel::Final {
            // The content is on that channel.
            made.channel = Some(Channel::Commentary);
        }
    }
    made.recipient = call.recipient;
    if made.recipient.is_none() {
        // Without a recipient, it would be an answer to the user.
        let found = Code::ParseHeader.at(made.span, "the call does not name a tool");
        reader.report(found.help("the call is hidden and not run; add `recipient` to `tool_call`"));
        made.channel = Some(Channel::Analysis);
        made.recovered = true;
    }
    made.call_id = call.id;
    if let Some(content_type) = call.content_type {
        if !speaks && made.content_type.as_ref().is_some_and(|it| *it != content_type) {
            let text =
                "the content type of a call belongs in `tool_call`: this one will be dropped";
            reader.drop_value(Code::ParseJson.at(made.span, text));
        }
        made.content_type = Some(content_type);
        made.constrained = true;
    }
    call.arguments.unwrap_or_default().say(&mut made);
    made.end = End::Call;
    Ok(made)
}

pub(super) fn write(
    document: &Document<'_>,
    options: &RenderOptions,
) -> std::result::Result<String, RenderError> {
    let Some(conversation) = document.as_conversation() else {
        return Err(RenderError::not_a_conversation("openchatml-2.2"));
    };
    let mut out = String::from("[");
    let prompt = options.generation_prompt.map(|role| {
        let mut prompt = Message::new(role, "");
        prompt.end = End::Prompt;
        prompt
    });
    let last = conversation.messages.len();
    for (index, message) in conversation.messages.iter().chain(&prompt).enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        let is_open = options.continue_final && index + 1 == last && prompt.is_none();
        match message.body.as_plain() {
            Some(arguments) if message.end == End::Call && message.is_call() && !is_open => {
                write_call(&mut out, message, arguments);
            }
            _ if is_open => {
                let mut open = message.clone();
                open.end = End::Open;
                write_message(&mut out, &open);
            }
            _ => write_message(&mut out, message),
        }
    }
    out.push(']');
    let is_one = last == 1 && prompt.is_none();
    match is_one && conversation.shape(super::DIALECT.form()) == Shape::Message {
        true => Ok(out[1..out.len() - 1].to_owned()),
        false => Ok(out),
    }
}

fn write_call(out: &mut String, message: &Message<'_>, arguments: &str) {
    out.push_str(r#"{"role":"assistant""#);
    write_string_field(out, "name", message.name.as_deref());
    write_string_field(out, "channel", message.channel.map(|channel| channel.as_str()));
    write_string_field(out, "intent", message.intent.map(|intent| intent.as_str()));
    let content_type = message.content_type.as_deref();
    write_string_field(out, "content_type", content_type.filter(|_| !message.constrained));
    let fields = [
        ("id", message.call_id.as_deref()),
        ("recipient", message.recipient.as_deref()),
        ("content_type", content_type.filter(|_| message.constrained)),
        ("arguments", Some(arguments)),
    ];
    let mut call = String::new();
    for (key, value) in fields {
        write_string_field(&mut call, key, value);
    }
    out.push_str(",\"tool_call\":{");
    out.push_str(call.trim_start_matches(','));
    out.push_str("}}");
}
