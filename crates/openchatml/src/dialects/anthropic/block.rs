//! Reads one block of content: text and media, thinking, a call, or its result.

use super::FORM;
use super::message::keep;
use crate::Code;
use crate::diagnostic::quote;
use crate::document::DocumentReader;
use crate::json::{Data, Json, JsonError, Value};
use crate::model::{Channel, Message, Role};
use crate::rules::{Loss, Lost, lost_field, medium};
use crate::services::blocks::{Block, refuse, said, say};
use crate::services::{Fields, beyond, beyond_of, calls, parts};

type Result<T> = std::result::Result<T, JsonError>;

/// The known types of blocks.
pub(super) const KINDS: &[&str] = &[
    "text",
    "image",
    "document",
    "search_result",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "tool_result",
    "tool_reference",
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
    "container_upload",
    "browser_state",
    "compaction",
    "fallback",
];

/// Reads a list of blocks.
pub(super) fn list<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<Vec<Block<'a>>> {
    let mut blocks = Vec::new();
    reader.array(json, |reader, json| {
        if json.peek() != Some(b'{') {
            return reader.wrong(json, "an object");
        }
        let kind = json.ahead(&["type"], &[]);
        blocks.extend(read_as(kind.as_deref(), reader, json)?);
        Ok(())
    })?;
    Ok(blocks)
}

/// Reads a block of this type.
fn read_as<'a>(
    kind: Option<&str>,
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<Option<Block<'a>>> {
    let start = json.offset();
    Ok(match kind {
        Some("thinking") => match thinking(reader, json)? {
            // It says nothing, but the service wants its signature back.
            Some(message) if message.body.is_empty() && is_signed(&message) => {
                json.rewind(start);
                Some(Block::Part(json.value()?))
            }
            message => message.map(Block::Thinking),
        },
        Some("tool_use") => call(reader, json)?.map(Block::Call),
        Some("tool_result") => result(reader, json)?,
        kind => {
            let part = json.value()?;
            // Of two types, the last one is used, as for all keys.
            let last = part.get("type").and_then(Value::as_str);
            if last != kind {
                json.rewind(start);
                return read_as(last, reader, json);
            }
            report(reader, &part);
            Some(Block::Part(part))
        }
    })
}

/// Reports a block that is unknown or has no text.
fn report(reader: &mut DocumentReader<'_>, part: &Value<'_>) {
    let kind = part.get("type").and_then(Value::as_str);
    match kind {
        Some("text") | None => parts::report(reader, part, parts::Kind::of(part)),
        Some(kind) if KINDS.contains(&kind) => {}
        Some(kind) => {
            let text = format!("unknown block type {}", quote(kind));
            let found = Code::ParseJson.at(part.span, text);
            reader.tolerate(
                found.help("the block is kept, but a conversion to another format will drop it"),
            );
        }
    }
    if kind == Some("text") && parts::text(part) == Some("") {
        let text = "the service does not accept an empty text block";
        refuse(reader, Code::ParseJson.at(part.span, text).help("remove the block"));
    }
}

/// Reads the type of a block, which must be this one.
fn type_of(reader: &mut DocumentReader<'_>, json: &mut Json<'_>, kind: &str) -> Result<()> {
    let Some((word, span)) = reader.string(json)? else { return Ok(()) };
    if word != kind {
        let text = format!("the block type {} contradicts the keys of the block", quote(&word));
        reader.drop_value(Code::ParseJson.at(span, text));
        // It is unknown what the block is.
        reader.hide_message();
    }
    Ok(())
}

fn thinking<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<Option<Message<'a>>> {
    let mut message = Message::new(Role::Assistant, "");
    message.channel = Some(Channel::Analysis);
    message.in_json = true;
    let (mut said, mut fields) = (None, Fields::new());
    let keys = ["type", "thinking", "signature", "cache_control"];
    let span = reader.object(json, &keys, |reader, json, key| {
        match key {
            "type" => type_of(reader, json, "thinking")?,
            "thinking" => said = reader.written(json)?,
            _ => keep(json, key, &mut fields)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(None) };
    message.span = span;
    if said.is_none() {
        reader.tolerate(Code::ParseJson.at(span, "the block has no `thinking`"));
    }
    said.unwrap_or_default().say(&mut message);
    // An empty signature is as good as none.
    fields.retain(|(key, value)| key != "signature" || value.as_str() != Some(""));
    if !fields.is_empty() {
        beyond(&mut message, FORM).fields = fields;
    }
    if !is_signed(&message) {
        let found =
            Code::ParseJson.at(span, "the service does not accept thinking without a `signature`");
        refuse(reader, found.help("remove the block before you send it to the service"));
    }
    Ok(Some(message))
}

/// Whether thinking has the signature that the service requires.
pub(super) fn is_signed(thinking: &Message<'_>) -> bool {
    let fields = beyond_of(thinking, FORM).map_or(&[][..], |beyond| &beyond.fields);
    fields.iter().any(|field| field.0 == "signature")
}

fn call<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Option<Message<'a>>> {
    let mut call = calls::blank();
    let (mut name, mut input) = (None, None);
    let mut fields = Fields::new();
    let keys =
        ["type", "id", "name", "input", "recipient", "cache_control", "caller", "toolset_name"];
    let span = reader.object(json, &keys, |reader, json, key| {
        match key {
            "type" => type_of(reader, json, "tool_use")?,
            "id" => call.call_id = reader.value(json, "id", &mut call)?,
            "recipient" => call.recipient = reader.value(json, key, &mut call)?,
            "name" => name = calls::name(reader, json, &mut call)?,
            "input" => {
                let is_object = json.peek() == Some(b'{');
                input = Some((calls::arguments(reader, json)?, is_object));
            }
            _ => keep(json, key, &mut fields)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(None) };
    let (written, is_object) = input.unwrap_or_default();
    written.say(&mut call);
    let is_json = is_object || call.body.as_plain().is_some_and(calls::is_inline_object);
    call.content_type = is_json.then_some("json".into());
    if !is_object {
        let found = Code::CallSchema.at(span, "the `input` of a call must be an object");
        refuse(reader, found.help("the service accepts nothing else; text is read as it is"));
    }
    let Some(mut call) = calls::named(reader, call, name, span) else { return Ok(None) };
    if !fields.is_empty() {
        beyond(&mut call, FORM).fields = fields;
    }
    Ok(Some(call))
}

/// Reads the result of a call.
fn result<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Option<Block<'a>>> {
    let mut reply = Message::new(Role::Tool, "");
    reply.channel = Some(Channel::Commentary);
    reply.recipient = Some("assistant".into());
    reply.in_json = true;
    let (mut content, mut name, mut author) = (None, None, None);
    let mut fields = Fields::new();
    let keys = [
        "type",
        "tool_use_id",
        "content",
        "is_error",
        "cache_control",
        "toolset_name",
        "name",
        "author",
    ];
    let span = reader.object(json, &keys, |reader, json, key| {
        match key {
            "type" => type_of(reader, json, "tool_result")?,
            "tool_use_id" => reply.call_id = reader.value(json, key, &mut reply)?,
            "content" if json.peek() == Some(b'[') => {
                let Data::List(list) = json.value()?.data else { return Ok(()) };
                for (index, part) in list.iter().enumerate() {
                    reader.at_index(index, |reader| report(reader, part));
                }
                content = said(reader, list);
            }
            "content" => content = reader.written(json)?.map(|written| (written, None)),
            "is_error" => {
                if reader.boolean(json)? {
                    fields.retain(|field| field.0 != key);
                    fields.push((key.into(), Data::Bool(true).into()));
                }
            }
            "name" => name = calls::name(reader, json, &mut reply)?,
            "author" => author = reader.value(json, key, &mut reply)?,
            _ => keep(json, key, &mut fields)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(None) };
    reply.span = span;
    if let Some(content) = content {
        say(content, &mut reply, FORM);
    }
    if !fields.is_empty() {
        beyond(&mut reply, FORM).fields = fields;
    }
    let name = calls::name_by(reader, name, author.as_deref());
    Ok(Some(Block::Result(reply, name, author)))
}

/// Adds the losses if a block is dropped that is not a message.
pub(super) fn lost(block: &Value<'_>, losses: &mut Vec<Loss>) {
    let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
    let found = match kind {
        "redacted_thinking" => Lost::Encrypted,
        // It is empty, except for its signature.
        "thinking" => {
            let fields = block.as_map().unwrap_or_default().iter();
            let own = fields.filter(|(key, _)| key != "type" && key != "thinking");
            return losses.extend(own.filter_map(|(key, value)| lost_field(key, value)));
        }
        "container_upload" => Lost::File,
        kind if kind.ends_with("tool_use") || kind.ends_with("tool_result") => Lost::Hosted,
        kind => match medium(kind) {
            Lost::Part => Lost::Item,
            medium => medium,
        },
    };
    losses.push(Loss::new(None, block.span, found));
}
