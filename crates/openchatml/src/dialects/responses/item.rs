//! Reads one item: a message, reasoning, a call or its result.

use std::borrow::Cow;

use super::{FORM, between_parts};
use crate::Code;
use crate::diagnostic::quote;
use crate::document::{DocumentReader, Speaker, Written};
use crate::json::{Data, Json, JsonError, Value};
use crate::model::{Channel, End, Intent, Layout, Message, Role};
use crate::rules::{Loss, Lost, lost_field};
use crate::services::parts::{self, Piece, speech};
use crate::services::{Fields, State, beyond, calls, cut};

type Result<T> = std::result::Result<T, JsonError>;

pub(super) fn read<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    if json.peek() != Some(b'{') {
        return reader.wrong(json, "an object");
    }
    let kind = json.ahead(&["type"], &[]);
    read_as(kind.as_deref(), reader, json, messages, state)
}

/// Reads an item of this type.
fn read_as<'a>(
    kind: Option<&str>,
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    let start = json.offset();
    match kind {
        None | Some("message") => message(reader, json, messages),
        Some("function_call") => call(reader, json, "arguments", messages),
        Some("custom_tool_call") => call(reader, json, "input", messages),
        Some(kind) if OUTPUTS.contains(&kind) => reply(reader, json, messages, state),
        Some("reasoning") => reasoning(reader, json, messages, state),
        Some(kind) => {
            let item = json.value()?;
            // Of two types, the last one is used, as for all keys.
            let last = item.get("type").and_then(Value::as_str);
            if last != Some(kind) {
                json.rewind(start);
                return read_as(last, reader, json, messages, state);
            }
            if !is_known(kind) {
                let text = format!("unknown item type {}", quote(kind));
                let found = Code::ParseJson.at(item.span, text);
                reader.tolerate(
                    found.help("the item is kept, but a conversion to another format will drop it"),
                );
            }
            state.items.push(item);
            Ok(())
        }
    }
}

/// The types of results of calls.
const OUTPUTS: &[&str] = &["function_call_output", "custom_tool_call_output"];

/// Whether the type is a known item that is kept unchanged, such as those of tools that the service
/// runs itself.
fn is_known(kind: &str) -> bool {
    let is_call = kind.strip_suffix("_output").unwrap_or(kind).ends_with("_call");
    is_call || kind.starts_with("mcp_") || matches!(kind, "item_reference" | "compaction")
}

/// The text, and its original parts.
type Contents<'a> = (Written<'a>, Option<Value<'a>>);

/// Reads content: a string or a list of parts.
fn content<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<Option<Contents<'a>>> {
    if json.peek() != Some(b'[') {
        return Ok(reader.written(json)?.map(|written| (written, None)));
    }
    let Data::List(list) = json.value()?.data else { return Ok(None) };
    let is_reasoning = |part: &&Value<'_>| parts::Kind::of(part) == parts::Kind::Reasoning;
    if let Some(part) = list.iter().find(is_reasoning) {
        let found = Code::PermVisibility.at(part.span, "reasoning in a message");
        reader.report(found.help("the message is hidden; write reasoning as a separate item"));
        reader.hide_message();
    }
    Ok(Some(listed(reader, list, false).unwrap_or_default()))
}

/// Returns the text of the parts of a list.
fn listed<'a>(
    reader: &mut DocumentReader<'_>,
    list: Vec<Value<'a>>,
    is_reasoning: bool,
) -> Option<Contents<'a>> {
    for (index, part) in list.iter().enumerate() {
        reader.at_index(index, |reader| parts::report(reader, part, parts::Kind::of(part)));
    }
    match speech(reader, list, between_parts(is_reasoning))? {
        Piece::Said(written, parts) => Some((written, parts)),
        _ => None,
    }
}

/// Sets the text of a message, and the data that is kept with it.
fn finish<'a>(message: &mut Message<'a>, parts_read: Contents<'a>, fields: Fields<'a>) {
    let (written, parts) = parts_read;
    written.say(message);
    message.in_json = true;
    if parts.is_some() {
        let layout = Layout { form: FORM, content: parts, ..Layout::default() };
        message.layout = Some(Box::new(layout));
    }
    if fields.is_empty() {
        return;
    }
    let is_open = fields.iter().any(|(key, value)| key == "status" && cut::is_stopped(value));
    beyond(message, FORM).fields = fields;
    if is_open && let Some(layout) = &mut message.layout {
        message.end = End::Open;
        layout.is_stopped = true;
    }
}

/// Keeps data that only the service uses.
fn keep<'a>(json: &mut Json<'a>, key: &'static str, fields: &mut Fields<'a>) -> Result<()> {
    let value = json.value()?;
    fields.retain(|field| field.0 != key);
    if value.data != Data::Null {
        fields.push((key.into(), value));
    }
    Ok(())
}

fn message<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
) -> Result<()> {
    let mut message = Message::new(Role::User, "");
    let (mut speaker, mut parts_read, mut is_preamble) = (None, None, false);
    let mut fields = Fields::new();
    let keys = ["type", "role", "content", "phase", "name", "id", "status"];
    let span = reader.object(json, &keys, |reader, json, key| {
        match key {
            "type" => type_of(reader, json, &["message"])?,
            "role" => speaker = reader.speaker(json, false)?,
            "content" => parts_read = content(reader, json)?,
            "name" => message.name = reader.value(json, key, &mut message)?,
            "phase" => {
                let of = |word: &str| PHASES.contains(&word).then(|| word == PHASES[0]);
                is_preamble = reader.word(json, "phase", PHASES, of)?.unwrap_or_default();
            }
            _ => keep(json, key, &mut fields)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(()) };
    message.span = span;
    let speaker: Speaker<'a> = reader.spoken(speaker, span);
    if parts_read.is_none() {
        reader.tolerate(Code::ParseJson.at(span, "the message has no `content`"));
    }
    match speaker.role() {
        Some(Role::Assistant) if is_preamble => {
            message.channel = Some(Channel::Commentary);
            message.intent = Some(Intent::Preamble);
        }
        Some(Role::Assistant) => message.channel = Some(Channel::Final),
        Some(Role::Tool) => {
            message.channel = Some(Channel::Commentary);
            message.recipient = Some("assistant".into());
        }
        _ => {}
    }
    finish(&mut message, parts_read.unwrap_or_default(), fields);
    reader.speak(speaker, &mut message);
    messages.push(message);
    Ok(())
}

/// The phases of messages of the assistant: before the end, and at the end.
const PHASES: &[&str] = &["commentary", "final_answer"];

/// Reads a call. Its input is under the key `body`.
fn call<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    body: &'static str,
    messages: &mut Vec<Message<'a>>,
) -> Result<()> {
    let mut call = calls::blank();
    call.content_type = (body == "arguments").then_some("json".into());
    let (mut name, mut parts_read) = (None, Written::default());
    let mut fields = Fields::new();
    let keys = ["type", "call_id", "name", body, "id", "status", "recipient", "namespace"];
    let kind = if body == "arguments" { "function_call" } else { "custom_tool_call" };
    let span = reader.object(json, &keys, |reader, json, key| {
        match key {
            "type" => type_of(reader, json, &[kind])?,
            "call_id" => call.call_id = reader.value(json, key, &mut call)?,
            "recipient" => call.recipient = reader.value(json, key, &mut call)?,
            "name" => name = calls::name(reader, json, &mut call)?,
            "arguments" => parts_read = calls::arguments(reader, json)?,
            "input" => parts_read = reader.written(json)?.unwrap_or_default(),
            _ => keep(json, key, &mut fields)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(()) };
    if let Some(mut call) = calls::named(reader, call, name, span) {
        finish(&mut call, (parts_read, None), fields);
        if body == "input" {
            calls::set_custom(&mut call);
        }
        messages.push(call);
    }
    Ok(())
}

fn reply<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    let mut reply = Message::new(Role::Tool, "");
    reply.channel = Some(Channel::Commentary);
    reply.recipient = Some("assistant".into());
    let mut parts_read = None;
    let mut name = None;
    let mut author: Option<Cow<'a, str>> = None;
    let mut fields = Fields::new();
    let keys = ["type", "call_id", "output", "name", "author", "id", "status"];
    let span = reader.object(json, &keys, |reader, json, key| {
        match key {
            "type" => type_of(reader, json, OUTPUTS)?,
            "call_id" => reply.call_id = reader.value(json, key, &mut reply)?,
            "output" => parts_read = content(reader, json)?,
            "name" => name = calls::name(reader, json, &mut reply)?,
            "author" => author = reader.value(json, key, &mut reply)?,
            _ => keep(json, key, &mut fields)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(()) };
    reply.span = span;
    let name = calls::name_by(reader, name, author.as_deref());
    reply.name = state.replies.name(reply.call_id.as_deref(), name, author);
    finish(&mut reply, parts_read.unwrap_or_default(), fields);
    messages.push(reply);
    Ok(())
}

/// Reads reasoning. Without text, such as with only a summary, it is not a message.
fn reasoning<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    let mut message = Message::new(Role::Assistant, "");
    message.channel = Some(Channel::Analysis);
    let (mut parts_read, mut fields) = (None, Fields::new());
    let keys = ["type", "content", "summary", "encrypted_content", "id", "status"];
    let span = reader.object(json, &keys, |reader, json, key| {
        match key {
            "type" => type_of(reader, json, &["reasoning"])?,
            "content" if json.peek() == Some(b'[') => {
                let Data::List(list) = json.value()?.data else { return Ok(()) };
                parts_read = listed(reader, list, true);
            }
            "content" => parts_read = reader.written(json)?.map(|written| (written, None)),
            _ => {
                let value = json.value()?;
                fields.retain(|field| field.0 != key);
                if !is_nothing(key, &value) {
                    fields.push((key.into(), value));
                }
            }
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(()) };
    message.span = span;
    let Some(parts_read) = parts_read else {
        fields.insert(0, ("type".into(), "reasoning".into()));
        if fields.iter().all(|field| field.0 != "summary") {
            // The field is required.
            fields.push(("summary".into(), Data::List(Vec::new()).into()));
        }
        state.items.push(Value { data: Data::Map(fields), span });
        return Ok(());
    };
    finish(&mut message, parts_read, fields);
    messages.push(message);
    Ok(())
}

/// Reads the type of an item, which must be one of these.
fn type_of(reader: &mut DocumentReader<'_>, json: &mut Json<'_>, kinds: &[&str]) -> Result<()> {
    let Some((word, span)) = reader.string(json)? else { return Ok(()) };
    if !kinds.contains(&word.as_ref()) {
        let text = format!("the item type {} contradicts the keys of the item", quote(&word));
        reader.drop_value(Code::ParseJson.at(span, text));
        // It is unknown what the item is.
        reader.hide_message();
    }
    Ok(())
}

/// Whether a field means the same as if it were missing: `summary` is required, and mostly empty.
fn is_nothing(key: &str, value: &Value<'_>) -> bool {
    let is_empty = value.as_list().is_some_and(<[_]>::is_empty);
    value.data == Data::Null || key == "summary" && is_empty
}

/// Adds the losses if an item is dropped that is not a message.
pub(super) fn lost(item: &Value<'_>, losses: &mut Vec<Loss>) {
    let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
    let found = match kind {
        "item_reference" => Lost::Reference,
        "reasoning" => {
            let fields = item.as_map().unwrap_or_default().iter();
            let fields = fields.filter_map(|(key, value)| lost_field(key, value));
            let mut known = fields.filter(|loss| loss.lost != Lost::Field).peekable();
            if known.peek().is_some() {
                return losses.extend(known);
            }
            Lost::Item
        }
        kind if kind.contains("_call") || kind.starts_with("mcp_") => Lost::Hosted,
        _ => Lost::Item,
    };
    losses.push(Loss::new(None, item.span, found));
}
