//! Tool calls as objects: `tool_calls`, and the deprecated `function_call`.

use crate::document::{DocumentReader, write_string_field};
use crate::json::{Json, JsonError, write_string};
use crate::model::Message;
use crate::services::calls::{
    KINDS, Name, arguments, blank, is_function, name, name_of, named, set_custom,
};
use crate::{Code, Span};

type Result<T> = std::result::Result<T, JsonError>;

/// Reads `tool_calls`.
pub(super) fn read<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    calls: &mut Vec<Message<'a>>,
) -> Result<()> {
    reader.array(json, |reader, json| {
        let mut call = blank();
        let mut name = None;
        let keys = ["id", "type", "function", "custom", "recipient", "index"];
        let place = calls.len();
        let span = reader.object(json, &keys, |reader, json, key| {
            match key {
                "id" => call.call_id = reader.value(json, key, &mut call)?,
                "recipient" => call.recipient = reader.value(json, key, &mut call)?,
                "type" => {
                    let is_known = |word: &str| KINDS.contains(&word).then_some(());
                    reader.word(json, "tool call type", KINDS, is_known)?;
                }
                "function" | "custom" => {
                    let body = if key == "custom" { "input" } else { "arguments" };
                    function(reader, json, body, &mut name, &mut call)?;
                    if key == "custom" {
                        set_custom(&mut call);
                    }
                }
                // The position in the stream from which it was collected.
                _ => index(reader, json, place)?,
            }
            Ok(())
        })?;
        calls.extend(span.and_then(|span| named(reader, call, name, span)));
        Ok(())
    })
}

/// Reads the index of a call, which must equal its position in the list.
fn index(reader: &mut DocumentReader<'_>, json: &mut Json<'_>, place: usize) -> Result<()> {
    let start = json.offset();
    if !matches!(json.peek(), Some(b'0'..=b'9' | b'-')) {
        return reader.wrong(json, "a number");
    }
    if json.number()?.parse() != Ok(place) {
        let span = Span::new(start, json.position());
        let text = "the `index` of this call does not match its position: `index` will be dropped";
        reader.drop_value(Code::ParseJson.at(span, text));
    }
    Ok(())
}

/// Reads the deprecated `function_call`, which has no id.
pub(super) fn read_legacy<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<Option<Message<'a>>> {
    if json.peek() == Some(b'n') {
        return json.word().map(|_| None);
    }
    let (mut call, mut name) = (blank(), None);
    let span = function(reader, json, "arguments", &mut name, &mut call)?;
    Ok(span.and_then(|span| named(reader, call, name, span)))
}

/// Reads the name of a function and its input, under the key `body`.
fn function<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    body: &'static str,
    name: &mut Name<'a>,
    call: &mut Message<'a>,
) -> Result<Option<Span>> {
    call.content_type = (body == "arguments").then_some("json".into());
    reader.object(json, &["name", body], |reader, json, key| {
        match key {
            "name" => *name = self::name(reader, json, call)?,
            _ if body == "arguments" => arguments(reader, json)?.say(call),
            _ => reader.written(json)?.unwrap_or_default().say(call),
        }
        Ok(())
    })
}

/// Writes a call.
pub(super) fn write(out: &mut String, call: &Message<'_>) {
    let (name, recipient) = name_of(call.recipient.as_deref().unwrap_or_default());
    out.push('{');
    if let Some(id) = &call.call_id {
        out.push_str("\"id\":");
        write_string(out, id);
        out.push(',');
    }
    let (kind, body) =
        if is_function(call) { ("function", "arguments") } else { ("custom", "input") };
    for piece in ["\"type\":\"", kind, "\",\"", kind, "\":{\"name\":"] {
        out.push_str(piece);
    }
    write_string(out, name);
    write_string_field(out, body, Some(&call.body.text()));
    out.push('}');
    write_string_field(out, "recipient", recipient);
    out.push('}');
}
