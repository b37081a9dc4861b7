//! Reading a list of messages, a single one, or the body of a request or of a response.

use super::state::State;
use super::{NAME, book, message};
use crate::json::{Json, JsonError, Sheet};
use crate::model::{Conversation, Message};
use crate::read::{Parsed, ReadOptions};
use crate::{Code, Span};

type Result<T> = std::result::Result<T, JsonError>;

pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut sheet = Sheet::new(options);
    let mut json = sheet.json(text);
    let mut conversation = Conversation::default();
    let messages = &mut conversation.messages;
    let mut state = State::default();
    let is_message = json.ahead("role", &["messages", "choices"]).is_some();
    let read = match json.peek() {
        _ if is_message => sheet.message(&mut json, messages, |sheet, json, messages| {
            message::read(sheet, json, messages, &mut state)
        }),
        Some(b'{') => body(&mut sheet, &mut json, messages, &mut state),
        _ => list(&mut sheet, &mut json, messages, &mut state),
    };
    state.end(&mut conversation, NAME, &options.limits);
    sheet.finish(json, read, conversation.into(), book)
}

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
) -> Result<()> {
    let start = json.offset();
    let mut has_messages = false;
    sheet.object(json, KEYS, |sheet, json, key| {
        has_messages |= matches!(key, "messages" | "choices");
        match key {
            "messages" => list(sheet, json, messages, state),
            "tools" | "functions" => state.declared.read(sheet, json),
            "choices" => choices(sheet, json, messages, state),
            _ => state.aside(sheet, json, key),
        }
    })?;
    if !has_messages {
        sheet.lacks("the object has no `messages`", start);
    }
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
