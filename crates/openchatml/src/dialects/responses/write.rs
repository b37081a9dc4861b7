//! Writes the body of a request: items and tools.

use std::collections::HashSet;

use super::{FORM, between};
use crate::document::{write_function, write_shaped, write_string_field};
use crate::json::{Value, write_string, write_value};
use crate::model::{Conversation, Document, Message, Role, Shape};
use crate::options::RenderOptions;
use crate::services::{self, Replies, beyond_of, calls, content_of};
use crate::writing::RenderError;

pub(super) fn write(
    document: &Document<'_>,
    options: &RenderOptions,
) -> Result<String, RenderError> {
    let conversation = services::conversation(document, options, FORM)?;
    let (instructions, messages) = match conversation.messages.split_first() {
        Some((first, rest)) if are_instructions(first) => (Some(first), rest),
        _ => (None, conversation.messages.as_slice()),
    };
    let rest = |out: &mut String| {
        let instructions = instructions.map(|message| message.body.text());
        write_string_field(out, "instructions", instructions.as_deref());
        write_around(out, conversation);
    };
    let capacity = services::estimate(conversation);
    let mut writer = Writer::default();
    if let Shape::Exchange(asked) = conversation.shape(FORM) {
        let asked = asked.saturating_sub(usize::from(instructions.is_some()));
        let (input, output) = messages.split_at(asked.min(messages.len()));
        let mut out = String::with_capacity(capacity);
        out.push('{');
        if !input.is_empty() {
            out.push_str("\"input\":[");
            write_items(&mut out, &mut writer, input, &[]);
            out.push_str("],");
        }
        out.push_str("\"output\":[");
        write_items(&mut out, &mut writer, output, items_after(conversation));
        out.push(']');
        rest(&mut out);
        out.push('}');
        return Ok(out);
    }
    let items =
        |out: &mut String| Ok(write_items(out, &mut writer, messages, items_after(conversation)));
    write_shaped(conversation.shape(FORM), "input", capacity, items, rest)
}

/// Returns the items after the last message.
fn items_after<'c>(conversation: &'c Conversation<'_>) -> &'c [Value<'c>] {
    let layout = conversation.layout.as_deref().filter(|layout| layout.form == FORM);
    let beyond = layout.and_then(|layout| layout.beyond.as_deref());
    beyond.map_or(&[], |beyond| &beyond.items)
}

/// Writes the items of a list, and the items `after` them. Returns their number.
fn write_items<'m>(
    out: &mut String,
    writer: &mut Writer<'m>,
    messages: &'m [Message<'_>],
    after: &[Value<'_>],
) -> usize {
    let mut count = 0;
    let mut next = |out: &mut String| {
        out.push_str(if count == 0 { "" } else { "," });
        count += 1;
    };
    for message in messages {
        for item in beyond_of(message, FORM).map_or(&[][..], |beyond| &beyond.items) {
            next(out);
            write_value(out, item);
        }
        next(out);
        writer.item(out, message);
    }
    for item in after {
        next(out);
        write_value(out, item);
    }
    count
}

/// Whether a message was outside of the items, and can be there again.
fn are_instructions(message: &Message<'_>) -> bool {
    let was = beyond_of(message, FORM).is_some_and(|beyond| beyond.key == "instructions");
    was && message.role == Role::Developer && message.name.is_none()
}

fn write_around(out: &mut String, conversation: &Conversation<'_>) {
    let (fields, hosted) = services::aside_of(conversation, FORM);
    if !conversation.tools.is_empty() || !hosted.is_empty() {
        let mut comma = "";
        out.push_str(",\"tools\":[");
        for tool in &conversation.tools {
            out.push_str(std::mem::replace(&mut comma, ","));
            out.push_str(r#"{"type":"function","#);
            write_function(out, tool);
            out.push('}');
        }
        for tool in hosted {
            out.push_str(std::mem::replace(&mut comma, ","));
            write_value(out, tool);
        }
        out.push(']');
    }
    for (key, value) in fields.iter().filter(|field| field.0 != "tools") {
        services::write_field(out, key, value);
    }
}

/// Writes items in order.
#[derive(Default)]
struct Writer<'m> {
    replies: Replies,
    /// The ids of calls with text as input.
    custom: HashSet<&'m str>,
}

impl<'m> Writer<'m> {
    fn item(&mut self, out: &mut String, message: &'m Message<'_>) {
        match message {
            call if call.is_call() => {
                self.replies.call(call);
                if !calls::is_function(call) {
                    self.custom.extend(call.call_id.as_deref());
                }
                write_call(out, call);
            }
            reasoning if reasoning.is_reasoning() => write_reasoning(out, reasoning),
            reply if reply.role == Role::Tool => {
                let (name, author) = self.replies.identify(reply);
                let is_custom = reply.call_id.as_deref().is_some_and(|id| self.custom.contains(id));
                let kind = if is_custom { "custom_tool_call" } else { "function_call" };
                out.push_str(r#"{"type":""#);
                out.push_str(kind);
                out.push_str(r#"_output""#);
                write_string_field(out, "call_id", reply.call_id.as_deref());
                write_string_field(out, "name", name);
                write_string_field(out, "author", author);
                write_content(out, "output", reply);
            }
            message => {
                out.push_str(r#"{"type":"message","role":""#);
                out.push_str(message.role.as_str());
                out.push('"');
                write_string_field(out, "name", message.name.as_deref());
                write_content(out, "content", message);
                let phase = message.is_commentary().then_some("commentary");
                write_string_field(out, "phase", phase);
            }
        }
        services::write_fields(out, message, FORM);
        out.push('}');
    }
}

fn write_content(out: &mut String, key: &str, message: &Message<'_>) {
    match content_of(message, FORM, between(message)) {
        Some(content) => services::write_field(out, key, content),
        None => write_string_field(out, key, Some(&message.body.text())),
    }
}

fn write_call(out: &mut String, call: &Message<'_>) {
    let (name, recipient) = calls::name_of(call.recipient.as_deref().unwrap_or_default());
    let (kind, body) = match calls::is_function(call) {
        true => ("function_call", "arguments"),
        false => ("custom_tool_call", "input"),
    };
    out.push_str(r#"{"type":""#);
    out.push_str(kind);
    out.push('"');
    write_string_field(out, "call_id", call.call_id.as_deref());
    write_string_field(out, "name", Some(name));
    write_string_field(out, body, Some(&call.body.text()));
    write_string_field(out, "recipient", recipient);
}

/// Writes reasoning, with its required summary.
fn write_reasoning(out: &mut String, reasoning: &Message<'_>) {
    out.push_str(r#"{"type":"reasoning""#);
    let fields = beyond_of(reasoning, FORM).map_or(&[][..], |beyond| &beyond.fields);
    if fields.iter().all(|field| field.0 != "summary") {
        out.push_str(r#","summary":[]"#);
    }
    if content_of(reasoning, FORM, between(reasoning)).is_some() {
        return write_content(out, "content", reasoning);
    }
    out.push_str(r#","content":[{"type":"reasoning_text","text":"#);
    write_string(out, &reasoning.body.text());
    out.push_str("}]");
}
