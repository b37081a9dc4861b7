//! Writes a record, in its original form if the conversation still has it.

use super::read::{INSTRUCTION, QUESTION, TEXTS};
use super::{BETWEEN, FORM};
use crate::document::write_string_field;
use crate::json::{Value, write_string};
use crate::model::{Conversation, Document, Message, Pair, Role, Shape};
use crate::options::RenderOptions;
use crate::services::{self, aside_of, content_of, write_field};
use crate::writing::RenderError;

pub(super) fn write(
    document: &Document<'_>,
    options: &RenderOptions,
) -> Result<String, RenderError> {
    if let Document::Pair(pair) = document {
        return Ok(write_pair(pair));
    }
    let conversation = services::conversation(document, options, FORM)?;
    let mut out = String::with_capacity(services::estimate(conversation));
    let is_written = match (prompt_key(conversation), conversation.messages.as_slice()) {
        (Some(key), [prompt, completion]) => texts(&mut out, key, prompt, completion),
        (None, messages) if key_of(conversation) == INSTRUCTION => instruction(&mut out, messages),
        _ => false,
    };
    if !is_written {
        out.clear();
        sides(&mut out, conversation);
    }
    end(&mut out, conversation);
    Ok(out)
}

/// Returns the kind of the record that a conversation was read from.
fn key_of(conversation: &Conversation<'_>) -> &'static str {
    let layout = conversation.layout.as_deref().filter(|layout| layout.form == FORM);
    layout.and_then(|layout| layout.beyond.as_deref()).map_or("", |beyond| beyond.key)
}

/// Ends a record with its other fields.
fn end(out: &mut String, conversation: &Conversation<'_>) {
    let (fields, _) = aside_of(conversation, FORM);
    for (key, value) in fields {
        write_field(out, key, value);
    }
    out.push('}');
}

/// Writes a pair: two texts with their prompt, or lists of messages.
fn write_pair(pair: &Pair<'_>) -> String {
    let Pair { chosen, rejected, .. } = pair;
    let mut out = String::with_capacity(services::estimate(chosen) + services::estimate(rejected));
    if let ([prompt, good], [same, bad]) = (&chosen.messages[..], &rejected.messages[..])
        && let Some(key) = prompt_key(chosen)
        && prompt == same
        && prompt.role == Role::User
        && [good, bad].iter().all(|side| side.role == Role::Assistant)
    {
        begin_texts(&mut out, key, prompt);
        write_string_field(&mut out, "chosen", Some(&good.body.text()));
        write_string_field(&mut out, "rejected", Some(&bad.body.text()));
    } else {
        let shared = pair.shared();
        let asked = match chosen.shape(FORM) {
            Shape::Exchange(asked) if asked <= shared => asked,
            // A side is never empty because of its prompt.
            _ => shared.min(chosen.messages.len().min(rejected.messages.len()).saturating_sub(1)),
        };
        let has_prompt = asked > 0 && aside_of(chosen, FORM).0.iter().all(|it| it.0 != "prompt");
        let asked = if has_prompt { asked } else { 0 };
        out.push('{');
        if has_prompt {
            out.push_str("\"prompt\":[");
            list(&mut out, &chosen.messages[..asked]);
            out.push_str("],");
        }
        out.push_str("\"chosen\":[");
        list(&mut out, &chosen.messages[asked..]);
        out.push_str("],\"rejected\":[");
        list(&mut out, &rejected.messages[asked..]);
        out.push(']');
    }
    end(&mut out, chosen);
    out
}

/// Returns the key of the prompt in a record of texts.
fn prompt_key(conversation: &Conversation<'_>) -> Option<&'static str> {
    match key_of(conversation) {
        TEXTS => Some("prompt"),
        QUESTION => Some("question"),
        _ => None,
    }
}

/// Writes the prompt of a record of texts.
fn begin_texts(out: &mut String, key: &str, prompt: &Message<'_>) {
    out.push('{');
    write_string(out, key);
    out.push(':');
    write_string(out, &prompt.body.text());
}

/// Writes two texts. Returns whether the messages are a text of each side.
fn texts(out: &mut String, key: &str, prompt: &Message<'_>, completion: &Message<'_>) -> bool {
    begin_texts(out, key, prompt);
    write_string_field(out, "completion", Some(&completion.body.text()));
    (prompt.role, completion.role) == (Role::User, Role::Assistant)
}

/// Writes an instruction and its output. Returns whether the messages have this form: instructions
/// of the system, earlier rounds, an instruction and its output.
fn instruction(out: &mut String, messages: &[Message<'_>]) -> bool {
    let (system, rest) = match messages.split_first() {
        Some((first, rest)) if first.role == Role::System && !first.body.is_empty() => {
            (Some(first), rest)
        }
        _ => (None, messages),
    };
    let roles = |pair: &[Message<'_>]| matches!(pair, [one, two] if one.role == Role::User && two.role == Role::Assistant);
    if rest.is_empty() || rest.len() % 2 > 0 || !rest.chunks(2).all(roles) {
        return false;
    }
    let (history, last) = rest.split_at(rest.len() - 2);
    let [asked, output] = last else { return false };
    out.push_str("{\"instruction\":");
    match content_of(asked, FORM, BETWEEN).and_then(Value::as_list) {
        Some([instruction, input]) => {
            let text = |part: &Value<'_>| {
                part.get("text").and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            write_string(out, &text(instruction));
            write_string_field(out, "input", Some(&text(input)));
        }
        _ => {
            write_string(out, &asked.body.text());
            write_string_field(out, "input", Some(""));
        }
    }
    write_string_field(out, "output", Some(&output.body.text()));
    write_string_field(out, "system", system.map(|it| it.body.text()).as_deref());
    if !history.is_empty() {
        out.push_str(",\"history\":[");
        for (index, round) in history.chunks(2).enumerate() {
            out.push_str(if index == 0 { "[" } else { ",[" });
            for (index, message) in round.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write_string(out, &message.body.text());
            }
            out.push(']');
        }
        out.push(']');
    }
    true
}

/// Writes lists of messages: the last turn of the assistant is the completion.
fn sides(out: &mut String, conversation: &Conversation<'_>) {
    let messages = conversation.messages.as_slice();
    let last = messages.iter().rev().take_while(|it| it.role == Role::Assistant).count();
    let asked = match conversation.shape(FORM) {
        Shape::Exchange(asked) if asked <= messages.len() => asked,
        _ => messages.len() - last,
    };
    for (key, side) in
        [("{\"prompt\":[", &messages[..asked]), ("],\"completion\":[", &messages[asked..])]
    {
        out.push_str(key);
        list(out, side);
    }
    out.push(']');
}

/// Writes messages, separated by commas.
fn list(out: &mut String, messages: &[Message<'_>]) {
    for (index, message) in messages.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        out.push_str("{\"role\":\"");
        out.push_str(message.role.as_str());
        out.push('"');
        write_string_field(out, "content", Some(&message.body.text()));
        out.push('}');
    }
}
