//! Writing canonical JSON.

use std::fmt::Write as _;

use crate::json::{write_string, write_value};
use crate::model::{
    Content, Conversation, Document, End, Header, Infill, InfillOrder, Message, Part, Segment,
    Shape, Tool, Value,
};
use crate::render::{RenderError, RenderOptions};

pub(super) fn write(
    document: &Document<'_>,
    options: &RenderOptions,
) -> Result<String, RenderError> {
    let mut out = String::new();
    match document {
        Document::Conversation(conversation) => {
            out.reserve(conversation.messages.iter().map(|m| m.body.len() + 96).sum());
            write_conversation(&mut out, conversation, options);
        }
        Document::Infill(infill) => write_infill(&mut out, infill),
        Document::Files(parts) => {
            out.push_str(r#"{"files":["#);
            for (index, part) in parts.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write_part(&mut out, part, options);
            }
            out.push_str("]}");
        }
    }
    Ok(out)
}

fn write_part(out: &mut String, part: &Part<'_>, options: &RenderOptions) {
    match &part.content {
        Content::Text(text) => write_string(out, text),
        Content::Infill(infill) => write_infill(out, infill),
        Content::Conversation(conversation) => write_conversation(out, conversation, options),
    }
}

fn write_infill(out: &mut String, infill: &Infill<'_>) {
    out.push_str(r#"{"infill":{"prefix":"#);
    write_string(out, &infill.prefix);
    string_field(out, "suffix", Some(&infill.suffix));
    string_field(out, "middle", infill.middle.as_deref());
    let order = Some(infill.order).filter(|order| *order != InfillOrder::default());
    string_field(out, "order", order.map(InfillOrder::as_str));
    out.push_str("}}");
}

fn write_conversation(out: &mut String, conversation: &Conversation<'_>, options: &RenderOptions) {
    let is_bare = conversation.header.is_none()
        && conversation.tools.is_empty()
        && options.generation_prompt.is_none()
        && !options.continue_final;
    if let [message] = conversation.messages.as_slice()
        && is_bare
        && conversation.shape(super::NAME) == Shape::Message
    {
        return whole_message(out, message, options);
    }
    out.push('{');
    if let Some(header) = &conversation.header {
        write_header(out, header);
        out.push(',');
    }
    if !conversation.tools.is_empty() {
        out.push_str(r#""tools":["#);
        for (index, tool) in conversation.tools.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            write_tool(out, tool);
        }
        out.push_str("],");
    }
    out.push_str(r#""messages":["#);
    let prompt = options.generation_prompt.map(|role| {
        let mut prompt = Message::new(role, "");
        prompt.end = End::Prompt;
        prompt
    });
    let last = conversation.messages.len();
    for (index, one) in conversation.messages.iter().chain(&prompt).enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        if options.continue_final && index + 1 == last && prompt.is_none() {
            let mut open = one.clone();
            open.end = End::Open;
            whole_message(out, &open, options);
        } else {
            whole_message(out, one, options);
        }
    }
    out.push_str("]}");
}

/// Writes `"header":{…}`.
pub(crate) fn write_header(out: &mut String, header: &Header<'_>) {
    out.push_str(r#""header":{"#);
    for (index, (key, value)) in header.fields().iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        write_string(out, key);
        out.push(':');
        match (key.as_ref(), value.as_spelling()) {
            // A number would lose its spelling to many a JSON reader.
            ("version", Some(version)) => write_string(out, version),
            _ => write_value(out, value),
        }
    }
    out.push('}');
}

/// Writes the declaration of a tool.
pub(crate) fn write_tool(out: &mut String, tool: &Tool<'_>) {
    out.push_str(r#"{"type":"function","function":{"#);
    write_function(out, tool);
    out.push_str("}}");
}

/// Writes what a tool is as a function, without the braces.
pub(crate) fn write_function(out: &mut String, tool: &Tool<'_>) {
    out.push_str("\"name\":");
    write_string(out, &tool.name);
    string_field(out, "description", tool.description.as_deref());
    let parameters = tool.parameters.iter().map(|value| ("parameters", value));
    let extra = tool.extra.iter().map(|(key, value)| (key.as_ref(), value));
    for (key, value) in parameters.chain(extra) {
        value_field(out, key, value);
    }
}

fn value_field(out: &mut String, key: &str, value: &Value<'_>) {
    out.push(',');
    write_string(out, key);
    out.push(':');
    write_value(out, value);
}

/// Writes `,"key":"value"` if there is a value.
pub(crate) fn string_field(out: &mut String, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        out.push_str(",\"");
        out.push_str(key);
        out.push_str("\":");
        write_string(out, value);
    }
}

fn whole_message(out: &mut String, message: &Message<'_>, options: &RenderOptions) {
    self::message(out, message);
    let Some(ids) = message.ids().filter(|_| options.ids) else { return };
    out.pop();
    out.push_str(",\"ids\":[");
    for (index, id) in ids.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        let _ = write!(out, "{id}");
    }
    out.push_str("]}");
}

/// Writes a message.
pub(crate) fn message(out: &mut String, message: &Message<'_>) {
    out.push_str(r#"{"role":""#);
    out.push_str(message.role.as_str());
    out.push('"');
    string_field(out, "name", message.name.as_deref());
    string_field(out, "recipient", message.recipient.as_deref());
    string_field(out, "channel", message.channel.map(|channel| channel.as_str()));
    string_field(out, "call_id", message.call_id.as_deref());
    string_field(out, "intent", message.intent.map(|intent| intent.as_str()));
    string_field(out, "content_type", message.content_type.as_deref());
    if message.constrained {
        out.push_str(r#","constrained":true"#);
    }
    if message.end != End::Prompt {
        out.push_str(r#","content":"#);
        content(out, message);
    }
    match message.end {
        End::End => {}
        End::Open | End::Prompt => out.push_str(r#","end":"open""#),
        end => string_field(out, "end", Some(end.as_str())),
    }
    if let Some(weight) = message.weight {
        let _ = write!(out, ",\"weight\":{weight}");
    }
    if message.recovered {
        out.push_str(r#","recovered":true"#);
    }
    string_field(out, "unread", message.unread.as_deref());
    if message.foreign {
        out.push_str(r#","foreign":true"#);
    }
    out.push('}');
}

fn content(out: &mut String, message: &Message<'_>) {
    if let Some(text) = message.body.as_plain() {
        return write_string(out, text);
    }
    out.push('[');
    for (index, segment) in message.body.segments().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        let (kind, key, value) = match &segment {
            Segment::Text(text) => ("text", "text", text.as_ref()),
            Segment::Literal(text) => ("literal", "text", text.as_ref()),
            Segment::Marker(marker) => ("marker", "marker", marker.as_str()),
        };
        out.push_str(r#"{"type":""#);
        out.push_str(kind);
        out.push('"');
        string_field(out, key, Some(value));
        out.push('}');
    }
    out.push(']');
}
