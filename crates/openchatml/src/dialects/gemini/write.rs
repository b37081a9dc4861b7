//! Writes the body of a request: contents of parts, the system instruction and tools.

use super::part::{is_inside, is_output};
use super::{BLOCKS, FORM, tools};
use crate::Code;
use crate::document::{write_shaped, write_string_field};
use crate::json::{Data, Json, Value, write_string, write_value};
use crate::limits::Limits;
use crate::model::{Conversation, Document, Message, Role, Shape, bare_name};
use crate::options::RenderOptions;
use crate::services::{self, Replies, aside_of, beyond_of, calls, content_of, write_field};
use crate::writing::RenderError;

type Result<T> = std::result::Result<T, RenderError>;

/// The key of a response with the output of the model.
pub(super) const CANDIDATES: &str = "candidates";

pub(super) fn write(document: &Document<'_>, options: &RenderOptions) -> Result<String> {
    let conversation = services::conversation(document, options, FORM)?;
    let shape = conversation.shape(FORM);
    // A list has no place for the system instruction.
    let is_inside = matches!(shape, Shape::List | Shape::Message);
    let is_system = |message: &&Message<'_>| message.role == Role::System && !is_inside;
    let count = conversation.messages.iter().take_while(is_system).count();
    let (system, rest) = conversation.messages.split_at(count);
    if shape == Shape::Response && system.is_empty() && conversation.tools.is_empty() {
        let mut content = String::with_capacity(services::estimate(conversation));
        let is_model = rest.iter().all(|message| message.role == Role::Assistant);
        let count = Writer::default().contents(&mut content, rest, 0)?;
        if is_model && count < 2 {
            return Ok(response((count == 1).then_some(&content), conversation));
        }
    }
    let contents = |out: &mut String| Writer::default().contents(out, rest, count);
    let around = |out: &mut String| write_around(out, conversation, system);
    write_shaped(shape, "contents", services::estimate(conversation), contents, around)
}

/// Returns the response of the service with this content, if there is one.
fn response(content: Option<&String>, conversation: &Conversation<'_>) -> String {
    let (fields, _) = aside_of(conversation, FORM);
    let kept = fields.iter().find(|field| field.0 == CANDIDATES).and_then(|it| it.1.as_list());
    let mut out = String::from("{\"candidates\":");
    match content {
        None => write_value(&mut out, &Data::List(kept.unwrap_or_default().to_vec()).into()),
        Some(content) => {
            out.push_str("[{\"content\":");
            out.push_str(content);
            let candidate = kept.and_then(|it| it.first()).and_then(Value::as_map);
            for (key, value) in candidate.unwrap_or_default() {
                write_field(&mut out, key, value);
            }
            out.push_str("}]");
        }
    }
    for (key, value) in fields.iter().filter(|field| field.0 != CANDIDATES) {
        write_field(&mut out, key, value);
    }
    out.push('}');
    out
}

/// Writes the system instruction, tools, and other data of a request.
fn write_around(out: &mut String, conversation: &Conversation<'_>, system: &[Message<'_>]) {
    if !system.is_empty() {
        out.push_str(",\"systemInstruction\":{\"parts\":[");
        let mut comma = "";
        system.iter().for_each(|message| write_parts(out, &mut comma, message));
        out.push_str("]}");
    }
    let (fields, hosted) = aside_of(conversation, FORM);
    if !conversation.tools.is_empty() || !hosted.is_empty() {
        out.push_str(",\"tools\":");
        tools::write(out, &conversation.tools, hosted);
    }
    // With more contents than the candidate, it is no response any more.
    for (key, value) in fields.iter().filter(|it| it.0 != "tools" && it.0 != CANDIDATES) {
        write_field(out, key, value);
    }
}

/// Writes the text of a message as parts: the original ones, or one with text.
fn write_parts(out: &mut String, comma: &mut &'static str, message: &Message<'_>) {
    match content_of(message, FORM, "").and_then(Value::as_list) {
        Some(parts) => {
            for part in parts {
                out.push_str(std::mem::replace(comma, ","));
                write_value(out, part);
            }
        }
        None => {
            out.push_str(std::mem::replace(comma, ","));
            out.push_str("{\"text\":");
            write_string(out, &message.body.text());
            out.push('}');
        }
    }
}

/// Writes contents in order.
#[derive(Debug, Default)]
struct Writer {
    replies: Replies,
}

impl Writer {
    /// Writes the contents of a list. `index` is the position of the first message. Returns their
    /// number.
    fn contents(
        &mut self,
        out: &mut String,
        messages: &[Message<'_>],
        index: usize,
    ) -> Result<usize> {
        let (mut rest, mut count) = (messages, 0);
        while let Some(first) = rest.first() {
            out.push_str(if count == 0 { "" } else { "," });
            count += 1;
            let (turn, others) = rest.split_at(BLOCKS.turn(rest));
            if turn.last().is_some_and(Message::is_commentary) {
                let index = index + messages.len() - others.len() - 1;
                let text = format!("`{}` supports preambles only before calls", FORM.name());
                return Err(RenderError::new(Code::RenderUnsupported, Some(index), text));
            }
            out.push_str(match first.role {
                Role::Assistant => r#"{"role":"model","parts":["#,
                Role::System | Role::Developer => r#"{"role":"system","parts":["#,
                Role::User | Role::Tool => r#"{"role":"user","parts":["#,
            });
            let mut comma = "";
            turn.iter().for_each(|message| self.part(out, &mut comma, message));
            out.push_str("]}");
            rest = others;
        }
        Ok(count)
    }

    /// Writes the parts of a message, and the other parts around it.
    fn part(&mut self, out: &mut String, comma: &mut &'static str, message: &Message<'_>) {
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
            }
            reasoning if reasoning.is_reasoning() => {
                out.push_str(std::mem::replace(comma, ","));
                out.push_str("{\"text\":");
                write_string(out, &reasoning.body.text());
                out.push_str(",\"thought\":true");
                close(out, reasoning);
            }
            reply if reply.role == Role::Tool => {
                out.push_str(std::mem::replace(comma, ","));
                self.write_result(out, reply);
            }
            said => write_parts(out, comma, said),
        }
        for item in beyond.map_or(&[][..], |beyond| &beyond.after) {
            out.push_str(std::mem::replace(comma, ","));
            write_value(out, item);
        }
    }

    /// Writes a result. The API requires the name of the function, even if the call has it.
    fn write_result(&mut self, out: &mut String, reply: &Message<'_>) {
        let (_, author) = self.replies.identify(reply);
        out.push_str("{\"functionResponse\":{\"response\":");
        let body = reply.body.text();
        match is_response(&body) {
            true => out.push_str(&body),
            false => {
                out.push_str("{\"output\":");
                write_string(out, &body);
                out.push('}');
            }
        }
        write_string_field(out, "name", reply.name.as_deref().map(bare_name));
        write_string_field(out, "author", author);
        write_string_field(out, "id", reply.call_id.as_deref());
        write_inside(out, reply);
        out.push('}');
        close(out, reply);
    }
}

/// Whether the text of a result is written as JSON: an object that is read back as this text.
fn is_response(body: &str) -> bool {
    if body.contains(['\n', '\r']) || !calls::is_inline_object(body) {
        return false;
    }
    let value = Json::new(body, &Limits::default()).value();
    value.is_ok_and(|value| !is_output(&value))
}

/// Writes the kept fields inside of a call or a result.
fn write_inside(out: &mut String, message: &Message<'_>) {
    let fields = beyond_of(message, FORM).map_or(&[][..], |beyond| &beyond.fields);
    for (key, value) in fields.iter().filter(|field| is_inside(&field.0)) {
        write_field(out, key, value);
    }
}

/// Writes the kept fields of a part, and its end.
fn close(out: &mut String, message: &Message<'_>) {
    let fields = beyond_of(message, FORM).map_or(&[][..], |beyond| &beyond.fields);
    for (key, value) in fields.iter().filter(|field| !is_inside(&field.0)) {
        write_field(out, key, value);
    }
    out.push('}');
}

/// Writes a call. Arguments that are not an object are a string.
fn write_call(out: &mut String, call: &Message<'_>) {
    let (name, recipient) = calls::name_of(call.recipient.as_deref().unwrap_or_default());
    out.push_str("{\"functionCall\":{\"name\":");
    write_string(out, name);
    let body = call.body.text();
    match calls::is_inline_object(&body) {
        // Between the parts of JSON, a line break is the same as a space.
        true => {
            out.push_str(",\"args\":");
            out.push_str(&body.replace(['\n', '\r'], " "));
        }
        false => write_string_field(out, "args", Some(&body)),
    }
    write_string_field(out, "recipient", recipient);
    write_string_field(out, "id", call.call_id.as_deref());
    write_inside(out, call);
    out.push('}');
    close(out, call);
}
