//! Reads a list of messages, a single message, or the body of a request or a response.

use super::write::CHOICES;
use super::{FORM, events};
use crate::document::{DocumentReader, Key, Keys, Others, Root, continued, one_side};
use crate::json::{Data, Json, JsonError};
use crate::model::{Conversation, Message, Shape};
use crate::options::ReadOptions;
use crate::reading::Parsed;
use crate::services::{Fields, State, chat, checks, last_of_each, push_column};
use crate::{Code, Dropped, Span};

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
    let mut sides = [None, None];
    let root = Root::of(&mut json, &["role"], &["messages", "choices"]);
    let read = match root {
        Root::List => list(&mut reader, &mut json, messages, &mut state),
        Root::Message => reader.message(&mut json, messages, |reader, json, messages| {
            chat::read(reader, json, messages, &mut state, FORM)
        }),
        Root::Object => body(&mut reader, &mut json, messages, &mut state, &mut sides),
        Root::Other => reader.no_conversation(&mut json),
    };
    let shape = if state.is_response { Shape::Response } else { root.shape() };
    state.end(&mut conversation, FORM, &mut reader);
    let document = match sides {
        [Some(chosen), Some(rejected)] => {
            continued(&mut reader, &json, FORM, conversation, [chosen, rejected])
        }
        _ => {
            conversation.set_shape(FORM, shape);
            conversation.into()
        }
    };
    reader.finish(json, read, document, checks)
}

/// The number of keys with parts of the conversation.
const CONVERSATION: usize = 7;

/// Keys of bodies: first those with parts of the conversation, then those of requests and responses.
/// All others are kept, too.
pub(super) const KEYS: &[&str] = &[
    "messages",
    "tools",
    "functions",
    "choices",
    // A preference pair of a file for fine-tuning.
    "input",
    "preferred_output",
    "non_preferred_output",
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
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    reader.messages(json, messages, |reader, json, messages| {
        chat::read(reader, json, messages, state, FORM)
    })
}

/// Reads a body. Its `sides` are two outputs for the same input, if it is a preference pair.
fn body<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
    sides: &mut [Option<Vec<Message<'a>>>; 2],
) -> Result<()> {
    let start = json.offset();
    let mut has_messages = false;
    let keys = Keys { known: KEYS, same: &[], others: Others::Columns(&KEYS[..CONVERSATION]) };
    reader.object_with(json, &keys, |reader, json, key| {
        let key = match key {
            Key::Known(key) => key,
            Key::Other(key) => return state.other(reader, json, key),
        };
        has_messages |= matches!(key, "messages" | "choices");
        match key {
            "input" => {
                has_messages = true;
                input(reader, json, messages, state)
            }
            "preferred_output" => side(reader, json, &mut sides[0]),
            "non_preferred_output" => side(reader, json, &mut sides[1]),
            "messages" => list(reader, json, messages, state),
            "tools" | "functions" => state.declared.read(reader, json),
            "choices" => choices(reader, json, messages, state),
            _ => state.aside(json, key),
        }
    })?;
    match state.failure() {
        _ if has_messages => {}
        Some(error) => reader.report(error),
        None => reader.lacks("the object has no `messages`", start),
    }
    one_side(reader, messages, sides, ["preferred_output", "non_preferred_output"], start);
    Ok(())
}

/// Reads the input of a preference pair: a request.
fn input<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    let start = json.offset();
    let mut has_messages = false;
    reader.object(json, INPUT_KEYS, |reader, json, key| match key {
        "messages" => {
            has_messages = true;
            list(reader, json, messages, state)
        }
        "tools" => state.declared.read(reader, json),
        _ => state.aside(json, key),
    })?;
    if !has_messages {
        reader.lacks("the `input` has no `messages`", start);
    }
    Ok(())
}

/// Keys of the input of a preference pair.
pub(super) const INPUT_KEYS: &[&str] = &["messages", "tools", "parallel_tool_calls"];

/// Reads an output of a preference pair: messages of the assistant.
fn side<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    side: &mut Option<Vec<Message<'a>>>,
) -> Result<()> {
    // An output has no replies to calls of the input, and declares nothing.
    let (mut messages, mut state) = (Vec::new(), State::default());
    list(reader, json, &mut messages, &mut state)?;
    *side = Some(messages);
    Ok(())
}

/// Reads the choices of a response. They are alternatives: the first one is used.
fn choices<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    let mut fields: Fields<'a> = Vec::new();
    let mut has_choice = false;
    let mut has_message = false;
    let start = json.offset();
    state.is_response = true;
    let read = reader.array(json, |reader, json| {
        if std::mem::replace(&mut has_choice, true) {
            let start = json.offset();
            json.skip()?;
            let span = Span::new(start, json.position());
            let found = Code::ParseJson.at(span, "the response has more than one choice");
            reader.drop_item(found.help("only the first choice is read; this one will be dropped"));
            return Ok(());
        }
        let keys = Keys { known: CHOICE_KEYS, same: &[], others: Others::Fields(CHOICE_KEYS) };
        reader.object_with(json, &keys, |reader, json, key| match key {
            Key::Known("message") => {
                has_message = true;
                reader.message(json, messages, |reader, json, messages| {
                    chat::read(reader, json, messages, state, FORM)
                })
            }
            Key::Known(key) => {
                let value = json.value()?;
                fields.retain(|field| field.0 != key);
                fields.push((key.into(), value));
                Ok(())
            }
            Key::Other(key) => push_column(&mut fields, reader, json, key),
        })?;
        if let Some((_, reason)) = fields.iter().find(|field| field.0 == "finish_reason") {
            state.ended(reason, messages);
        }
        Ok(())
    });
    let has_text = fields.iter().any(|field| field.0 == "text");
    let choice = (!fields.is_empty()).then(|| Data::Map(last_of_each(fields)).into());
    state.keep(CHOICES, Data::List(choice.into_iter().collect()).into());
    read?;
    if !has_message && has_text {
        let text = "this is the response of a text completion, which has no `message`";
        let found = Code::ParseJson.at(Span::new(start, start + 1), text).drops(Dropped::Record);
        let help = "read the text of `choices` in the format of the model, such as `harmony`";
        reader.report(found.help(help));
    } else if !has_message {
        reader.lacks("no choice of the response has a `message`", start);
    }
    Ok(())
}

/// Keys of a choice. All others are kept, too. `text` is that of a text completion.
const CHOICE_KEYS: &[&str] =
    &["message", "index", "finish_reason", "logprobs", "stop_reason", "token_ids", "text"];
