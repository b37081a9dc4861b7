//! Reads content that is a list: text, and declarations of the system and the developer.

use crate::document::{DocumentReader, Known};
use crate::json::{Data, Json, JsonError, Value};
use crate::model::Role;
use crate::{Code, Dropped, Span};

type Result<T> = std::result::Result<T, JsonError>;

/// The type of a text part.
pub(crate) const TEXT: &str = "text";

/// The type of a part with system content.
pub(crate) const SYSTEM: &str = "system_content";

/// The type of a part with developer content.
pub(crate) const DEVELOPER: &str = "developer_content";

/// The structure of content parts, as the reference library serializes them.
static PARTS: &[(&str, Known)] = &[
    (TEXT, Known::Object(&[("type", Known::Word(&[TEXT])), ("text", Known::Text)])),
    (
        SYSTEM,
        Known::Object(&[
            ("type", Known::Word(&[SYSTEM])),
            ("model_identity", Known::Text),
            ("reasoning_effort", Known::Word(super::Effort::WORDS)),
            ("conversation_start_date", Known::Text),
            ("knowledge_cutoff", Known::Text),
            (
                "channel_config",
                Known::Object(&[
                    ("valid_channels", Known::List(&Known::Text)),
                    ("channel_required", Known::Flag),
                ]),
            ),
            ("tools", Known::Map(&NAMESPACE)),
        ]),
    ),
    (
        DEVELOPER,
        Known::Object(&[
            ("type", Known::Word(&[DEVELOPER])),
            ("instructions", Known::Text),
            ("tools", Known::Map(&NAMESPACE)),
        ]),
    ),
];

static NAMESPACE: Known = Known::Object(&[
    ("name", Known::Text),
    ("description", Known::Text),
    ("tools", Known::List(&TOOL)),
]);

static TOOL: Known = Known::Object(&[
    ("name", Known::Text),
    ("description", Known::Text),
    ("parameters", Known::Any),
]);

/// Returns the type of a part.
pub(crate) fn kind<'v>(part: &'v Value<'_>) -> Option<&'v str> {
    part.get("type").and_then(Value::as_str)
}

/// Reads a list of parts.
pub(crate) fn read<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<Option<Value<'a>>> {
    let start = json.offset();
    let mut parts = Vec::new();
    reader.array(json, |reader, json| {
        parts.extend(part(reader, json)?);
        Ok(())
    })?;
    let span = Span::new(start, json.position());
    let most = reader.options.limits.message_bytes;
    if span.len() > most {
        let text = format!("the content exceeds the limit `message_bytes` of {most}");
        let found = Code::Limit.at(span, text).help("it will be dropped");
        reader.report(found.drops(Dropped::Limit));
        return Ok(None);
    }
    Ok(Some(Value { data: Data::List(parts), span }))
}

fn part<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Option<Value<'a>>> {
    let start = json.offset();
    let word = json.ahead(&["type"], &[]);
    let known = word.and_then(|word| PARTS.iter().find(|part| part.0 == word));
    let Some((word, known)) = known else {
        json.skip()?;
        let span = Span::new(start, json.position());
        let text = "unknown type of content part";
        let help = "valid types: `text`, `system_content`, `developer_content`";
        reader.drop_item(Code::ParseJson.at(span, text).help(help));
        return Ok(None);
    };
    let Some(mut part) = reader.known(json, known)? else { return Ok(None) };
    let lack = match kind(&part) {
        Some(kind) if kind != *word => Some("a content part must have only one type"),
        None => Some("a content part must have only one type"),
        Some(TEXT) if part.get("text").and_then(Value::as_str).is_none() => {
            Some("a part of this type must have a `text`")
        }
        _ => None,
    };
    if let Some(text) = lack {
        reader.drop_item(Code::ParseJson.at(part.span, text));
        return Ok(None);
    }
    let nameless = take_nameless(&mut part);
    for tool in nameless {
        reader.drop_item(Code::ParseJson.at(tool.span, "the function has no `name`"));
    }
    Ok(Some(part))
}

/// Removes tools without a name from a declaration.
fn take_nameless<'a>(part: &mut Value<'a>) -> Vec<Value<'a>> {
    let mut nameless = Vec::new();
    let Some(Data::Map(namespaces)) = member(part, "tools") else { return nameless };
    for (_, namespace) in namespaces {
        let Some(Data::List(tools)) = member(namespace, "tools") else { continue };
        let is_named = |tool: &Value<'_>| {
            tool.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty())
        };
        nameless.extend(tools.extract_if(.., |tool| !is_named(tool)));
    }
    nameless
}

fn member<'v, 'a>(value: &'v mut Value<'a>, key: &str) -> Option<&'v mut Data<'a>> {
    let Data::Map(entries) = &mut value.data else { return None };
    entries.iter_mut().find(|entry| entry.0 == key).map(|entry| &mut entry.1.data)
}

/// Drops declarations of another speaker than `role`: the system is not the user, and the assistant
/// is not the developer. `None` means that the speaker is unknown.
pub(crate) fn keep_own(
    reader: &mut DocumentReader<'_>,
    content: &mut Value<'_>,
    role: Option<Role>,
) {
    let Data::List(parts) = &mut content.data else { return };
    parts.retain(|part| {
        let speaker = match kind(part) {
            Some(SYSTEM) => Role::System,
            Some(DEVELOPER) => Role::Developer,
            _ => return true,
        };
        let is_own = role == Some(speaker);
        if !is_own {
            let text = format!("`{speaker}_content` requires a message of role `{speaker}`");
            let help = format!("it will be dropped; move it to a message of role `{speaker}`");
            reader.drop_item(Code::ParseJson.at(part.span, text).help(help));
        }
        is_own
    });
}
