//! Reading a list of messages, a single one, or the body of a request or of a response.

use std::borrow::Cow;

use super::message::{self, State};
use super::{NAME, book};
use crate::diagnostic::quote;
use crate::json::{Json, JsonError, Sheet};
use crate::model::{Beyond, Conversation, Data, DocumentLayout, Message, Value};
use crate::read::{Parsed, ReadOptions};
use crate::{Code, Span};

type Result<T> = std::result::Result<T, JsonError>;

pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut sheet = Sheet::new(options);
    let mut json = sheet.json(text);
    let mut conversation = Conversation::default();
    let messages = &mut conversation.messages;
    let mut state = State::default();
    let mut fields = Vec::new();
    let is_message = json.ahead("role", &["messages", "choices"]).is_some();
    let read = match json.peek() {
        _ if is_message => sheet.message(&mut json, messages, |sheet, json, messages| {
            message::read(sheet, json, messages, &mut state)
        }),
        Some(b'{') => body(&mut sheet, &mut json, messages, &mut state, &mut fields),
        _ => list(&mut sheet, &mut json, messages, &mut state),
    };
    conversation.tools = state.declared.functions;
    conversation.layout = document_layout(NAME, fields, state.declared.hosted, Vec::new());
    sheet.finish(json, read, conversation.into(), book)
}

/// The layout of a document that says more than its messages and functions, if it does.
pub(crate) fn document_layout<'a>(
    dialect: &'static str,
    mut fields: Fields<'a>,
    hosted: Vec<Value<'a>>,
    items: Vec<Value<'a>>,
) -> Option<Box<DocumentLayout<'a>>> {
    if !hosted.is_empty() {
        fields.push(("tools".into(), Data::List(hosted).into()));
    }
    if fields.is_empty() && items.is_empty() {
        return None;
    }
    let beyond = Some(Box::new(Beyond { fields, items, ..Beyond::default() }));
    Some(Box::new(DocumentLayout { dialect, beyond, ..DocumentLayout::default() }))
}

/// Keys and their values.
pub(crate) type Fields<'a> = Vec<Field<'a>>;

/// A key and its value.
pub(crate) type Field<'a> = (Cow<'a, str>, Value<'a>);

/// Keys of bodies that say something of the conversation, and then those that do not.
const KEYS: &[&str] = &[
    "messages",
    "tools",
    "functions",
    "choices",
    // A request.
    "model",
    "temperature",
    "top_p",
    "n",
    "stream",
    "stream_options",
    "stop",
    "max_tokens",
    "max_completion_tokens",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "user",
    "seed",
    "tool_choice",
    "function_call",
    "parallel_tool_calls",
    "response_format",
    "reasoning_effort",
    "verbosity",
    "modalities",
    "audio",
    "prediction",
    "store",
    "metadata",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "web_search_options",
    "chat_template_kwargs",
    "top_k",
    "min_p",
    "repetition_penalty",
    // A response.
    "id",
    "object",
    "created",
    "usage",
    "system_fingerprint",
];

fn list<'a>(
    sheet: &mut Sheet<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    sheet.messages(json, messages, |sheet, json, messages| {
        message::read(sheet, json, messages, state)
    })
}

fn body<'a>(
    sheet: &mut Sheet<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
    fields: &mut Fields<'a>,
) -> Result<()> {
    let start = json.offset();
    let mut has_messages = false;
    sheet.object(json, KEYS, |sheet, json, key| {
        has_messages |= matches!(key, "messages" | "choices");
        match key {
            "messages" => list(sheet, json, messages, state),
            "tools" | "functions" => state.declared.read(sheet, json),
            "choices" => choices(sheet, json, messages, state),
            _ => aside(sheet, json, key, fields),
        }
    })?;
    if !has_messages {
        sheet.lacks("the object has no `messages`", start);
    }
    Ok(())
}

/// Keeps what is said to the service, or by it, and not in the conversation.
pub(crate) fn aside<'a>(
    sheet: &mut Sheet<'_>,
    json: &mut Json<'a>,
    key: &'static str,
    fields: &mut Fields<'a>,
) -> Result<()> {
    let value = json.value()?;
    let text = format!("{} is no part of a conversation", quote(key));
    let found = Code::UnknownKey.at(value.span, text);
    sheet.remark(found.help("only this format keeps it"));
    fields.retain(|field| field.0 != key);
    fields.push((key.into(), value));
    Ok(())
}

/// Reads the choices of a response. They are instead of each other: the first one counts.
fn choices<'a>(
    sheet: &mut Sheet<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    let mut is_first = true;
    sheet.array(json, |sheet, json| {
        if !std::mem::replace(&mut is_first, false) {
            let start = json.offset();
            json.skip()?;
            let span = Span::new(start, json.position());
            let found = Code::ParseJson.at(span, "one more choice for the same answer");
            sheet.tolerate(found.help("the first one is read; this one is left out"));
            return Ok(());
        }
        let keys = ["message", "index", "finish_reason", "logprobs", "stop_reason", "token_ids"];
        sheet.object(json, &keys, |sheet, json, key| match key {
            "message" => message::read(sheet, json, messages, state),
            _ => json.skip(),
        })?;
        Ok(())
    })
}
