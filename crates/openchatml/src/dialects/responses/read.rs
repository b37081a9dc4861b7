//! Reads a list of items, or the body of a request or a response.

use super::{FORM, checks, events, item};
use crate::document::{DocumentReader, Root};
use crate::json::{Data, Json, JsonError};
use crate::model::{Conversation, Message, Role, Shape};
use crate::options::ReadOptions;
use crate::reading::Parsed;
use crate::services::cut::failure;
use crate::services::{State, beyond};

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
    // A single item has a type, or only a role.
    let root = Root::of(&mut json, &["role", "type"], &["input", "output"]);
    let read = match root {
        Root::List => items(&mut reader, &mut json, messages, &mut state),
        Root::Message => reader.message(&mut json, messages, |reader, json, messages| {
            one(reader, json, messages, &mut state)
        }),
        Root::Object => body(&mut reader, &mut json, messages, &mut state),
        Root::Other => reader.no_conversation(&mut json),
    };
    let first_output = state.first_output.map(|at| at + usize::from(state.first.is_some()));
    state.end(&mut conversation, FORM, &mut reader);
    conversation.set_shape(FORM, first_output.map_or(root.shape(), Shape::Exchange));
    reader.finish(json, read, conversation.into(), checks)
}

/// Keys of bodies: first those with parts of the conversation, then all others.
pub(super) const KEYS: &[&str] = &[
    "input",
    "output",
    "instructions",
    "tools",
    // A request.
    "model",
    "background",
    "conversation",
    "include",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
    "context_management",
    // A response.
    "id",
    "object",
    "created_at",
    "completed_at",
    "status",
    "error",
    "incomplete_details",
    "usage",
    "output_text",
    "billing",
    "frequency_penalty",
    "presence_penalty",
];

fn items<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    reader.messages(json, messages, |reader, json, messages| one(reader, json, messages, state))
}

fn one<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    let first = messages.len();
    item::read(reader, json, messages, state)?;
    if let Some(message) = messages.get_mut(first) {
        if message.is_call() {
            state.replies.call(message);
        }
        if !state.items.is_empty() {
            beyond(message, FORM).items = std::mem::take(&mut state.items);
        }
    }
    Ok(())
}

fn body<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    let start = json.offset();
    let mut has_items = false;
    reader.object(json, KEYS, |reader, json, key| {
        has_items |= matches!(key, "input" | "output");
        let before = messages.len();
        match key {
            "input" if json.peek() == Some(b'"') => {
                messages.extend(reader.text_message(json, Role::User)?);
                messages.truncate(reader.options.limits.messages);
            }
            "output" => {
                state.first_output.get_or_insert(messages.len());
                items(reader, json, messages, state)?;
            }
            "input" => items(reader, json, messages, state)?,
            "instructions" if json.peek() == Some(b'[') => items(reader, json, messages, state)?,
            "instructions" => {
                state.first = reader.text_message(json, Role::Developer)?.map(|mut message| {
                    beyond(&mut message, FORM).key = "instructions";
                    message
                });
            }
            "tools" => state.declared.read(reader, json)?,
            _ => state.aside(json, key)?,
        }
        // The request precedes the answer, whatever their order in the document.
        if let Some(first) = state.first_output.filter(|_| key == "input") {
            let asked = messages.len().saturating_sub(before);
            messages[first..].rotate_right(asked);
            state.first_output = Some(first + asked);
        }
        Ok(())
    })?;
    if state.first_output.is_some_and(|first| first < messages.len()) {
        state.ended_by("status", messages);
    }
    if state.first_output.is_some()
        && let Some(error) = state.field("error").filter(|it| it.data != Data::Null)
    {
        reader.report(failure(error, error.span));
    }
    if !has_items {
        reader.lacks("the object has neither `input` nor `output`", start);
    }
    Ok(())
}
