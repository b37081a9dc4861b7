//! Writes a record, in its original form if the conversation still has it.

use std::fmt::Write as _;

use super::read::{INSTRUCTION, INSTRUCTIONS, MESSAGES, TEXTS};
use super::{BETWEEN, FORM};
use crate::document::{shared_turns, write_string_field};
use crate::json::{Value, write_string};
use crate::model::{Beyond, Conversation, Document, Message, Pair, Role, Shape, Weight};
use crate::options::RenderOptions;
use crate::services::chat::ChatWriter;
use crate::services::{self, aside_of, beyond_of, content_of, write_document};
use crate::writing::RenderError;

pub(super) fn write(
    document: &Document<'_>,
    options: &RenderOptions,
) -> Result<String, RenderError> {
    let conversation = services::conversation(document, options, FORM)?;
    let mut out = String::with_capacity(services::estimate(conversation));
    let key = key_of(conversation);
    let keys = |kinds: &'static [(&str, &str, &str)]| kinds.iter().find(|kind| kind.0 == key);
    let is_written = match (keys(TEXTS), keys(INSTRUCTIONS), conversation.messages.as_slice()) {
        (Some(kind), _, [prompt, completion]) => texts(&mut out, kind, prompt, completion),
        (_, Some(kind), messages) => instruction(&mut out, kind, messages),
        _ => false,
    };
    if !is_written {
        out.clear();
        sides(&mut out, conversation)?;
    }
    end(&mut out, conversation);
    Ok(out)
}

/// Returns the kind of the record that a conversation was read from.
fn key_of(conversation: &Conversation<'_>) -> &'static str {
    let layout = conversation.layout.as_deref().filter(|layout| layout.form == FORM);
    layout.and_then(|layout| layout.beyond.as_deref()).map_or("", |beyond| beyond.key)
}

/// Ends a record with its tools and its other fields.
fn end(out: &mut String, conversation: &Conversation<'_>) {
    write_document(out, conversation, FORM, "");
    out.push('}');
}

/// Writes a pair: two texts with their prompt, single messages, or lists of messages.
pub(super) fn write_pair(
    pair: &Pair<'_>,
    _: &RenderOptions,
) -> Result<Option<String>, RenderError> {
    let Pair { chosen, rejected, .. } = pair;
    if chosen.tools != rejected.tools {
        return Ok(None);
    }
    let mut out = String::with_capacity(services::estimate(chosen) + services::estimate(rejected));
    if let ([prompt, good], [same, bad]) = (&chosen.messages[..], &rejected.messages[..])
        && let Some(key) = prompt_key(chosen)
        && prompt == same
        && is_text(prompt, Role::User)
        && [good, bad].iter().all(|side| is_text(side, Role::Assistant))
    {
        begin_texts(&mut out, key, prompt);
        write_string_field(&mut out, "chosen", Some(&good.body.text()));
        write_string_field(&mut out, "rejected", Some(&bad.body.text()));
        end(&mut out, chosen);
        return Ok(Some(out));
    }
    let asked = asked_of_pair(pair);
    let has_prompt = asked > 0;
    let mut writer = ChatWriter::new(FORM);
    let mut prompt = String::new();
    writer.messages(&mut prompt, &chosen.messages[..asked])?;
    let mut sides = [String::new(), String::new()];
    let mut are_single = true;
    let number = pair.numbers();
    let numbers: [&dyn Fn(usize) -> usize; 2] = [&|at| asked + at, &|at| number(asked + at)];
    for ((side, conversation), number) in sides.iter_mut().zip([chosen, rejected]).zip(numbers) {
        let written = writer.clone().messages(side, &conversation.messages[asked..]);
        are_single &= written.map_err(|error| error.renumber(number))? == 1;
    }
    let [good, bad] = sides;
    out.push('{');
    if key_of(chosen) == MESSAGES && are_single && has_prompt {
        let _ = write!(out, r#""messages":[{prompt}],"chosen":{good},"rejected":{bad}"#);
    } else {
        if has_prompt {
            let _ = write!(out, r#""prompt":[{prompt}],"#);
        }
        let _ = write!(out, r#""chosen":[{good}],"rejected":[{bad}]"#);
    }
    end(&mut out, chosen);
    Ok(Some(out))
}

/// Returns the first position from `asked` backwards that is not between a preamble and its call,
/// which are one object.
fn boundary(messages: &[Message<'_>], asked: usize) -> usize {
    let splits = |at: &usize| {
        let before = at.checked_sub(1).and_then(|at| messages.get(at));
        before.is_some_and(Message::is_commentary)
            && messages.get(*at).is_some_and(Message::is_call)
    };
    (0..=asked).rev().find(|at| !splits(at)).unwrap_or_default()
}

/// Whether the record says the weight of the message elsewhere.
fn is_implied(message: &Message<'_>) -> bool {
    let key = beyond_of(message, FORM).map(|beyond| beyond.weight_key);
    message.weight == Some(Weight::ZERO) && key == Some(Beyond::IMPLIED)
}

/// Whether a message of this role is only a text.
fn is_text(message: &Message<'_>, role: Role) -> bool {
    let is_visible = role != Role::Assistant || message.is_answer();
    let is_plain = message.name.is_none()
        && (message.weight.is_none() || is_implied(message))
        && message.recipient.is_none()
        && message.call_id.is_none()
        && message.content_type.is_none();
    let beyond = beyond_of(message, FORM);
    let has_more =
        beyond.is_some_and(|it| !it.fields.is_empty() || !matches!(it.key, "" | INSTRUCTION));
    let has_parts = content_of(message, FORM, "").is_some();
    message.role == role && is_visible && is_plain && !has_more && !has_parts
}

/// Returns the key of the prompt in a record of texts.
fn prompt_key(conversation: &Conversation<'_>) -> Option<&'static str> {
    let key = key_of(conversation);
    TEXTS.iter().find(|kind| kind.0 == key).map(|kind| kind.1)
}

/// Writes the prompt of a record of texts.
fn begin_texts(out: &mut String, key: &str, prompt: &Message<'_>) {
    out.push('{');
    write_string(out, key);
    out.push(':');
    write_string(out, &prompt.body.text());
}

/// Writes two texts. Returns whether the messages are a text of each side.
fn texts(
    out: &mut String,
    (_, prompt_key, completion_key): &(&str, &str, &str),
    prompt: &Message<'_>,
    completion: &Message<'_>,
) -> bool {
    begin_texts(out, prompt_key, prompt);
    write_string_field(out, completion_key, Some(&completion.body.text()));
    is_text(prompt, Role::User) && is_text(completion, Role::Assistant)
}

/// Writes an instruction and its output. Returns whether the messages have this form: instructions
/// of the system, earlier rounds, an instruction and its output.
fn instruction(
    out: &mut String,
    (_, input_key, output_key): &(&str, &str, &str),
    messages: &[Message<'_>],
) -> bool {
    let (system, rest) = match messages.split_first() {
        Some((first, rest)) if is_text(first, Role::System) && !first.body.is_empty() => {
            (Some(first), rest)
        }
        _ => (None, messages),
    };
    let roles = |pair: &[Message<'_>]| matches!(pair, [one, two] if is_text(one, Role::User) && is_text(two, Role::Assistant));
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
            write_string_field(out, input_key, Some(&text(input)));
        }
        _ => {
            write_string(out, &asked.body.text());
            write_string_field(out, input_key, Some(""));
        }
    }
    write_string_field(out, output_key, Some(&output.body.text()));
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

/// Returns the number of messages before the completion, or before the sides of a pair: they are only
/// context.
pub(super) fn context(document: &Document<'_>) -> usize {
    match document {
        Document::Conversation(conversation) => asked(conversation),
        Document::Pair(pair) => asked_of_pair(pair),
        Document::Infill(_) | Document::Files(_) => 0,
    }
}

/// Returns the number of messages before the completion. The last turn of the assistant is the
/// completion, unless the record was read with another one.
fn asked(conversation: &Conversation<'_>) -> usize {
    let messages = conversation.messages.as_slice();
    let last = messages.iter().rev().take_while(|it| it.role == Role::Assistant).count();
    let before = messages.len() - last;
    let is_trained = |it: &Message<'_>| it.role == Role::Assistant && it.weight.is_none();
    let asked = match conversation.shape(FORM) {
        // All rounds of an instruction are trained, but a prompt is not.
        Shape::Exchange(0) if INSTRUCTIONS.iter().any(|it| it.0 == key_of(conversation)) => {
            let has_rounds = messages[..before].iter().any(is_trained);
            if has_rounds { 0 } else { before }
        }
        Shape::Exchange(asked) if asked <= messages.len() => asked,
        _ => before,
    };
    boundary(messages, asked)
}

/// Returns the number of messages before the sides of a pair.
fn asked_of_pair(pair: &Pair<'_>) -> usize {
    let chosen = &pair.chosen;
    let asked = match chosen.shape(FORM) {
        Shape::Exchange(asked) if asked <= pair.shared() => asked,
        _ => shared_turns(pair),
    };
    let is_written = aside_of(chosen, FORM).0.iter().all(|it| it.0 != "prompt");
    if is_written { boundary(&chosen.messages, asked) } else { 0 }
}

/// Writes lists of messages: a prompt and its completion.
fn sides(out: &mut String, conversation: &Conversation<'_>) -> Result<(), RenderError> {
    let (prompt, completion) = conversation.messages.split_at(asked(conversation));
    let mut writer = ChatWriter::new(FORM);
    out.push_str("{\"prompt\":[");
    writer.messages(out, prompt)?;
    out.push_str("],\"completion\":[");
    writer.messages(out, completion).map_err(|error| error.renumber(|at| prompt.len() + at))?;
    out.push(']');
    Ok(())
}
