//! Reading canonical JSON.

use crate::check::{CheckRules, RULES_OF_CANONICAL};
use crate::dialects::book_of;
use crate::document::{DocumentReader, NO_TOKENS, Root, function_of};
use crate::json::{Data, Json, JsonError};
use crate::model::{
    Content, Conversation, Document, End, Header, Infill, InfillOrder, Message, Pair, Part, Role,
    Shape, Tool,
};
use crate::options::ReadOptions;
use crate::pairing::Pairing;
use crate::reading::Parsed;
use crate::services::has_ids;
use crate::{Code, Dropped, Span};

type Result<T> = std::result::Result<T, JsonError>;

pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut reader = DocumentReader::new(options);
    let mut json = reader.json(text);
    let mut document = Document::default();
    let root = Root::of(&mut json, &["role"], KEYS);
    let read = match root {
        Root::Message => {
            let mut messages = Vec::new();
            let read = reader.message(&mut json, &mut messages, message);
            let mut conversation = Conversation::from_messages(messages);
            conversation.set_shape(super::FORM, Shape::Message);
            document = conversation.into();
            read
        }
        Root::Object => read_document(&mut reader, &mut json, &mut document),
        Root::List => reader.wrong(&mut json, "an object with `messages`"),
        Root::Other => reader.no_conversation(&mut json),
    };
    reader.finish(json, read, document, checks)
}

/// Returns the rules for a conversation: those of the version in its header. Without a version,
/// calls and replies are paired by id, or by order if no call has one.
fn checks(conversation: &Conversation<'_>) -> Option<&'static CheckRules> {
    match conversation.header.as_ref().and_then(Header::version) {
        Some(version) => book_of(version),
        None if has_ids(conversation) => Some(&BY_ID),
        None => Some(&BY_ORDER),
    }
}

/// The rules without a version, which apply to all versions.
static BY_ID: CheckRules = CheckRules {
    pairing: Pairing::ById,
    rules: RULES_OF_CANONICAL,
    ..CheckRules::by_order(&NO_TOKENS)
};

static BY_ORDER: CheckRules = CheckRules { pairing: Pairing::ByOrder, ..BY_ID };

const KEYS: &[&str] = &["header", "tools", "messages", "infill", "files", "chosen", "rejected"];

fn read_document<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    document: &mut Document<'a>,
) -> Result<()> {
    let mut conversation = Conversation::default();
    let mut other = None;
    let mut is_conversation = false;
    let (mut chosen, mut rejected) = (None, None);
    let start = json.offset();
    let read = reader.object(json, KEYS, |reader, json, key| {
        match key {
            "header" => conversation.header = header(reader, json)?,
            "tools" => tools(reader, json, &mut conversation.tools)?,
            "messages" => reader.messages(json, &mut conversation.messages, message)?,
            "infill" => other = infill(reader, json)?.map(Document::Infill),
            "chosen" => chosen = side(reader, json)?,
            "rejected" => rejected = side(reader, json)?,
            _ => {
                let mut parts = Vec::new();
                let read = files(reader, json, &mut parts);
                other = Some(Document::Files(parts));
                read?;
            }
        }
        is_conversation |= matches!(key, "header" | "tools" | "messages");
        Ok(())
    });
    let has_side = chosen.is_some() || rejected.is_some();
    if has_side && (chosen.is_none() || rejected.is_none()) {
        reader.lacks("the object has only one of `chosen` and `rejected`", start);
    }
    if usize::from(is_conversation) + usize::from(other.is_some()) + usize::from(has_side) > 1 {
        let text = "the object must have only one of `messages`, `infill`, `files`, and a pair";
        reader.drop_item(Code::ParseJson.at(Span::new(start, json.position()), text));
    }
    if has_side && other.is_none() {
        let pair = Pair::new(chosen.unwrap_or_default(), rejected.unwrap_or_default());
        other = Some(Document::Pair(pair.into()));
    }
    *document = match other {
        Some(other) if !is_conversation => other,
        None if !is_conversation && read.is_ok() => {
            let text =
                "the object must have `messages`, `infill`, `files`, or a pair of conversations";
            reader.lacks(text, start);
            conversation.into()
        }
        _ => conversation.into(),
    };
    read.map(|_| ())
}

/// Reads a side of a pair: a conversation.
fn side<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<Option<Conversation<'a>>> {
    let start = json.offset();
    let mut document = Document::default();
    read_document(reader, json, &mut document)?;
    if let Document::Conversation(conversation) = document {
        return Ok(Some(conversation));
    }
    let span = Span::new(start, json.position());
    reader.drop_item(Code::ParseJson.at(span, "a side of a pair must be a conversation"));
    Ok(None)
}

fn header<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Option<Header<'a>>> {
    match json.peek() {
        Some(b'{') => {
            let most = reader.options.limits.header_bytes;
            let value = json.value()?;
            if value.span.len() > most {
                let text = format!("the header exceeds the limit `header_bytes` of {most}");
                let found = Code::Limit.at(value.span, text).help("it will be dropped");
                reader.report(found.drops(Dropped::Limit));
                return Ok(None);
            }
            Ok(match value.data {
                Data::Map(fields) => Some(Header::from_fields(fields)),
                _ => None,
            })
        }
        Some(b'n') => json.word().map(|_| None),
        _ => reader.wrong(json, "an object").map(|()| None),
    }
}

/// Reads tools in the form of functions.
fn tools<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    tools: &mut Vec<Tool<'a>>,
) -> Result<()> {
    reader.array(json, |reader, json| {
        let start = json.offset();
        let mut tool = None;
        reader.object(json, &["type", "function"], |reader, json, key| {
            match key {
                "type" => {
                    let is_function = |word: &str| (word == "function").then_some(());
                    reader.word(json, "tool type", &["function"], is_function)?;
                }
                _ => tool = Some(function(reader, json)?),
            }
            Ok(())
        })?;
        match tool {
            Some(Some(tool)) => tools.push(tool),
            // It is already reported.
            Some(None) => {}
            None => {
                let span = Span::new(start, json.position());
                reader.drop_item(Code::ParseJson.at(span, "the tool has no `function`"));
            }
        }
        Ok(())
    })
}

fn function<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Option<Tool<'a>>> {
    if json.peek() != Some(b'{') {
        return reader.wrong(json, "an object").map(|()| None);
    }
    let value = json.value()?;
    Ok(function_of(reader, value))
}

fn infill<'a>(reader: &mut DocumentReader<'_>, json: &mut Json<'a>) -> Result<Option<Infill<'a>>> {
    let mut infill = Infill::default();
    let keys = &["prefix", "suffix", "middle", "order"];
    let span = reader.object(json, keys, |reader, json, key| {
        if key == "order" {
            let (words, from_word) = (InfillOrder::WORDS, InfillOrder::from_word);
            infill.order = reader.word(json, key, words, from_word)?.unwrap_or_default();
            return Ok(());
        }
        let text = reader.long_text(json)?.map(|(text, _)| text);
        match key {
            "prefix" => infill.prefix = text.unwrap_or_default(),
            "suffix" => infill.suffix = text.unwrap_or_default(),
            _ => infill.middle = text.filter(|text| !text.is_empty()),
        }
        Ok(())
    })?;
    Ok(span.map(|span| Infill { span, ..infill }))
}

fn files<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    parts: &mut Vec<Part<'a>>,
) -> Result<()> {
    if json.peek() == Some(b'n') {
        return reader.wrong(json, "an array");
    }
    reader.array(json, |reader, json| {
        if json.peek() == Some(b'"') {
            let text = reader.long_text(json)?.map(|(text, _)| text);
            parts.extend(text.map(|text| Content::Text(text).into()));
            return Ok(());
        }
        let mut document = Document::default();
        let start = json.offset();
        let read = read_document(reader, json, &mut document);
        match document {
            Document::Conversation(conversation) => {
                parts.push(Content::Conversation(conversation).into());
            }
            Document::Infill(infill) => parts.push(Content::Infill(infill).into()),
            Document::Files(_) | Document::Pair(_) => {
                let span = Span::new(start, json.position());
                let text = "a file list can contain neither another file list nor a pair";
                reader.drop_item(Code::ParseJson.at(span, text));
            }
        }
        read
    })
}

pub(super) const MESSAGE_KEYS: &[&str] = &[
    "role",
    "content",
    "channel",
    "name",
    "recipient",
    "call_id",
    "intent",
    "content_type",
    "constrained",
    "end",
    "weight",
    "recovered",
    "unread",
    "foreign",
    "ids",
];

fn message<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
) -> Result<()> {
    let mut message = Message::new(Role::User, "");
    let mut speaker = None;
    let (mut content, mut has_content) = (None, false);
    let span = reader.object(json, MESSAGE_KEYS, |reader, json, key| {
        match key {
            "role" => speaker = reader.speaker(json, false)?,
            "content" => {
                has_content = json.peek() != Some(b'n');
                content = reader.content(json)?;
            }
            // What was hidden while it was read stays hidden.
            "recovered" => message.recovered |= reader.boolean(json)?,
            "weight" => message.weight = reader.weight(json)?,
            "unread" => {
                message.unread =
                    reader.value(json, key, &mut message)?.map(|it| it.as_ref().into());
            }
            "foreign" => message.foreign = reader.boolean(json)?,
            "ids" => ids(reader, json, &mut message)?,
            _ => reader.field(json, key, &mut message)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(()) };
    message.span = span;
    message.in_json = true;
    if message.constrained && message.content_type.is_none() {
        let text = "`constrained` requires a `content_type`: `constrained` will be dropped";
        reader.drop_value(Code::ParseJson.at(span, text));
        message.constrained = false;
    }
    if !has_content && message.end != End::Open {
        let found = Code::ParseJson.at(span, "the message has no `content`");
        reader.tolerate(found.help("write `\"content\": \"\"` if the message is empty"));
    }
    message.end = match (message.end, &content) {
        (End::Open, None) => End::Prompt,
        (End::Prompt, Some(_)) => End::Open,
        (end, _) => end,
    };
    let mut marker = None;
    if let Some(mut content) = content {
        marker = content.take_marker();
        content.say(&mut message);
    }
    let speaker = reader.spoken(speaker, span);
    reader.speak(speaker, &mut message);
    let reasoning = reader.place_marker(&mut message, marker);
    messages.push(message);
    messages.extend(reasoning);
    Ok(())
}

/// Reads the token ids that the message was sampled or read as.
fn ids<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    message: &mut Message<'a>,
) -> Result<()> {
    let mut ids = Vec::new();
    reader.array(json, |reader, json| {
        let start = json.offset();
        let is_number = matches!(json.peek(), Some(b'0'..=b'9' | b'-'));
        let id = if is_number { json.number()?.parse::<u32>().ok() } else { None };
        match id {
            Some(id) => ids.push(id),
            None if is_number => {
                let span = Span::new(start, json.position());
                reader.drop_value(
                    Code::ParseJson
                        .at(span, "invalid token id: it must be a whole number of 32 bits"),
                );
            }
            None => reader.wrong(json, "a token id")?,
        }
        Ok(())
    })?;
    message.set_ids(ids);
    Ok(())
}
