//! JSON interchange: one object for each turn (SPEC §10).
//!
//! A turn of the assistant is its thinking, followed by content or tool calls. Each of them is a
//! message of the text form. Names of tools have no `functions.` here; a tool outside of that
//! namespace has its whole name in `recipient`.

use std::borrow::Cow;

use super::tokens::CONTROLS;
use crate::document::{DocumentReader, Speaker, Written, read_messages, write_string_field};
use crate::json::{Json, JsonError, write_string};
use crate::model::{Body, Channel, Document, End, Message, Role, Segment, Shape};
use crate::options::{ReadOptions, RenderOptions};
use crate::reading::Parsed;
use crate::rules::{Carries, Channels};
use crate::services::calls;
use crate::writing::{Place, RenderError};
use crate::{Code, Control, Span};

type Result<T> = std::result::Result<T, JsonError>;

pub(super) static CARRIES: Carries = Carries {
    header: false,
    channels: Channels::Turns,
    call_ids: true,
    ends: &[End::End, End::Call],
    makes_calls: true,
    ..super::CARRIES
};

pub(super) fn read<'a>(text: &'a str, options: &ReadOptions) -> Parsed<'a> {
    read_messages(super::DIALECT.form(), text, options, &super::CHECKS, turn)
}

pub(super) const KEYS: &[&str] =
    &["role", "thinking", "content", "tool_calls", "name", "tool_call_id"];

#[derive(Default)]
struct Turn<'a> {
    thinking: Option<Written<'a>>,
    content: Option<Written<'a>>,
    calls: Vec<Message<'a>>,
}

fn turn<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    messages: &mut Vec<Message<'a>>,
) -> Result<()> {
    let mut turn = Turn::default();
    let mut message = Message::new(Role::Tool, "");
    message.in_json = true;
    let mut speaker = None;
    let span = reader.object(json, KEYS, |reader, json, key| {
        match key {
            "role" => speaker = reader.speaker(json, true)?,
            "thinking" => turn.thinking = reader.written(json)?,
            "content" => turn.content = reader.written(json)?,
            "name" => message.name = reader.value(json, key, &mut message)?,
            "tool_call_id" => message.call_id = reader.value(json, key, &mut message)?,
            _ => tool_calls(reader, json, &mut turn.calls)?,
        }
        Ok(())
    })?;
    let Some(span) = span else { return Ok(()) };
    let speaker = reader.spoken(speaker, span);
    message.span = span;
    let unfolded = unfold(reader, turn, speaker, message);
    messages.extend(reader.sayable(unfolded, span));
    Ok(())
}

fn tool_calls<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    made: &mut Vec<Message<'a>>,
) -> Result<()> {
    reader.array(json, |reader, json| {
        let (mut call, mut name) = (calls::blank(), None);
        let keys = ["id", "type", "function", "recipient"];
        let span = reader.object(json, &keys, |reader, json, key| {
            match key {
                "id" => call.call_id = reader.value(json, key, &mut call)?,
                "recipient" => call.recipient = reader.value(json, key, &mut call)?,
                "type" => {
                    let is_function = |word: &str| (word == "function").then_some(());
                    reader.word(json, "tool call type", &["function"], is_function)?;
                }
                _ => {
                    reader.object(json, &["name", "arguments"], |reader, json, key| {
                        match key {
                            "name" => name = calls::name(reader, json, &mut call)?,
                            _ => reader.written(json)?.unwrap_or_default().say(&mut call),
                        }
                        Ok(())
                    })?;
                }
            }
            Ok(())
        })?;
        made.extend(span.and_then(|span| calls::named(reader, call, name, span)));
        Ok(())
    })
}

/// Returns the messages of a turn: its thinking, its content, its calls.
///
/// DEVIATION: a turn has content or calls, but the example of SPEC §10 has both. They are read in
/// that order, with a diagnostic.
fn unfold<'a>(
    reader: &mut DocumentReader<'_>,
    turn: Turn<'a>,
    speaker: Speaker<'a>,
    mut message: Message<'a>,
) -> std::result::Result<Vec<Message<'a>>, &'static str> {
    let Turn { thinking, mut content, calls } = turn;
    let role = speaker.role();
    if role != Some(Role::Assistant) {
        if thinking.is_some() || !calls.is_empty() {
            return Err("only the assistant can have reasoning and tool calls");
        }
        if message.call_id.is_some() && role.is_some_and(|role| role != Role::Tool) {
            return Err("only a tool reply can have a `tool_call_id`");
        }
        let Some(content) = content else { return Err("the turn has no `content`") };
        content.say(&mut message);
        if role == Some(Role::Tool) {
            message.channel = Some(Channel::Commentary);
            message.recipient = Some("assistant".into());
        }
        reader.speak(speaker, &mut message);
        return Ok(vec![message]);
    }
    if message.call_id.is_some() {
        return Err("only a tool reply can have a `tool_call_id`");
    }
    if thinking.is_none() && content.is_none() && calls.is_empty() {
        return Err("the turn is empty");
    }
    if content.is_some() && !calls.is_empty() {
        let text = "a turn with `content` and `tool_calls`";
        let found = Code::ParseJson.at(message.span, text);
        // Empty content means that the content is missing.
        content.take_if(|content| content.is_empty());
        reader.tolerate(found.help(match &content {
            Some(_) => "it is read as two messages; write one turn for each",
            None => "the `content` is empty; remove it",
        }));
    }
    reader.speak(speaker, &mut message);
    let mut messages = Vec::new();
    if let Some(thinking) = thinking {
        let mut reasoning = message.clone();
        reasoning.channel = Some(Channel::Analysis);
        thinking.say(&mut reasoning);
        if CONTROLS.find(&reasoning.body.text()).is_some() {
            reasoning.body = markers(reasoning.body.text().into_owned().into());
            reasoning.body_at = 0;
        }
        messages.push(reasoning);
    }
    if let Some(content) = content {
        let mut answer = message.clone();
        answer.channel = Some(Channel::Final);
        content.say(&mut answer);
        messages.push(answer);
    }
    messages.extend(calls.into_iter().map(|mut call| {
        call.name.clone_from(&message.name);
        call.recovered |= message.recovered;
        call
    }));
    Ok(messages)
}

/// Returns thinking with its markers, which are spelled in it as in the text form.
fn markers(text: Cow<'_, str>) -> Body<'_> {
    if CONTROLS.find(&text).is_none() {
        return Body::from(text);
    }
    let mut segments = Vec::new();
    let mut from = 0;
    let mut at = 0;
    while let Some((found, control, len)) = CONTROLS.find(&text[at..]) {
        let start = at + found;
        at = start + len;
        if let Control::Marker(marker) = control {
            segments.push(Segment::Text(text[from..start].to_owned().into()));
            segments.push(Segment::Marker(marker));
            from = at;
        }
    }
    segments.push(Segment::Text(text[from..].to_owned().into()));
    Body::from_segments(segments)
}

pub(super) fn write(
    document: &Document<'_>,
    options: &RenderOptions,
) -> std::result::Result<String, RenderError> {
    let Some(conversation) = document.as_conversation() else {
        return Err(RenderError::not_a_conversation("openchatml-2.0"));
    };
    if options.generation_prompt.is_some() || options.continue_final {
        let text = "the JSON form cannot express an open turn";
        let help = "write the text form or token ids";
        return Err(RenderError::new(Code::RenderUnsupported, None, text).help(help));
    }
    let mut out = String::from("[");
    let mut messages = conversation.messages.as_slice();
    let mut turns = 0;
    while let Some((first, rest)) = messages.split_first() {
        if turns > 0 {
            out.push(',');
        }
        turns += 1;
        let index = conversation.messages.len() - messages.len();
        messages = match first.role {
            Role::Assistant => write_turn(&mut out, messages, index)?,
            _ => {
                write_other(&mut out, first);
                rest
            }
        };
    }
    out.push(']');
    match turns == 1 && conversation.shape(super::DIALECT.form()) == Shape::Message {
        true => Ok(out[1..out.len() - 1].to_owned()),
        false => Ok(out),
    }
}

fn write_other(out: &mut String, message: &Message<'_>) {
    out.push_str(r#"{"role":""#);
    out.push_str(message.role.as_str());
    out.push('"');
    write_string_field(out, "name", message.name.as_deref());
    write_string_field(out, "tool_call_id", message.call_id.as_deref());
    write_string_field(out, "content", Some(&message.body.text()));
    out.push('}');
}

/// Writes the longest turn that begins here. Returns the messages after it.
fn write_turn<'m, 'a>(
    out: &mut String,
    messages: &'m [Message<'a>],
    index: usize,
) -> std::result::Result<&'m [Message<'a>], RenderError> {
    let name = messages.first().and_then(|message| message.name.as_deref());
    let same =
        |message: &&Message<'_>| message.role == Role::Assistant && message.name.as_deref() == name;
    let mut rest = messages;
    out.push_str(r#"{"role":"assistant""#);
    write_string_field(out, "name", name);
    if let Some(reasoning) = rest.first().filter(|first| first.is_reasoning()) {
        write_string_field(out, "thinking", Some(&spelled(reasoning, index)?));
        rest = &rest[1..];
    }
    if let Some(answer) = rest.first().filter(same).filter(|next| next.is_answer()) {
        write_string_field(out, "content", Some(&answer.body.text()));
        rest = &rest[1..];
    } else if rest.first().filter(same).is_some_and(Message::is_call) {
        out.push_str(",\"tool_calls\":[");
        let mut first = true;
        while let Some(call) = rest.first().filter(same).filter(|next| next.is_call()) {
            out.push_str(if std::mem::take(&mut first) { "" } else { "," });
            write_call(out, call);
            rest = &rest[1..];
        }
        out.push(']');
    }
    out.push('}');
    Ok(rest)
}

fn write_call(out: &mut String, call: &Message<'_>) {
    let (name, recipient) = calls::name_of(call.recipient.as_deref().unwrap_or_default());
    out.push('{');
    if let Some(id) = &call.call_id {
        out.push_str("\"id\":");
        write_string(out, id);
        out.push(',');
    }
    out.push_str(r#""type":"function","function":{"name":"#);
    write_string(out, name);
    write_string_field(out, "arguments", Some(&call.body.text()));
    out.push('}');
    write_string_field(out, "recipient", recipient);
    out.push('}');
}

/// Returns reasoning as one string, with its markers spelled as in the text form.
fn spelled<'m>(
    message: &'m Message<'_>,
    index: usize,
) -> std::result::Result<Cow<'m, str>, RenderError> {
    let mut text = String::new();
    // The position in the body, without its markers.
    let (mut at, mut spelled) = (0, None);
    for segment in message.body.segments() {
        match segment {
            Segment::Text(part) | Segment::Literal(part) => {
                let found = CONTROLS.find(&part);
                let found = found.map(|(start, _, len)| Span::new(at + start, at + start + len));
                spelled = spelled.or(found);
                at += part.len();
                text.push_str(&part);
            }
            Segment::Marker(marker) => {
                text.push_str(CONTROLS.spelling(Control::Marker(marker)).unwrap_or_default());
            }
        }
    }
    if markers(Cow::Borrowed(&text)) != message.body {
        let what = "the reasoning contains a marker as text, which this format cannot distinguish from a marker";
        let error = RenderError::new(Code::RenderControl, Some(index), what);
        return Err(error.at(Place::Body, spelled.unwrap_or_default()));
    }
    Ok(Cow::Owned(text))
}
