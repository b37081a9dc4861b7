//! Reads one content: a turn of the user or of the model.

use super::BLOCKS;
use super::part::list;
use crate::Code;
use crate::document::{DocumentReader, Speaker};
use crate::json::{Json, JsonError};
use crate::model::{Message, Role};
use crate::services::State;
use crate::services::blocks::{BlockContent, BlockTurn, refuse};

type Result<T> = std::result::Result<T, JsonError>;

/// Reads a content. The role can be missing: it is that of the speaker who is expected.
pub(super) fn read<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
    expected: Role,
) -> Result<()> {
    let (mut speaker, mut content) = (None, None);
    let span = reader.object(json, &["role", "parts"], |reader, json, key| {
        match key {
            "role" => speaker = role(reader, json)?,
            _ if json.peek() == Some(b'[') => {
                content = Some(BlockContent::Blocks(list(reader, json)?));
            }
            // A string is what libraries accept.
            _ => content = reader.written(json)?.map(BlockContent::Text),
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(()) };
    let speaker = speaker.unwrap_or(Speaker::known(expected));
    // A response can have no parts, if it was stopped.
    let is_model = speaker.role() == Some(Role::Assistant);
    let content = match content {
        None if is_model => Some(BlockContent::Blocks(Vec::new())),
        content => content,
    };
    BlockTurn { of: &BLOCKS, reader, messages, state, span }.read(speaker, content);
    Ok(())
}

/// Reads the role. `function` is a deprecated role of results.
fn role<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Option<Speaker<'a>>> {
    let Some((word, span)) = reader.string(json)? else { return Ok(None) };
    let role = match word.as_ref() {
        "model" => Role::Assistant,
        "user" | "function" => Role::User,
        _ => {
            let found = Code::ParseJson.at(span, "this role is not one of the Gemini API");
            let found = found.help("the roles are `user` and `model`");
            match Role::from_word(&word) {
                // It is written for later system messages.
                Some(Role::System) => refuse(reader, found),
                Some(_) => reader.tolerate(found),
                None => {}
            }
            return Ok(Some(reader.speaker_of(word, span, false)));
        }
    };
    Ok(Some(Speaker::known(role)))
}
