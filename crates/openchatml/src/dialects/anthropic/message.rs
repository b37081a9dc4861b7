//! Reads one object: a turn of the user or of the assistant.

use super::block::list;
use super::{BLOCKS, FORM};
use crate::Code;
use crate::document::{DocumentReader, Speaker};
use crate::json::{Data, Json, JsonError};
use crate::model::Message;
use crate::services::blocks::{BlockContent, BlockTurn};
use crate::services::{Fields, State, beyond};

type Result<T> = std::result::Result<T, JsonError>;

pub(super) const KEYS: &[&str] = &[
    "role",
    "content",
    // A response.
    "type",
    "id",
    "model",
    "stop_reason",
    "stop_sequence",
    "stop_details",
    "usage",
    "container",
    "context_management",
    "diagnostics",
];

/// Keeps data that only the service uses.
pub(super) fn keep<'a>(
    json: &mut Json<'a>,
    key: &'static str,
    fields: &mut Fields<'a>,
) -> Result<()> {
    let value = json.value()?;
    fields.retain(|field| field.0 != key);
    if value.data != Data::Null {
        fields.push((key.into(), value));
    }
    Ok(())
}

pub(super) fn read<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    let (mut speaker, mut content, mut is_response) = (None, None, false);
    let mut fields = Fields::new();
    let span = reader.object(json, KEYS, |reader, json, key| {
        match key {
            "role" => speaker = role(reader, json)?,
            "content" if json.peek() == Some(b'[') => {
                content = Some(BlockContent::Blocks(list(reader, json)?));
            }
            "content" => content = reader.written(json)?.map(BlockContent::Text),
            "type" => {
                let of = |word: &str| (word == "message").then_some(());
                is_response = reader.word(json, "object type", &["message"], of)?.is_some();
            }
            _ => {
                let value = json.value()?;
                fields.retain(|field| field.0 != key);
                fields.push((key.into(), value));
            }
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(()) };
    let first = messages.len();
    let speaker = reader.spoken(speaker, span);
    BlockTurn { of: &BLOCKS, reader, messages, state, span }.read(speaker, content);
    if let Some((_, reason)) = fields.iter().find(|field| field.0 == "stop_reason") {
        state.ended(reason, messages);
    }
    if let Some(message) = messages.get_mut(first).filter(|_| is_response || !fields.is_empty()) {
        // The messages of the object are those inside of its place.
        message.span = span;
        let beyond = beyond(message, FORM);
        beyond.fields.append(&mut fields);
        beyond.key = if is_response { "message" } else { "" };
    }
    Ok(())
}

/// Reads the role. The API has no `developer`, and no role for tools.
fn role<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Option<Speaker<'a>>> {
    let Some((word, span)) = reader.string(json)? else { return Ok(None) };
    let instead = match word.as_ref() {
        "developer" => Some("write `system`"),
        "tool" => Some("write a `tool_result` block in a message of the user"),
        _ => None,
    };
    if let Some(instead) = instead {
        let found = Code::ParseJson.at(span, "this role is not one of the Messages API");
        reader.tolerate(found.help(instead));
    }
    Ok(Some(reader.speaker_of(word, span, false)))
}
