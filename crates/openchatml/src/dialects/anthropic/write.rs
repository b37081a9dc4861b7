//! Writes the body of a request: turns of blocks, the system prompt and tools.

use super::{BLOCKS, FORM, tools};
use crate::Code;
use crate::document::{write_shaped, write_string_field};
use crate::json::{Value, write_string, write_value};
use crate::model::{Conversation, Document, Message, Role, Shape};
use crate::options::RenderOptions;
use crate::services::{self, Replies, aside_of, beyond_of, calls, content_of, write_field};
use crate::writing::RenderError;

type Result<T> = std::result::Result<T, RenderError>;

pub(super) fn write(document: &Document<'_>, options: &RenderOptions) -> Result<String> {
    let conversation = services::conversation(document, options, FORM)?;
    let shape = conversation.shape(FORM);
    // A list has no place for the system prompt.
    let is_inside = matches!(shape, Shape::List | Shape::Message);
    let is_system = |message: &&Message<'_>| message.role == Role::System && !is_inside;
    let count = conversation.messages.iter().take_while(is_system).count();
    let (system, rest) = conversation.messages.split_at(count);
    let messages = |out: &mut String| Writer::default().messages(out, rest, count);
    let around = |out: &mut String| write_around(out, conversation, system);
    write_shaped(shape, "messages", services::estimate(conversation), messages, around)
}

/// Writes the system prompt, tools, and other data of a request.
fn write_around(out: &mut String, conversation: &Conversation<'_>, system: &[Message<'_>]) {
    match system {
        [] => {}
        [one] if content_of(one, FORM, "").is_none() => {
            write_string_field(out, "system", Some(&one.body.text()));
        }
        all => {
            out.push_str(",\"system\":[");
            let mut comma = "";
            for message in all {
                write_blocks(out, &mut comma, message);
            }
            out.push(']');
        }
    }
    let (fields, hosted) = aside_of(conversation, FORM);
    if !conversation.tools.is_empty() || !hosted.is_empty() {
        out.push_str(",\"tools\":");
        tools::write(out, &conversation.tools, hosted);
    }
    for (key, value) in fields.iter().filter(|field| field.0 != "tools") {
        write_field(out, key, value);
    }
}

/// Writes the text of a message as blocks: the original ones, or a block of text.
fn write_blocks(out: &mut String, comma: &mut &'static str, message: &Message<'_>) {
    match content_of(message, FORM, "").and_then(Value::as_list) {
        Some(blocks) => {
            for block in blocks {
                out.push_str(std::mem::replace(comma, ","));
                write_value(out, block);
            }
        }
        None => {
            out.push_str(std::mem::replace(comma, ","));
            out.push_str(r#"{"type":"text","text":"#);
            write_string(out, &message.body.text());
            out.push('}');
        }
    }
}

/// Writes turns in order.
#[derive(Debug, Default)]
struct Writer {
    replies: Replies,
}

impl Writer {
    /// Writes the objects of a list. `index` is the position of the first message. Returns their
    /// number.
    fn messages(
        &mut self,
        out: &mut String,
        messages: &[Message<'_>],
        index: usize,
    ) -> Result<usize> {
        let (mut rest, mut count) = (messages, 0);
        while !rest.is_empty() {
            out.push_str(if count == 0 { "" } else { "," });
            count += 1;
            let (turn, others) = rest.split_at(BLOCKS.turn(rest));
            if turn.last().is_some_and(Message::is_commentary) {
                let index = index + messages.len() - others.len() - 1;
                let text = format!("`{}` supports preambles only before calls", FORM.name());
                return Err(RenderError::new(Code::RenderUnsupported, Some(index), text));
            }
            self.object(out, turn);
            rest = others;
        }
        Ok(count)
    }

    /// Writes the object of a turn.
    fn object(&mut self, out: &mut String, turn: &[Message<'_>]) {
        let role = match turn.first().map(|first| first.role) {
            Some(Role::Assistant) => "assistant",
            Some(Role::System | Role::Developer) => "system",
            _ => "user",
        };
        out.push_str(r#"{"role":""#);
        out.push_str(role);
        out.push_str(r#"","content":"#);
        match turn {
            [one] if BLOCKS.is_plain(one) => write_string(out, &one.body.text()),
            all => {
                let mut comma = "";
                out.push('[');
                all.iter().for_each(|message| self.block(out, &mut comma, message));
                out.push(']');
            }
        }
        for message in turn {
            let Some(beyond) = beyond_of(message, FORM) else { continue };
            if beyond.key == "message" {
                out.push_str(r#","type":"message""#);
            }
            for (key, value) in beyond.fields.iter().filter(|field| !BLOCKS.is_own(&field.0)) {
                write_field(out, key, value);
            }
        }
        out.push('}');
    }

    /// Writes the blocks of a message, and the other blocks around it.
    fn block(&mut self, out: &mut String, comma: &mut &'static str, message: &Message<'_>) {
        let beyond = beyond_of(message, FORM);
        for item in beyond.map_or(&[][..], |beyond| &beyond.items) {
            out.push_str(std::mem::replace(comma, ","));
            write_value(out, item);
        }
        match message {
            call if call.is_call() => {
                out.push_str(std::mem::replace(comma, ","));
                self.replies.call(call);
                write_call(out, call);
                close(out, call);
            }
            reasoning if reasoning.is_reasoning() => {
                out.push_str(std::mem::replace(comma, ","));
                write_thinking(out, reasoning);
                close(out, reasoning);
            }
            reply if reply.role == Role::Tool => {
                out.push_str(std::mem::replace(comma, ","));
                self.write_result(out, reply);
                close(out, reply);
            }
            said => write_blocks(out, comma, said),
        }
        for item in beyond.map_or(&[][..], |beyond| &beyond.after) {
            out.push_str(std::mem::replace(comma, ","));
            write_value(out, item);
        }
    }

    fn write_result(&mut self, out: &mut String, reply: &Message<'_>) {
        let (name, author) = self.replies.identify(reply);
        out.push_str(r#"{"type":"tool_result""#);
        write_string_field(out, "tool_use_id", reply.call_id.as_deref());
        write_string_field(out, "name", name);
        write_string_field(out, "author", author);
        match content_of(reply, FORM, "") {
            Some(content) => write_field(out, "content", content),
            None => write_string_field(out, "content", Some(&reply.body.text())),
        }
    }
}

/// Writes the kept fields of a block, and its end.
fn close(out: &mut String, message: &Message<'_>) {
    let fields = beyond_of(message, FORM).map_or(&[][..], |beyond| &beyond.fields);
    for (key, value) in fields.iter().filter(|field| BLOCKS.is_own(&field.0)) {
        write_field(out, key, value);
    }
    out.push('}');
}

fn write_thinking(out: &mut String, reasoning: &Message<'_>) {
    out.push_str(r#"{"type":"thinking""#);
    write_string_field(out, "thinking", Some(&reasoning.body.text()));
    let fields = beyond_of(reasoning, FORM).map_or(&[][..], |beyond| &beyond.fields);
    if fields.iter().all(|field| field.0 != "signature") {
        // The field is required.
        write_string_field(out, "signature", Some(""));
    }
}

/// Writes a call. Input that is not an object is a string.
fn write_call(out: &mut String, call: &Message<'_>) {
    let (name, recipient) = calls::name_of(call.recipient.as_deref().unwrap_or_default());
    out.push_str(r#"{"type":"tool_use""#);
    write_string_field(out, "id", call.call_id.as_deref());
    write_string_field(out, "name", Some(name));
    let body = call.body.text();
    out.push_str(",\"input\":");
    match calls::is_inline_object(&body) {
        // Between the parts of JSON, a line break is the same as a space.
        true => out.push_str(&body.replace(['\n', '\r'], " ")),
        false => write_string(out, &body),
    }
    write_string_field(out, "recipient", recipient);
}
