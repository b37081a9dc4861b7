//! Reading canonical JSON.

use crate::check::{Book, RULES_OF_ALL};
use crate::dialects::book_of;
use crate::document::{NO_TOKENS, Root, Sheet, function_of};
use crate::json::{Data, Json, JsonError};
use crate::model::{
    Content, Conversation, Document, End, Header, Infill, InfillOrder, Message, Part, Role, Shape,
    Tool,
};
use crate::options::ReadOptions;
use crate::pairing::Pairing;
use crate::reading::Parsed;
use crate::{Code, Dropped, Span};

type Result<T> = std::result::Result<T, JsonError>;

pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    let mut sheet = Sheet::new(options);
    let mut json = sheet.json(text);
    let mut document = Document::default();
    let root = Root::of(&mut json, &["role"], KEYS);
    let read = match root {
        Root::Message => {
            let mut messages = Vec::new();
            let read = sheet.message(&mut json, &mut messages, message);
            let mut conversation = Conversation::from_messages(messages);
            conversation.set_shape(super::FORM, Shape::Message);
            document = conversation.into();
            read
        }
        Root::Object => read_document(&mut sheet, &mut json, &mut document),
        Root::List => sheet.wrong(&mut json, "an object with `messages`"),
        Root::Other => sheet.no_conversation(&mut json),
    };
    sheet.finish(json, read, document, book)
}

/// Returns the rules for a conversation: those of the version in its header.
fn book(conversation: &Conversation<'_>) -> Option<&'static Book> {
    match conversation.header.as_ref().and_then(Header::version) {
        Some(version) => book_of(version),
        None => Some(&BOOK),
    }
}

/// The rules without a version, which apply to all versions.
static BOOK: Book = Book {
    controls: &NO_TOKENS,
    versions: &[],
    pairing: Pairing::None,
    requires_channels: false,
    rules: RULES_OF_ALL,
};

const KEYS: &[&str] = &["header", "tools", "messages", "infill", "files"];

fn read_document<'a>(
    sheet: &mut Sheet<'_>,
    json: &mut Json<'a>,
    document: &mut Document<'a>,
) -> Result<()> {
    let mut conversation = Conversation::default();
    let mut other = None;
    let mut is_conversation = false;
    let start = json.offset();
    let read = sheet.object(json, KEYS, |sheet, json, key| {
        match key {
            "header" => conversation.header = header(sheet, json)?,
            "tools" => tools(sheet, json, &mut conversation.tools)?,
            "messages" => sheet.messages(json, &mut conversation.messages, message)?,
            "infill" => other = infill(sheet, json)?.map(Document::Infill),
            _ => {
                let mut parts = Vec::new();
                let read = files(sheet, json, &mut parts);
                other = Some(Document::Files(parts));
                read?;
            }
        }
        is_conversation |= matches!(key, "header" | "tools" | "messages");
        Ok(())
    });
    if is_conversation && other.is_some() {
        let text = "the object must have only one of `messages`, `infill` and `files`";
        sheet.drop_item(Code::ParseJson.at(Span::new(start, json.position()), text));
    }
    *document = match other {
        Some(other) if !is_conversation => other,
        None if !is_conversation && read.is_ok() => {
            sheet.lacks("the object must have `messages`, `infill` or `files`", start);
            conversation.into()
        }
        _ => conversation.into(),
    };
    read.map(|_| ())
}

fn header<'a>(sheet: &mut Sheet<'_>, json: &mut Json<'a>) -> Result<Option<Header<'a>>> {
    match json.peek() {
        Some(b'{') => {
            let most = sheet.options.limits.header_bytes;
            let value = json.value()?;
            if value.span.len() > most {
                let text = format!("the header exceeds the limit `header_bytes` of {most}");
                let found = Code::Limit.at(value.span, text).help("it will be dropped");
                sheet.report(found.drops(Dropped::Limit));
                return Ok(None);
            }
            Ok(match value.data {
                Data::Map(fields) => Some(Header::from_fields(fields)),
                _ => None,
            })
        }
        Some(b'n') => json.word().map(|_| None),
        _ => sheet.wrong(json, "an object").map(|()| None),
    }
}

/// Reads tools in the form of functions.
fn tools<'a>(sheet: &mut Sheet<'_>, json: &mut Json<'a>, tools: &mut Vec<Tool<'a>>) -> Result<()> {
    sheet.array(json, |sheet, json| {
        let start = json.offset();
        let mut tool = None;
        sheet.object(json, &["type", "function"], |sheet, json, key| {
            match key {
                "type" => {
                    let is_function = |word: &str| (word == "function").then_some(());
                    sheet.word(json, "tool type", &["function"], is_function)?;
                }
                _ => tool = Some(function(sheet, json)?),
            }
            Ok(())
        })?;
        match tool {
            Some(Some(tool)) => tools.push(tool),
            // It is already reported.
            Some(None) => {}
            None => {
                let span = Span::new(start, json.position());
                sheet.drop_item(Code::ParseJson.at(span, "the tool has no `function`"));
            }
        }
        Ok(())
    })
}

fn function<'a>(sheet: &mut Sheet<'_>, json: &mut Json<'a>) -> Result<Option<Tool<'a>>> {
    if json.peek() != Some(b'{') {
        return sheet.wrong(json, "an object").map(|()| None);
    }
    let value = json.value()?;
    Ok(function_of(sheet, value))
}

fn infill<'a>(sheet: &mut Sheet<'_>, json: &mut Json<'a>) -> Result<Option<Infill<'a>>> {
    let mut infill = Infill::default();
    let keys = &["prefix", "suffix", "middle", "order"];
    let span = sheet.object(json, keys, |sheet, json, key| {
        if key == "order" {
            let (words, from_word) = (InfillOrder::WORDS, InfillOrder::from_word);
            infill.order = sheet.word(json, key, words, from_word)?.unwrap_or_default();
            return Ok(());
        }
        let text = sheet.long_text(json)?.map(|(text, _)| text);
        match key {
            "prefix" => infill.prefix = text.unwrap_or_default(),
            "suffix" => infill.suffix = text.unwrap_or_default(),
            _ => infill.middle = text.filter(|text| !text.is_empty()),
        }
        Ok(())
    })?;
    Ok(span.map(|span| Infill { span, ..infill }))
}

fn files<'a>(sheet: &mut Sheet<'_>, json: &mut Json<'a>, parts: &mut Vec<Part<'a>>) -> Result<()> {
    if json.peek() == Some(b'n') {
        return sheet.wrong(json, "an array");
    }
    sheet.array(json, |sheet, json| {
        if json.peek() == Some(b'"') {
            let text = sheet.long_text(json)?.map(|(text, _)| text);
            parts.extend(text.map(|text| Content::Text(text).into()));
            return Ok(());
        }
        let mut document = Document::default();
        let start = json.offset();
        let read = read_document(sheet, json, &mut document);
        match document {
            Document::Conversation(conversation) => {
                parts.push(Content::Conversation(conversation).into());
            }
            Document::Infill(infill) => parts.push(Content::Infill(infill).into()),
            Document::Files(_) => {
                let span = Span::new(start, json.position());
                sheet.drop_item(
                    Code::ParseJson.at(span, "a file list cannot contain another file list"),
                );
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
    sheet: &mut Sheet<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
) -> Result<()> {
    let mut message = Message::new(Role::User, "");
    let mut speaker = None;
    let (mut content, mut has_content) = (None, false);
    let span = sheet.object(json, MESSAGE_KEYS, |sheet, json, key| {
        match key {
            "role" => speaker = sheet.speaker(json, false)?,
            "content" => {
                has_content = json.peek() != Some(b'n');
                content = sheet.content(json)?;
            }
            // What was hidden while it was read stays hidden.
            "recovered" => message.recovered |= sheet.boolean(json)?,
            "weight" => message.weight = sheet.weight(json)?,
            "unread" => {
                message.unread = sheet.value(json, key, &mut message)?.map(|it| it.as_ref().into());
            }
            "foreign" => message.foreign = sheet.boolean(json)?,
            "ids" => ids(sheet, json, &mut message)?,
            _ => sheet.field(json, key, &mut message)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(()) };
    message.span = span;
    message.in_json = true;
    if message.constrained && message.content_type.is_none() {
        let text = "`constrained` requires a `content_type`: `constrained` will be dropped";
        sheet.drop_value(Code::ParseJson.at(span, text));
        message.constrained = false;
    }
    if !has_content && message.end != End::Open {
        let found = Code::ParseJson.at(span, "the message has no `content`");
        sheet.tolerate(found.help("write `\"content\": \"\"` if the message is empty"));
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
    let speaker = sheet.spoken(speaker, span);
    sheet.speak(speaker, &mut message);
    let reasoning = sheet.place_marker(&mut message, marker);
    messages.push(message);
    messages.extend(reasoning);
    Ok(())
}

/// Reads the token ids that the message was sampled or read as.
fn ids<'a>(sheet: &mut Sheet<'_>, json: &mut Json<'a>, message: &mut Message<'a>) -> Result<()> {
    let mut ids = Vec::new();
    sheet.array(json, |sheet, json| {
        let start = json.offset();
        let is_number = matches!(json.peek(), Some(b'0'..=b'9' | b'-'));
        let id = if is_number { json.number()?.parse::<u32>().ok() } else { None };
        match id {
            Some(id) => ids.push(id),
            None if is_number => {
                let span = Span::new(start, json.position());
                sheet.drop_value(
                    Code::ParseJson
                        .at(span, "invalid token id: it must be a whole number of 32 bits"),
                );
            }
            None => sheet.wrong(json, "a token id")?,
        }
        Ok(())
    })?;
    message.set_ids(ids);
    Ok(())
}
