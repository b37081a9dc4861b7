//! One item: a message, some reasoning, a call or what came of it.

use std::borrow::Cow;

use super::{NAME, between_parts};
use crate::diagnostic::quote;
use crate::dialects::openai::parts::{self, Piece, speech};
use crate::dialects::openai::{Fields, State, beyond, calls};
use crate::json::{Json, JsonError, Sheet, Speaker, Written};
use crate::model::{Channel, Data, Intent, Layout, Message, Role, Value};
use crate::{Code, Span};

type Result<T> = std::result::Result<T, JsonError>;

pub(super) fn read<'a>(
    sheet: &mut Sheet<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
    state: &mut State<'a>,
) -> Result<()> {
    if json.peek() != Some(b'{') {
        return sheet.wrong(json, "an object");
    }
    let kind = json.ahead("type", &[]);
    let message = match kind.as_deref() {
        None | Some("message") => message(sheet, json)?,
        Some("function_call") => call(sheet, json, "arguments")?,
        Some("custom_tool_call") => call(sheet, json, "input")?,
        Some("function_call_output" | "custom_tool_call_output") => reply(sheet, json, state)?,
        Some("reasoning") => reasoning(sheet, json, state)?,
        Some(kind) => {
            let item = json.value()?;
            if !is_known(kind) {
                let text = format!("{} is no type of item", quote(kind));
                let found = Code::ParseJson.at(item.span, text);
                sheet.tolerate(found.help("only this format keeps the item"));
            }
            state.items.push(item);
            None
        }
    };
    messages.extend(message);
    Ok(())
}

/// Items of tools that the service runs itself, and such.
fn is_known(kind: &str) -> bool {
    let is_call = kind.strip_suffix("_output").unwrap_or(kind).ends_with("_call");
    is_call || kind.starts_with("mcp_") || matches!(kind, "item_reference" | "compaction")
}

/// What is said, and the parts that it was read from.
type Said<'a> = (Written<'a>, Option<Value<'a>>);

/// Reads content: text or a list of parts.
fn content<'a>(sheet: &mut Sheet<'_>, json: &mut Json<'a>) -> Result<Option<Said<'a>>> {
    if json.peek() != Some(b'[') {
        return Ok(sheet.written(json)?.map(|written| (written, None)));
    }
    let Data::List(list) = json.value()?.data else { return Ok(None) };
    Ok(Some(listed(sheet, list, false).unwrap_or_default()))
}

/// What the parts of a list say.
fn listed<'a>(sheet: &mut Sheet<'_>, list: Vec<Value<'a>>, is_reasoning: bool) -> Option<Said<'a>> {
    for (index, part) in list.iter().enumerate() {
        sheet.at_index(index, |sheet| parts::report(sheet, part, parts::Kind::of(part)));
    }
    match speech(sheet, list, between_parts(is_reasoning))? {
        Piece::Said(written, parts) => Some((written, parts)),
        _ => None,
    }
}

/// A message that says this, with what is kept of it.
fn finish<'a>(mut message: Message<'a>, said: Said<'a>, fields: Fields<'a>) -> Message<'a> {
    let (written, parts) = said;
    written.say(&mut message);
    message.in_json = true;
    if parts.is_some() {
        let layout = Layout { dialect: NAME, content: parts, ..Layout::default() };
        message.layout = Some(Box::new(layout));
    }
    if !fields.is_empty() {
        beyond(&mut message, NAME).fields = fields;
    }
    message
}

/// Keeps what only the service has a use for.
fn keep<'a>(json: &mut Json<'a>, key: &'static str, fields: &mut Fields<'a>) -> Result<()> {
    let value = json.value()?;
    fields.retain(|field| field.0 != key);
    if value.data != Data::Null {
        fields.push((key.into(), value));
    }
    Ok(())
}

fn message<'a>(sheet: &mut Sheet<'_>, json: &mut Json<'a>) -> Result<Option<Message<'a>>> {
    let mut message = Message::new(Role::User, "");
    let (mut speaker, mut said, mut is_preamble) = (None, None, false);
    let mut fields = Fields::new();
    let keys = ["type", "role", "content", "phase", "name", "id", "status"];
    let span = sheet.object(json, &keys, |sheet, json, key| {
        match key {
            "type" => json.skip()?,
            "role" => speaker = sheet.speaker(json, false)?,
            "content" => said = content(sheet, json)?,
            "name" => message.name = sheet.value(json, key, &mut message)?,
            "phase" => {
                let of = |word: &str| PHASES.contains(&word).then(|| word == PHASES[0]);
                is_preamble = sheet.word(json, "phase", PHASES, of)?.unwrap_or_default();
            }
            _ => keep(json, key, &mut fields)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(None) };
    message.span = span;
    let speaker: Speaker<'a> = sheet.spoken(speaker, span);
    if said.is_none() {
        sheet.tolerate(Code::ParseJson.at(span, "the message has no content"));
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
    let mut message = finish(message, said.unwrap_or_default(), fields);
    speaker.speak(&mut message);
    Ok(Some(message))
}

/// What the assistant says before it is done, and in the end.
const PHASES: &[&str] = &["commentary", "final_answer"];

/// Reads a call; what it takes stands under the key `body`.
fn call<'a>(
    sheet: &mut Sheet<'_>,
    json: &mut Json<'a>,
    body: &'static str,
) -> Result<Option<Message<'a>>> {
    let mut call = calls::blank();
    call.content_type = (body == "arguments").then_some("json".into());
    let (mut name, mut said) = (None, Written::default());
    let mut fields = Fields::new();
    let keys = ["type", "call_id", "name", body, "id", "status", "recipient", "namespace"];
    let span = sheet.object(json, &keys, |sheet, json, key| {
        match key {
            "type" => json.skip()?,
            "call_id" => call.call_id = sheet.value(json, key, &mut call)?,
            "recipient" => call.recipient = sheet.value(json, key, &mut call)?,
            "name" => name = sheet.value(json, key, &mut call)?,
            "arguments" => said = calls::arguments(sheet, json)?,
            "input" => said = sheet.written(json)?.unwrap_or_default(),
            _ => keep(json, key, &mut fields)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(None) };
    let call = calls::named(sheet, call, name, span);
    Ok(call.map(|call| finish(call, (said, None), fields)))
}

fn reply<'a>(
    sheet: &mut Sheet<'_>,
    json: &mut Json<'a>,
    state: &mut State<'a>,
) -> Result<Option<Message<'a>>> {
    let mut reply = Message::new(Role::Tool, "");
    reply.channel = Some(Channel::Commentary);
    reply.recipient = Some("assistant".into());
    let mut said = None;
    let (mut name, mut author): (Option<Cow<'a, str>>, Option<Cow<'a, str>>) = (None, None);
    let mut fields = Fields::new();
    let keys = ["type", "call_id", "output", "name", "author", "id", "status"];
    let span = sheet.object(json, &keys, |sheet, json, key| {
        match key {
            "type" => json.skip()?,
            "call_id" => reply.call_id = sheet.value(json, key, &mut reply)?,
            "output" => said = content(sheet, json)?,
            "name" => name = sheet.value(json, key, &mut reply)?,
            "author" => author = sheet.value(json, key, &mut reply)?,
            _ => keep(json, key, &mut fields)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(None) };
    reply.span = span;
    reply.name = state.replies.name(reply.call_id.as_deref(), name, author);
    Ok(Some(finish(reply, said.unwrap_or_default(), fields)))
}

/// Reads reasoning. Without text, as with a summary alone, it is no message.
fn reasoning<'a>(
    sheet: &mut Sheet<'_>,
    json: &mut Json<'a>,
    state: &mut State<'a>,
) -> Result<Option<Message<'a>>> {
    let mut item = json.value()?;
    let Data::Map(fields) = &mut item.data else { return Ok(None) };
    let at = fields.iter().position(|field| field.0 == "content");
    let said = match at.map(|at| &mut fields[at].1) {
        Some(Value { data: Data::List(list), .. }) => listed(sheet, std::mem::take(list), true),
        Some(Value { data: Data::String(text), span }) => {
            let (text, is_cut) = sheet.limited(std::mem::take(text), *span);
            Some((Written::new(text, span.start + 1).cut(is_cut), None))
        }
        _ => None,
    };
    let Some(said) = said else {
        state.items.push(item);
        return Ok(None);
    };
    fields.retain(|(key, value)| key != "content" && key != "type" && !is_nothing(key, value));
    let mut message = Message::new(Role::Assistant, "");
    message.channel = Some(Channel::Analysis);
    message.span = Span::new(item.span.start, item.span.end);
    let fields = std::mem::take(fields);
    Ok(Some(finish(message, said, fields)))
}

/// Whether a field is the same as none: `summary` must be there, and is empty mostly.
fn is_nothing(key: &str, value: &Value<'_>) -> bool {
    let is_empty = value.as_list().is_some_and(<[_]>::is_empty);
    value.data == Data::Null || key == "summary" && is_empty
}
