//! Reads the body of a request or a response, a list of contents, or a single content.

use super::write::CANDIDATES;
use super::{FORM, content, events, part, tools};
use crate::diagnostic::quote;
use crate::document::{DocumentReader, Root, same};
use crate::json::{Data, Json, JsonError};
use crate::model::{Conversation, Message, Role, Shape};
use crate::options::ReadOptions;
use crate::reading::Parsed;
use crate::services::blocks::{Block, said, say};
use crate::services::{Fields, State, checks, parts};
use crate::{Code, Span};

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
    let root = Root::of(&mut json, &["role"], &["contents", "candidates"]);
    let read = match root {
        Root::List => list(&mut reader, &mut json, messages, &mut state),
        Root::Message => reader.message(&mut json, messages, |reader, json, messages| {
            content::read(reader, json, messages, &mut state, Role::User)
        }),
        Root::Object => body(&mut reader, &mut json, messages, &mut system, &mut state),
        Root::Other => reader.no_conversation(&mut json),
    };
    let shape = if state.is_response { Shape::Response } else { root.shape() };
    state.put_first(messages, system);
    if messages.len() > options.limits.messages {
        messages.truncate(options.limits.messages);
        reader.too_many(0, &json);
    }
    state.end(&mut conversation, FORM, &mut reader);
    conversation.set_shape(FORM, shape);
    reader.finish(json, read, conversation.into(), checks)
}

/// Keys of bodies: first those with parts of the conversation, then all others.
pub(super) const KEYS: &[&str] = &[
    "contents",
    "candidates",
    "systemInstruction",
    "system_instruction",
    "tools",
    // A request.
    "model",
    "toolConfig",
    "tool_config",
    "generationConfig",
    "generation_config",
    "safetySettings",
    "safety_settings",
    "cachedContent",
    "cached_content",
    "labels",
    "config",
    "store",
    "serviceTier",
    "service_tier",
    // A response.
    "usageMetadata",
    "usage_metadata",
    "modelVersion",
    "model_version",
    "responseId",
    "response_id",
    "promptFeedback",
    "prompt_feedback",
    "createTime",
    // What a dump of the official Python library has beside a response.
    "sdkHttpResponse",
    "sdk_http_response",
    "parsed",
    "automaticFunctionCallingHistory",
    "automatic_function_calling_history",
    "create_time",
    "modelStatus",
    "model_status",
    // An error of the service.
    "error",
];

const SYSTEM: u64 = same(KEYS, &["systemInstruction", "system_instruction"]);

/// Returns the reason why the service answered nothing, if it says one.
fn blocked(state: &State<'_>) -> Option<(String, Span)> {
    let feedback = state.field("promptFeedback").or_else(|| state.field("prompt_feedback"))?;
    let reason = feedback.get("blockReason").or_else(|| feedback.get("block_reason"))?;
    Some((reason.as_str()?.to_owned(), reason.span))
}

fn list<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    reader.messages(json, messages, |reader, json, messages| {
        content::read(reader, json, messages, state, Role::User)
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
    reader.object_of(json, KEYS, &[SYSTEM], |reader, json, key| {
        has_messages |= matches!(key, "contents" | "candidates");
        match key {
            // A single content, or text, is what libraries accept.
            "contents" if json.peek() == Some(b'"') => {
                messages.extend(reader.text_message(json, Role::User)?);
                Ok(())
            }
            "contents" if json.peek() == Some(b'{') => {
                reader.message(json, messages, |reader, json, messages| {
                    content::read(reader, json, messages, state, Role::User)
                })
            }
            "contents" => list(reader, json, messages, state),
            "candidates" => candidates(reader, json, messages, state),
            "systemInstruction" | "system_instruction" => instructions(reader, json, system),
            "tools" => tools::read(reader, json, &mut state.declared),
            _ => state.aside(json, key),
        }
    })?;
    if !has_messages {
        match (blocked(state), state.failure()) {
            (_, Some(error)) => reader.report(error),
            (Some((reason, span)), None) => {
                let text = format!("the service blocked the prompt: {}", quote(&reason));
                reader.report(Code::StreamTruncated.at(span, text));
            }
            (None, None) => reader.lacks("the object has no `contents`", start),
        }
    }
    Ok(())
}

/// Reads the system instruction: a string, or a content with text, each part of which is a message.
fn instructions<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    system: &mut Vec<Message<'a>>,
) -> Result<()> {
    system.clear();
    if json.peek() == Some(b'"') {
        system.extend(reader.text_message(json, Role::System)?);
        return Ok(());
    }
    if json.peek() == Some(b'n') {
        return json.word().map(|_| ());
    }
    reader.object(json, &["parts", "role"], |reader, json, key| {
        if key == "role" {
            // The API ignores it.
            const ROLES: &[&str] = &["user", "system", "model"];
            reader.word(json, "role", ROLES, |word| ROLES.contains(&word).then_some(()))?;
            return Ok(());
        }
        for block in part::list(reader, json)? {
            match block {
                Block::Part(part) if parts::text(&part).is_some() => {
                    let span = part.span;
                    let mut message = Message::new(Role::System, "");
                    (message.in_json, message.span) = (true, span);
                    if let Some(said) = said(reader, vec![part]) {
                        say(said, &mut message, FORM);
                    }
                    system.push(message);
                }
                Block::Part(part) => not_text(reader, part.span),
                Block::Thinking(message) | Block::Call(message) | Block::Result(message, ..) => {
                    not_text(reader, message.span);
                }
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn not_text(reader: &mut DocumentReader<'_>, span: Span) {
    let found = Code::ParseJson.at(span, "a part of the system instruction must be text");
    reader.drop_item(found.help("the part will be dropped"));
}

/// Keys of a candidate: the content, and others that are kept.
const CANDIDATE_KEYS: &[&str] = &[
    "content",
    "finishReason",
    "finish_reason",
    "finishMessage",
    "finish_message",
    "index",
    "safetyRatings",
    "safety_ratings",
    "citationMetadata",
    "citation_metadata",
    "tokenCount",
    "token_count",
    "groundingMetadata",
    "grounding_metadata",
    "groundingAttributions",
    "avgLogprobs",
    "avg_logprobs",
    "logprobsResult",
    "logprobs_result",
    "urlContextMetadata",
    "url_context_metadata",
    "continuationToken",
];

/// Reads the candidates of a response. They are alternatives: the first one is used.
fn candidates<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    let mut fields: Fields<'a> = Vec::new();
    let (mut has_candidate, mut has_content) = (false, false);
    let start = json.offset();
    state.is_response = true;
    let read = reader.array(json, |reader, json| {
        if std::mem::replace(&mut has_candidate, true) {
            let start = json.offset();
            json.skip()?;
            let span = Span::new(start, json.position());
            let found = Code::ParseJson.at(span, "the response has more than one candidate");
            reader.drop_item(found.help("only the first one is read; this one will be dropped"));
            return Ok(());
        }
        reader.object(json, CANDIDATE_KEYS, |reader, json, key| match key {
            "content" if json.peek() == Some(b'{') => {
                has_content = true;
                reader.message(json, messages, |reader, json, messages| {
                    content::read(reader, json, messages, state, Role::Assistant)
                })
            }
            "content" => reader.wrong(json, "an object"),
            _ => {
                let value = json.value()?;
                fields.retain(|field| field.0 != key);
                fields.push((key.into(), value));
                Ok(())
            }
        })?;
        let is_reason = |key: &str| matches!(key, "finishReason" | "finish_reason");
        if let Some((_, reason)) = fields.iter().find(|field| is_reason(&field.0)) {
            state.ended(reason, messages);
        }
        Ok(())
    });
    let candidate = (!fields.is_empty()).then(|| Data::Map(fields).into());
    state.keep(CANDIDATES, Data::List(candidate.into_iter().collect()).into());
    read?;
    if !has_content {
        reader.lacks("no candidate of the response has `content`", start);
    }
    Ok(())
}
