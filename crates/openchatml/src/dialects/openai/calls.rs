//! Calls of tools: as objects, and as strings that hold JSON.

use std::borrow::Cow;

use super::tools::nested;
use crate::dialects::write_string_field;
use crate::json::{Json, JsonError, Sheet, Written, check, write_string};
use crate::model::{Channel, Data, End, Message, Role, Value, whole_name};
use crate::read::Limits;
use crate::{Code, Span, function_name};

type Result<T> = std::result::Result<T, JsonError>;

/// A call of which nothing is known yet.
pub(crate) fn blank<'a>() -> Message<'a> {
    let mut call = Message::new(Role::Assistant, "");
    call.channel = Some(Channel::Commentary);
    call.end = End::Call;
    call.in_json = true;
    call
}

/// The recipient of a call of this function.
pub(crate) fn recipient<'a>(function: &str) -> Cow<'a, str> {
    whole_name(function).into()
}

/// The name of a function, and the whole recipient of a tool that is none.
pub(crate) fn name_of(recipient: &str) -> (&str, Option<&str>) {
    match function_name(recipient) {
        Some(function) => (function, None),
        None => (recipient, Some(recipient)),
    }
}

/// Reads `tool_calls`.
pub(super) fn read<'a>(
    sheet: &mut Sheet<'_>,
    json: &mut Json<'a>,
    calls: &mut Vec<Message<'a>>,
) -> Result<()> {
    sheet.array(json, |sheet, json| {
        let mut call = blank();
        let mut name = None;
        let keys = ["id", "type", "function", "custom", "recipient", "index"];
        let place = calls.len();
        let span = sheet.object(json, &keys, |sheet, json, key| {
            match key {
                "id" => call.call_id = sheet.value(json, key, &mut call)?,
                "recipient" => call.recipient = sheet.value(json, key, &mut call)?,
                "type" => {
                    let is_known = |word: &str| KINDS.contains(&word).then_some(());
                    sheet.word(json, "type of tool call", KINDS, is_known)?;
                }
                "function" | "custom" => {
                    let body = if key == "custom" { "input" } else { "arguments" };
                    function(sheet, json, body, &mut name, &mut call)?;
                }
                // Where it stands in the stream that it was collected from.
                _ => index(sheet, json, place)?,
            }
            Ok(())
        })?;
        calls.extend(span.and_then(|span| named(sheet, call, name, span)));
        Ok(())
    })
}

/// Reads the index of a call, which says nothing but its place in the list.
fn index(sheet: &mut Sheet<'_>, json: &mut Json<'_>, place: usize) -> Result<()> {
    let start = json.offset();
    if !matches!(json.peek(), Some(b'0'..=b'9' | b'-')) {
        return sheet.wrong(json, "a number");
    }
    if json.number()?.parse() != Ok(place) {
        let span = Span::new(start, json.position());
        let text = "the index of this call is not its place in the list: it is dropped";
        sheet.drop_value(Code::ParseJson.at(span, text));
    }
    Ok(())
}

const KINDS: &[&str] = &["function", "custom"];

/// Reads the old `function_call`, which has no id.
pub(super) fn read_legacy<'a>(
    sheet: &mut Sheet<'_>,
    json: &mut Json<'a>,
) -> Result<Option<Message<'a>>> {
    if json.peek() == Some(b'n') {
        return json.word().map(|_| None);
    }
    let (mut call, mut name) = (blank(), None);
    let span = function(sheet, json, "arguments", &mut name, &mut call)?;
    Ok(span.and_then(|span| named(sheet, call, name, span)))
}

/// Reads the name of a function and what it is given, under the key `body`.
fn function<'a>(
    sheet: &mut Sheet<'_>,
    json: &mut Json<'a>,
    body: &'static str,
    name: &mut Option<Cow<'a, str>>,
    call: &mut Message<'a>,
) -> Result<Option<Span>> {
    call.content_type = (body == "arguments").then_some("json".into());
    sheet.object(json, &["name", body], |sheet, json, key| {
        match key {
            "name" => *name = sheet.value(json, key, call)?,
            _ if body == "arguments" => arguments(sheet, json)?.say(call),
            _ => sheet.written(json)?.unwrap_or_default().say(call),
        }
        Ok(())
    })
}

/// The call with its recipient, if it names one.
pub(crate) fn named<'a>(
    sheet: &mut Sheet<'_>,
    mut call: Message<'a>,
    name: Option<Cow<'a, str>>,
    span: Span,
) -> Option<Message<'a>> {
    call.span = span;
    if let (None, Some(name)) = (&call.recipient, name) {
        call.recipient = Some(recipient(&name));
    }
    if call.recipient.is_none() {
        sheet.drop_item(Code::ParseJson.at(span, "the tool call does not name a function"));
        return None;
    }
    Some(call)
}

/// Reads arguments: a string that holds JSON, or that JSON itself, which is taken as it stands.
pub(crate) fn arguments<'a>(sheet: &mut Sheet<'_>, json: &mut Json<'a>) -> Result<Written<'a>> {
    if !matches!(json.peek(), Some(b'{' | b'[')) {
        return Ok(sheet.written(json)?.unwrap_or_default());
    }
    let (start, mended) = (json.offset(), json.mended());
    json.pass()?;
    let text = one_line(json.since(start), json.mended() > mended, &sheet.options.limits);
    let (text, is_cut) = sheet.limited(text, Span::new(start, json.position()));
    Ok(Written::new(text, start).cut(is_cut))
}

/// JSON on one line: as it stands if that is so, and nothing in it had to be mended.
fn one_line<'a>(raw: &'a str, is_mended: bool, limits: &Limits) -> Cow<'a, str> {
    if !is_mended && !raw.contains(['\n', '\r']) {
        return Cow::Borrowed(raw);
    }
    let value = Json::new(raw, limits).mending().value().unwrap_or_default();
    Cow::Owned(value.to_json())
}

/// The calls that a string at `span` holds as JSON: an object with a name and arguments, or a list
/// of these. `None` if it holds something else.
pub(crate) fn spelled(
    sheet: &mut Sheet<'_>,
    text: &str,
    span: Span,
) -> Option<Vec<Message<'static>>> {
    let value = nested(sheet, text, span)?;
    let items = match &value.data {
        Data::List(items) => items.as_slice(),
        _ => std::slice::from_ref(&value),
    };
    let calls: Option<Vec<_>> =
        items.iter().map(|it| spelled_call(sheet, it, text, span)).collect();
    if calls.as_ref().is_none_or(Vec::is_empty) {
        let found = Code::ParseJson.at(span, "this is no call: it does not name a function");
        sheet.report(found.help(r#"a call is `{"name": …, "arguments": …}`"#));
        return None;
    }
    calls
}

fn spelled_call(
    sheet: &mut Sheet<'_>,
    value: &Value<'_>,
    text: &str,
    span: Span,
) -> Option<Message<'static>> {
    let limits = &sheet.options.limits;
    let word = |value: &Value<'_>, key| {
        let word = value.get(key).and_then(Value::as_str);
        word.filter(|word| word.len() <= limits.value_bytes).map(str::to_owned)
    };
    let function = value.get("function").unwrap_or(value);
    let mut call = blank();
    call.span = span;
    call.call_id = word(value, "id").map(Cow::Owned);
    call.recipient = match word(value, "recipient") {
        Some(recipient) => Some(recipient.into()),
        None => Some(recipient(&word(function, "name")?)),
    };
    let arguments = function.get("arguments").or_else(|| function.get("parameters"));
    // Text of which nothing is known is no JSON.
    let (body, is_json) = match arguments.map(|arguments| &arguments.data) {
        None | Some(Data::Null) => (Cow::Borrowed(""), true),
        Some(Data::String(body)) => (Cow::Borrowed(body.as_ref()), is_object(body)),
        Some(_) => {
            let raw = arguments.and_then(|it| text.get(it.span.range())).unwrap_or_default();
            match is_object(raw) {
                true => (one_line(raw, false, limits), true),
                false => {
                    let body = one_line(raw, check(raw, limits).error.is_some(), limits);
                    let is_json = is_object(&body);
                    (body, is_json)
                }
            }
        }
    };
    call.content_type = is_json.then_some("json".into());
    let (body, is_cut) = sheet.limited(Cow::Owned(body.into_owned()), span);
    Written::new(body, 0).cut(is_cut).say(&mut call);
    Some(call)
}

/// Whether a text is one JSON object, and nothing else.
pub(crate) fn is_object(text: &str) -> bool {
    let mut limits = Limits::default();
    // It is written inside of other JSON.
    limits.json_depth -= 8;
    text.starts_with('{') && text.ends_with('}') && check(text, &limits).error.is_none()
}

/// Whether a call is one of a function: it takes JSON.
pub(crate) fn is_function(call: &Message<'_>) -> bool {
    call.content_type.is_some() || call.body.as_plain().is_some_and(is_object)
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
