//! Writes a record: turns and tools.

use std::fmt::Write as _;

use super::FORM;
use crate::document::{continued_at, write_shaped, write_string_field};
use crate::json::write_string;
use crate::model::{Conversation, Document, Message, Pair, Role};
use crate::options::RenderOptions;
use crate::services::{self, Replies, calls, joins};
use crate::writing::RenderError;

pub(super) fn write(
    document: &Document<'_>,
    options: &RenderOptions,
) -> Result<String, RenderError> {
    let conversation = services::conversation(document, options, FORM)?;
    let rest = |out: &mut String| services::write_document(out, conversation, FORM, "");
    let messages =
        |out: &mut String| Ok(write_turns(out, &conversation.messages, &mut Replies::default()));
    let capacity = services::estimate(conversation);
    write_shaped(conversation.shape(FORM), "conversations", capacity, messages, rest)
}

/// Writes a pair as LLaMA-Factory reads it: the turns, and two single turns that continue them. Pairs
/// that were read in another form keep it.
pub(super) fn write_pair(
    pair: &Pair<'_>,
    options: &RenderOptions,
) -> Result<Option<String>, RenderError> {
    let Some((asked, [good, bad])) = continuations(pair) else { return Ok(None) };
    let mut out = write(&pair.chosen.prompt(FORM, asked).into(), options)?;
    // It is an object, which ends with the sides.
    out.pop();
    let _ = write!(out, r#","chosen":{good},"rejected":{bad}}}"#);
    Ok(Some(out))
}

/// Returns the number of messages before the sides of a pair, which are only context.
pub(super) fn context(document: &Document<'_>) -> usize {
    let Document::Pair(pair) = document else { return 0 };
    continuations(pair).map_or(0, |(asked, _)| asked)
}

/// Writes the single turns that continue the first messages of a pair. Returns their number, too.
fn continuations(pair: &Pair<'_>) -> Option<(usize, [String; 2])> {
    let asked = continued_at(pair, FORM)?;
    let turn = |side: &Conversation<'_>| {
        let (mut out, mut replies) = (String::new(), Replies::default());
        let turns = write_turns(&mut out, &side.messages[asked..], &mut replies);
        (turns == 1).then_some(out)
    };
    Some((asked, [turn(&pair.chosen)?, turn(&pair.rejected)?]))
}

/// Writes the turns of a list. Returns their number.
fn write_turns(out: &mut String, messages: &[Message<'_>], replies: &mut Replies) -> usize {
    let mut rest = messages;
    let mut turns = 0;
    while let Some(first) = rest.first() {
        turns += 1;
        if rest.len() < messages.len() {
            out.push(',');
        }
        let joined = |message: &&Message<'_>| message.is_call() && joins(message, first, FORM);
        let count = rest.iter().take_while(joined).count();
        if count > 0 {
            write_calls(out, &rest[..count], replies);
        } else {
            write_turn(out, first, replies);
        }
        rest = &rest[count.max(1)..];
    }
    turns
}

fn write_turn(out: &mut String, message: &Message<'_>, replies: &mut Replies) {
    let from = match message.role {
        Role::System | Role::Developer => "system",
        Role::User => "human",
        Role::Assistant => "gpt",
        Role::Tool => "observation",
    };
    let (name, author) = match message.role {
        Role::Tool => replies.identify_in_order(message),
        _ => (message.name.as_deref(), None),
    };
    open(out, from, name);
    write_string_field(out, "author", author);
    close(out, &message.body.text(), message);
    replies.hear(message);
}

fn write_calls(out: &mut String, turn: &[Message<'_>], replies: &mut Replies) {
    let mut value = String::new();
    for (at, call) in turn.iter().enumerate() {
        value.push_str(if at > 0 { ", " } else { "" });
        write_call(&mut value, call);
        replies.hear(call);
    }
    if turn.len() > 1 {
        value.insert(0, '[');
        value.push(']');
    }
    if let Some(first) = turn.first() {
        open(out, "function_call", first.name.as_deref());
        close(out, &value, first);
    }
}

fn open(out: &mut String, from: &str, name: Option<&str>) {
    out.push_str(r#"{"from":""#);
    out.push_str(from);
    out.push('"');
    write_string_field(out, "name", name);
}

fn close(out: &mut String, value: &str, message: &Message<'_>) {
    write_string_field(out, "value", Some(value));
    services::write_fields(out, message, FORM);
    out.push('}');
}

/// Writes a call as data sets do, with spaces. Arguments that are not an object are text.
fn write_call(out: &mut String, call: &Message<'_>) {
    let (name, recipient) = calls::name_of(call.recipient.as_deref().unwrap_or_default());
    out.push_str("{\"name\": ");
    write_string(out, name);
    let body = call.body.text();
    let is_left_out = body.is_empty() && call.content_type.is_some();
    if !is_left_out {
        out.push_str(", \"arguments\": ");
        match calls::is_object(&body) && !body.contains(['\n', '\r']) {
            true => out.push_str(&body),
            false => write_string(out, &body),
        }
    }
    if let Some(recipient) = recipient {
        out.push_str(", \"recipient\": ");
        write_string(out, recipient);
    }
    out.push('}');
}
