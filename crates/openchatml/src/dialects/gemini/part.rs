//! Reads one part of a content: text and media, a thought, a call, or its result.

use std::borrow::Cow;

use super::FORM;
use crate::diagnostic::quote;
use crate::document::{DocumentReader, Written, may_hide};
use crate::json::{Data, Json, JsonError, Value};
use crate::model::{Channel, Message, Role};
use crate::rules::{Loss, Lost, lost_field, medium};
use crate::services::blocks::{Block, refuse};
use crate::services::calls::{self, is_inline_object};
use crate::services::{Fields, beyond, parts};
use crate::{Code, Dropped, Span};

type Result<T> = std::result::Result<T, JsonError>;

/// The keys of parts. The API also accepts them in snake case.
const KEYS: &[&str] = &[
    "text",
    "thought",
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "thoughtSignature",
    "partMetadata",
    "videoMetadata",
    "mediaResolution",
];

/// The keys that can be beside any kind of data.
const BESIDE: &[&str] = &["thoughtSignature", "partMetadata", "videoMetadata", "mediaResolution"];

/// The keys inside of calls and results that are kept.
const INSIDE: &[&str] = &["willContinue", "partialArgs", "scheduling", "parts"];

/// The keys that belong to a part.
pub(super) const OWN_KEYS: &[&str] = &[
    "thoughtSignature",
    "partMetadata",
    "videoMetadata",
    "mediaResolution",
    "willContinue",
    "partialArgs",
    "scheduling",
    "parts",
];

/// Whether a kept key is inside of the call or the result, and not beside it.
pub(super) fn is_inside(key: &str) -> bool {
    INSIDE.contains(&key)
}

/// Returns the key among `known` that this one spells, in camel case or in snake case.
fn known_key(key: &str, known: &[&'static str]) -> Option<&'static str> {
    known.iter().find(|camel| is_spelled(key, camel)).copied()
}

fn is_spelled(key: &str, camel: &str) -> bool {
    if !key.contains('_') {
        return key == camel;
    }
    let mut rest = key.bytes();
    let is_snake = camel.bytes().all(|byte| {
        let is_boundary = byte.is_ascii_uppercase();
        (!is_boundary || rest.next() == Some(b'_'))
            && rest.next() == Some(byte.to_ascii_lowercase())
    });
    is_snake && rest.next().is_none()
}

/// Reads a list of parts.
pub(super) fn list<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<Vec<Block<'a>>> {
    let mut blocks = Vec::new();
    reader.array(json, |reader, json| {
        if json.peek() != Some(b'{') {
            return reader.wrong(json, "an object");
        }
        let repaired = json.repaired();
        let part = json.value()?;
        let source = Source { text: json.text, is_repaired: json.repaired() > repaired };
        blocks.extend(block(reader, part, source));
        Ok(())
    })?;
    Ok(blocks)
}

/// The JSON that a part was read from.
#[derive(Clone, Copy)]
struct Source<'a> {
    text: &'a str,
    is_repaired: bool,
}

impl<'a> Source<'a> {
    /// Returns a value as it was spelled, on one line.
    fn spelled(self, value: &Value<'_>) -> Cow<'a, str> {
        let raw = self.text.get(value.span.range()).unwrap_or_default();
        match self.is_repaired || raw.contains(['\n', '\r']) {
            true => Cow::Owned(value.to_json()),
            false => Cow::Borrowed(raw),
        }
    }
}

/// Returns the block of a part.
fn block<'a>(
    reader: &mut DocumentReader<'_>,
    part: Value<'a>,
    source: Source<'a>,
) -> Option<Block<'a>> {
    let find = |wanted: &str| {
        let mut fields = part.as_map().unwrap_or_default().iter();
        fields.rfind(|(key, _)| known_key(key, KEYS) == Some(wanted)).map(|field| &field.1)
    };
    let has = |wanted: &str| find(wanted).is_some_and(|value| value.data != Data::Null);
    if has("functionCall") {
        return call(reader, part, source);
    }
    if has("functionResponse") {
        return result(reader, part, source);
    }
    let thought = find("thought").filter(|it| !matches!(it.data, Data::Bool(false) | Data::Null));
    if let Some(value) = thought.filter(|it| it.data != Data::Bool(true)) {
        // The text is hidden, because it is unknown what it is.
        let text = format!("expected `true` or `false`, found {}", value.kind());
        reader.drop_value(Code::ParseJson.at(value.span, text));
    }
    let is_thought = thought.is_some();
    if is_thought && find("text").is_some_and(|text| text.as_str().is_some()) {
        return Some(Block::Thinking(self::thought(reader, part)));
    }
    report(reader, &part, is_thought);
    Some(Block::Part(part))
}

/// Reports a part that is unknown.
fn report(reader: &mut DocumentReader<'_>, part: &Value<'_>, is_thought: bool) {
    parts::report_hidden(reader, part, |key| known_key(key, KEYS).is_none() && may_hide(key));
    let fields = part.as_map().unwrap_or_default();
    let unknown = fields.iter().find(|(key, _)| known_key(key, KEYS).is_none());
    let is_data = |key: &str| known_key(key, KEYS).is_some_and(|key| !BESIDE.contains(&key));
    let text = match unknown {
        Some((key, _)) => format!("unknown key {} of a part", quote(key)),
        None if is_thought || fields.iter().any(|(key, _)| is_data(key)) => return,
        None => "this part has no data".to_owned(),
    };
    let found = Code::ParseJson.at(part.span, text);
    reader
        .tolerate(found.help("the part is kept, but a conversion to another format will drop it"));
}

/// Takes the fields beside the data of a part, and reports all others but `own`.
fn beside<'a>(
    reader: &mut DocumentReader<'_>,
    fields: Fields<'a>,
    own: &[&str],
    kept: &mut Fields<'a>,
) {
    for (key, value) in fields {
        match known_key(&key, KEYS) {
            Some(known) if own.contains(&known) || value.data == Data::Null => {}
            Some(known) if BESIDE.contains(&known) => {
                kept.retain(|field| field.0 != known);
                kept.push((known.into(), value));
            }
            Some(_) => {
                let text = format!("a part with {} has no {}", quote(own[0]), quote(&key));
                let found = Code::ParseJson.at(value.span, text);
                reader.drop_value(found.help("write a part for each"));
            }
            None => reader.unknown_key(&key, KEYS, value.span),
        }
    }
}

/// Returns the fields of a part, and those of the object under its key `own`.
fn open<'a>(part: Value<'a>, own: &str) -> (Fields<'a>, Value<'a>) {
    let Data::Map(mut fields) = part.data else { return (Fields::new(), Value::default()) };
    let at = fields.iter().rposition(|(key, _)| known_key(key, KEYS) == Some(own));
    let inner = at.map(|at| fields.remove(at).1);
    (fields, inner.unwrap_or_default())
}

/// Returns a word of a header, within the limit.
fn word<'a>(
    reader: &mut DocumentReader<'_>,
    key: &str,
    value: Value<'a>,
    message: &mut Message<'_>,
) -> Option<(Cow<'a, str>, Span)> {
    let most = reader.options.limits.value_bytes;
    match value.data {
        Data::String(word) if word.len() <= most => return Some((word, value.span)),
        Data::Null => return None,
        Data::String(_) => {
            let text = format!("`{key}` exceeds the limit `value_bytes` of {most}");
            let found = Code::Limit.at(value.span, text).help("it will be dropped");
            reader.report(found.drops(Dropped::Limit));
        }
        _ => {
            let text = format!("expected a string, found {}", value.kind());
            reader.drop_value(Code::ParseJson.at(value.span, text));
        }
    }
    message.recovered = true;
    None
}

fn thought<'a>(reader: &mut DocumentReader<'_>, part: Value<'a>) -> Message<'a> {
    let mut message = Message::new(Role::Assistant, "");
    message.channel = Some(Channel::Analysis);
    (message.in_json, message.span) = (true, part.span);
    let (fields, text) = open(part, "text");
    if let Data::String(said) = text.data {
        let (said, is_cut) = reader.limited(said, text.span);
        Written::new(said, text.span.start + 1).cut(is_cut).say(&mut message);
    }
    let mut kept = Fields::new();
    beside(reader, fields, &["text", "thought"], &mut kept);
    if !kept.is_empty() {
        beyond(&mut message, FORM).fields = kept;
    }
    message
}

fn call<'a>(
    reader: &mut DocumentReader<'_>,
    part: Value<'a>,
    source: Source<'a>,
) -> Option<Block<'a>> {
    const OWN: &[&str] = &["name", "id", "args", "recipient", "willContinue", "partialArgs"];
    let span = part.span;
    let mut message = calls::blank();
    let (fields, function) = open(part, "functionCall");
    let Value { data: Data::Map(inner), .. } = function else {
        let found = Code::ParseJson.at(span, "`functionCall` must be an object");
        reader.drop_item(found.help("the part will be dropped"));
        return None;
    };
    let (mut name, mut kept) = (None, Fields::new());
    // A call without arguments has no `args`.
    message.content_type = Some("json".into());
    message.body = "{}".into();
    for (key, value) in inner {
        match known_key(&key, OWN) {
            Some("name") => name = word(reader, "name", value, &mut message),
            Some("id") => message.call_id = word(reader, "id", value, &mut message).map(|it| it.0),
            Some("recipient") => {
                message.recipient = word(reader, "recipient", value, &mut message).map(|it| it.0);
            }
            Some("args") => arguments(reader, value, source, &mut message),
            Some(known) => kept.push((known.into(), value)),
            None => reader.unknown_key(&key, OWN, value.span),
        }
    }
    beside(reader, fields, &["functionCall"], &mut kept);
    let mut message = calls::named(reader, message, name, span)?;
    if !kept.is_empty() {
        beyond(&mut message, FORM).fields = kept;
    }
    Some(Block::Call(message))
}

/// Sets the arguments of a call.
fn arguments<'a>(
    reader: &mut DocumentReader<'_>,
    value: Value<'a>,
    source: Source<'a>,
    message: &mut Message<'a>,
) {
    let span = value.span;
    let (text, at, is_json) = match value.data {
        Data::Null => return,
        Data::Map(_) => (source.spelled(&value), span.start, true),
        Data::String(text) => {
            let is_json = is_inline_object(&text);
            (text, span.start + 1, is_json)
        }
        _ => (source.spelled(&value), span.start, false),
    };
    if !matches!(source.text.as_bytes().get(span.start), Some(b'{')) {
        let found = Code::CallSchema.at(span, "the arguments of a call must be an object");
        refuse(reader, found.help("the service accepts nothing else; text is read as it is"));
    }
    message.content_type = is_json.then_some("json".into());
    let (text, is_cut) = reader.limited(text, span);
    Written::new(text, at).cut(is_cut).say(message);
}

/// Reads the result of a call.
fn result<'a>(
    reader: &mut DocumentReader<'_>,
    part: Value<'a>,
    source: Source<'a>,
) -> Option<Block<'a>> {
    const OWN: &[&str] =
        &["name", "id", "response", "author", "willContinue", "scheduling", "parts"];
    let mut reply = Message::new(Role::Tool, "");
    (reply.in_json, reply.span) = (true, part.span);
    reply.channel = Some(Channel::Commentary);
    reply.recipient = Some("assistant".into());
    let (fields, function) = open(part, "functionResponse");
    let Value { data: Data::Map(inner), .. } = function else {
        let found = Code::ParseJson.at(reply.span, "`functionResponse` must be an object");
        reader.drop_item(found.help("the part will be dropped"));
        return None;
    };
    let (mut name, mut author, mut kept) = (None, None, Fields::new());
    for (key, value) in inner {
        match known_key(&key, OWN) {
            Some("name") => name = word(reader, "name", value, &mut reply),
            Some("id") => reply.call_id = word(reader, "id", value, &mut reply).map(|it| it.0),
            Some("author") => author = word(reader, "author", value, &mut reply).map(|it| it.0),
            Some("response") => response(reader, value, source, &mut reply),
            Some(known) => kept.push((known.into(), value)),
            None => reader.unknown_key(&key, OWN, value.span),
        }
    }
    beside(reader, fields, &["functionResponse"], &mut kept);
    if !kept.is_empty() {
        beyond(&mut reply, FORM).fields = kept;
    }
    let name = calls::name_by(reader, name, author.as_deref());
    Some(Block::Result(reply, name, author))
}

/// Sets the text of a result: the text under `output` if there is nothing else, or the JSON.
fn response<'a>(
    reader: &mut DocumentReader<'_>,
    value: Value<'a>,
    source: Source<'a>,
    reply: &mut Message<'a>,
) {
    let span = value.span;
    let is_text = is_output(&value);
    let spelled = source.spelled(&value);
    let (text, at) = match value.data {
        Data::Null => return,
        Data::Map(fields) if is_text => match fields.into_iter().next() {
            Some((_, Value { data: Data::String(text), span })) => (text, span.start + 1),
            _ => return,
        },
        Data::String(text) => (text, span.start + 1),
        _ => (spelled, span.start),
    };
    if !matches!(source.text.as_bytes().get(span.start), Some(b'{')) {
        let found = Code::ParseJson.at(span, "the service accepts only an object as `response`");
        refuse(reader, found.help("write text as `{\"output\": …}`"));
    }
    let (text, is_cut) = reader.limited(text, span);
    Written::new(text, at).cut(is_cut).say(reply);
}

/// Whether a result is only text, under the key for output.
pub(super) fn is_output(value: &Value<'_>) -> bool {
    match value.as_map() {
        Some([(key, text)]) => key == "output" && text.as_str().is_some(),
        _ => false,
    }
}

/// Adds the losses if content becomes text.
pub(super) fn lost_all(content: &Value<'_>, losses: &mut Vec<Loss>) {
    content.as_list().unwrap_or_default().iter().for_each(|part| lost_beside(part, losses));
}

/// Adds the losses if a part is dropped.
pub(super) fn lost(part: &Value<'_>, losses: &mut Vec<Loss>) {
    let first = losses.len();
    lost_beside(part, losses);
    let is_said = part.get("text").is_some_and(|text| text.data != Data::Null);
    if is_said || losses.len() == first {
        losses.push(Loss::new(None, part.span, Lost::Part));
    }
}

/// Adds the losses if only the text of a part is kept.
fn lost_beside(part: &Value<'_>, losses: &mut Vec<Loss>) {
    for (key, value) in part.as_map().unwrap_or_default() {
        let found = match known_key(key, KEYS) {
            None => {
                losses.push(Loss::new(None, part.span, Lost::Part));
                continue;
            }
            _ if value.data == Data::Null => continue,
            Some("text") if value.as_str().is_some() => continue,
            Some("thought") => continue,
            Some("inlineData" | "fileData") => {
                let kind = value.get("mimeType").or_else(|| value.get("mime_type"));
                match medium(kind.and_then(Value::as_str).unwrap_or_default()) {
                    Lost::Part => Lost::File,
                    medium => medium,
                }
            }
            Some("executableCode" | "codeExecutionResult" | "toolCall" | "toolResponse") => {
                Lost::Hosted
            }
            Some(key) if BESIDE.contains(&key) => {
                losses.extend(lost_field(key, value));
                continue;
            }
            _ => Lost::Part,
        };
        losses.push(Loss::new(None, value.span, found));
    }
}

/// Creates a part with a text. Results have an object instead of parts.
pub(super) fn of_text(role: Role, text: Cow<'_, str>) -> Option<Value<'_>> {
    let part = || Value::from(Data::Map(vec![("text".into(), Data::String(text).into())]));
    (role != Role::Tool).then(part)
}
