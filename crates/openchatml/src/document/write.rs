//! Writes parts of canonical JSON, which other JSON formats also use.

use std::fmt::Write as _;

use crate::json::{Value, write_string, write_value};
use crate::model::{End, Header, Message, Segment, Tool};

/// Writes `"header":{…}`.
pub(crate) fn write_header(out: &mut String, header: &Header<'_>) {
    out.push_str(r#""header":{"#);
    for (index, (key, value)) in header.fields().iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        write_string(out, key);
        out.push(':');
        match (key.as_ref(), value.as_spelling()) {
            // Many JSON readers would lose the spelling of a number.
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

/// Writes the fields of a function, without braces.
pub(crate) fn write_function(out: &mut String, tool: &Tool<'_>) {
    out.push_str("\"name\":");
    write_string(out, &tool.name);
    write_string_field(out, "description", tool.description.as_deref());
    let parameters = tool.parameters.iter().map(|value| ("parameters", value));
    let extra = tool.extra.iter().map(|(key, value)| (key.as_ref(), value));
    for (key, value) in parameters.chain(extra) {
        value_field(out, key, value);
    }
}

/// Writes `,"key":"value"` if there is a value.
pub(crate) fn write_string_field(out: &mut String, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        out.push_str(",\"");
        out.push_str(key);
        out.push_str("\":");
        write_string(out, value);
    }
}

/// Writes a message.
pub(crate) fn write_message(out: &mut String, message: &Message<'_>) {
    out.push_str(r#"{"role":""#);
    out.push_str(message.role.as_str());
    out.push('"');
    write_string_field(out, "name", message.name.as_deref());
    write_string_field(out, "recipient", message.recipient.as_deref());
    write_string_field(out, "channel", message.channel.map(|channel| channel.as_str()));
    write_string_field(out, "call_id", message.call_id.as_deref());
    write_string_field(out, "intent", message.intent.map(|intent| intent.as_str()));
    write_string_field(out, "content_type", message.content_type.as_deref());
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
        end => write_string_field(out, "end", Some(end.as_str())),
    }
    if let Some(weight) = message.weight {
        let _ = write!(out, ",\"weight\":{weight}");
    }
    if message.recovered {
        out.push_str(r#","recovered":true"#);
    }
    write_string_field(out, "unread", message.unread.as_deref());
    if message.foreign {
        out.push_str(r#","foreign":true"#);
    }
    out.push('}');
}

fn value_field(out: &mut String, key: &str, value: &Value<'_>) {
    out.push(',');
    write_string(out, key);
    out.push(':');
    write_value(out, value);
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
        write_string_field(out, key, Some(value));
        out.push('}');
    }
    out.push(']');
}
