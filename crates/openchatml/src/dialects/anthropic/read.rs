//! Reads the body of a request, a response, a list of messages, a single message, or the events of a
//! streamed response.

use super::{FORM, events, message, tools};
use crate::Code;
use crate::document::{DocumentReader, Root};
use crate::json::{Json, JsonError};
use crate::model::{Conversation, Message, Role};
use crate::options::ReadOptions;
use crate::reading::Parsed;
use crate::services::blocks::{said, say};
use crate::services::parts::{self, Kind};
use crate::services::{State, checks};

type Result<T> = std::result::Result<T, JsonError>;

pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    match events::find(text) {
        Some(_) => events::read(text, options),
        None => read_document(text, options),
    }
}

pub(super) fn read_document<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut reader = DocumentReader::new(options);
    let mut json = reader.json(text);
    let mut conversation = Conversation::default();
    let messages = &mut conversation.messages;
    let mut state = State::default();
    let mut system = Vec::new();
    let root = Root::of(&mut json, &["role"], &["messages"]);
    let read = match root {
        Root::List => list(&mut reader, &mut json, messages, &mut state),
        Root::Message => reader.message(&mut json, messages, |reader, json, messages| {
            message::read(reader, json, messages, &mut state)
        }),
        Root::Object => body(&mut reader, &mut json, messages, &mut system, &mut state),
        Root::Other => reader.no_conversation(&mut json),
    };
    state.put_first(messages, system);
    if messages.len() > options.limits.messages {
        messages.truncate(options.limits.messages);
        reader.too_many(0, &json);
    }
    state.end(&mut conversation, FORM, &mut reader);
    conversation.set_shape(FORM, root.shape());
    reader.finish(json, read, conversation.into(), checks)
}

/// Keys of bodies: first those with parts of the conversation, then all others.
pub(super) const KEYS: &[&str] = &[
    "messages",
    "system",
    "tools",
    "model",
    "max_tokens",
    "cache_control",
    "container",
    "context_management",
    "diagnostics",
    "inference_geo",
    "mcp_servers",
    "metadata",
    "output_config",
    "output_format",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "temperature",
    "thinking",
    "tool_choice",
    "top_k",
    "top_p",
    "user_profile_id",
    "workspace_id",
    // An error of the service.
    "type",
    "error",
    "request_id",
    // In other clouds, and of libraries.
    "anthropic_version",
    "anthropic_beta",
    "betas",
];

fn list<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    reader.messages(json, messages, |reader, json, messages| {
        message::read(reader, json, messages, state)
    })
}

fn body<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    system: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    let start = json.offset();
    let mut has_messages = false;
    reader.object(json, KEYS, |reader, json, key| {
        has_messages |= key == "messages";
        match key {
            "messages" => list(reader, json, messages, state),
            "system" => {
                system.clear();
                instructions(reader, json, system)
            }
            "tools" => tools::read(reader, json, &mut state.declared),
            _ => state.aside(json, key),
        }
    })?;
    match state.failure() {
        _ if has_messages => {}
        Some(error) => reader.report(error),
        None => reader.lacks("the object has no `messages`", start),
    }
    Ok(())
}

/// Reads the value of `system`: a string, or blocks of text, each of which is a message.
fn instructions<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    system: &mut Vec<Message<'a>>,
) -> Result<()> {
    if json.peek() != Some(b'[') {
        system.extend(reader.text_message(json, Role::System)?);
        return Ok(());
    }
    reader.array(json, |reader, json| {
        if json.peek() != Some(b'{') {
            return reader.wrong(json, "an object");
        }
        let part = json.value()?;
        let span = part.span;
        if Kind::of(&part) != Kind::Text || parts::text(&part).is_none() {
            let found = Code::ParseJson.at(span, "a block of `system` must be text");
            reader.drop_item(found.help("the block will be dropped"));
            return Ok(());
        }
        if let Some(said) = said(reader, vec![part]) {
            let mut message = Message::new(Role::System, "");
            (message.in_json, message.span) = (true, span);
            say(said, &mut message, FORM);
            system.push(message);
        }
        Ok(())
    })
}
