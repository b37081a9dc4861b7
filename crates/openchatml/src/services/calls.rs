//! Tool calls: what their readers and writers share, and calls in strings with JSON.

use std::borrow::Cow;

use super::tools::nested;
use crate::diagnostic::quote;
use crate::document::{DocumentReader, Written};
use crate::json::{Checked, Data, Json, JsonError, Repair, Value, check};
use crate::limits::Limits;
use crate::model::{Channel, End, Message, Role, whole_name};
use crate::rules::is_json_call;
use crate::{Code, Span, function_name};

type Result<T> = std::result::Result<T, JsonError>;

/// The types of calls.
pub(crate) const KINDS: &[&str] = &["function", "custom"];

/// Creates an empty call.
pub(crate) fn blank<'a>() -> Message<'a> {
    let mut call = Message::new(Role::Assistant, "");
    call.channel = Some(Channel::Commentary);
    call.end = End::Call;
    call.in_json = true;
    call
}

/// Returns the recipient of a call to this function.
pub(crate) fn recipient<'a>(function: &str) -> Cow<'a, str> {
    whole_name(function).into()
}

/// Returns the name of a function, and the whole recipient for a tool that is not a function.
pub(crate) fn name_of(recipient: &str) -> (&str, Option<&str>) {
    match function_name(recipient) {
        Some(function) => (function, None),
        None => (recipient, Some(recipient)),
    }
}

/// Whether a recipient has this name, with or without a namespace.
fn is_name_of(name: &str, recipient: &str) -> bool {
    let namespace = recipient.strip_suffix(name);
    namespace.is_some_and(|namespace| namespace.is_empty() || namespace.ends_with('.'))
}

/// The name of a function or of the speaker, and its place.
pub(crate) type Name<'a> = Option<(Cow<'a, str>, Span)>;

/// Reads a name.
pub(crate) fn name<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    message: &mut Message<'a>,
) -> Result<Name<'a>> {
    let start = json.offset();
    let name = reader.value(json, "name", message)?;
    Ok(name.map(|name| (name, Span::new(start, json.position()))))
}

/// Returns the name of the speaker. If `author` has the whole name, it is used.
pub(crate) fn name_by<'a>(
    reader: &mut DocumentReader<'_>,
    name: Name<'a>,
    author: Option<&str>,
) -> Option<Cow<'a, str>> {
    let (name, place) = name?;
    if author.is_none_or(|author| is_name_of(&name, author)) {
        return Some(name);
    }
    let found = Code::ParseJson
        .at(place, "`name` differs from the name in `author`: `name` will be dropped");
    reader.drop_value(found.help("the name in `author` is used"));
    None
}

/// Returns the call with its recipient, if it has one. The name of the function must match it.
pub(crate) fn named<'a>(
    reader: &mut DocumentReader<'_>,
    mut call: Message<'a>,
    name: Name<'a>,
    span: Span,
) -> Option<Message<'a>> {
    call.span = span;
    match (&call.recipient, name) {
        (None, Some((name, _))) => call.recipient = Some(recipient(&name)),
        (Some(recipient), Some((name, place))) if !is_name_of(&name, recipient) => {
            let text =
                "the name of this function differs from the `recipient`: the name will be dropped";
            reader.drop_value(Code::ParseJson.at(place, text).help("the `recipient` is used"));
        }
        _ => {}
    }
    if call.recipient.is_none() {
        reader.drop_item(Code::ParseJson.at(span, "the tool call has no function name"));
        return None;
    }
    Some(call)
}

/// Reads arguments: a string with JSON, or JSON, which is kept unchanged.
pub(crate) fn arguments<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
) -> Result<Written<'a>> {
    if !matches!(json.peek(), Some(b'{' | b'[')) {
        return Ok(reader.written(json)?.unwrap_or_default());
    }
    let (start, repaired) = (json.offset(), json.repaired());
    json.pass()?;
    let is_repaired = json.repaired() > repaired;
    let (text, halves) = one_line(json.since(start), is_repaired, &reader.options.limits);
    for half in halves {
        let span = Span::new(start + half.start, start + half.end);
        reader.repaired(span, Repair::HalfPair, "");
    }
    let (text, is_cut) = reader.limited(text, Span::new(start, json.position()));
    Ok(Written::new(text, start).cut(is_cut))
}

/// Returns JSON on one line: unchanged if it already is, and if nothing was repaired. Also returns
/// the places of invalid text.
fn one_line<'a>(raw: &'a str, is_repaired: bool, limits: &Limits) -> (Cow<'a, str>, Vec<Span>) {
    if !is_repaired && !raw.contains(['\n', '\r']) {
        return (Cow::Borrowed(raw), Vec::new());
    }
    let mut json = Json::new(raw, limits).repairing();
    let value = json.value().unwrap_or_default();
    let repairs = json.take_repaired().into_iter();
    let halves = repairs.filter(|(_, repair)| *repair == Repair::HalfPair);
    (Cow::Owned(value.to_json()), halves.map(|(span, _)| span).collect())
}

/// Returns the calls in a string with JSON at `span`: an object with a name and arguments, or a
/// list of them. Returns `None` for anything else.
pub(crate) fn spelled(
    reader: &mut DocumentReader<'_>,
    text: &str,
    span: Span,
) -> Option<Vec<Message<'static>>> {
    let value = nested(reader, text, span)?;
    let items = match &value.data {
        Data::List(items) => items.as_slice(),
        _ => std::slice::from_ref(&value),
    };
    let calls: Option<Vec<_>> = match items.iter().all(names_tool) {
        true => items.iter().map(|it| spelled_call(reader, it, text, span)).collect(),
        false => None,
    };
    if calls.as_ref().is_none_or(Vec::is_empty) {
        let found = Code::ParseJson.at(span, "this call has no function name");
        reader.report(found.help(r#"write a call as `{"name": …, "arguments": …}`"#));
        return None;
    }
    calls
}

/// Whether an object names the tool of a call.
fn names_tool(value: &Value<'_>) -> bool {
    let objects = [Some(value), value.get("function")].into_iter().flatten();
    let mut words = objects.flat_map(|it| [it.get("name"), it.get("recipient")]).flatten();
    words.any(|word| word.as_str().is_some())
}

/// The fields of a call in a string.
#[derive(Default)]
struct Spelled<'v, 'a> {
    id: Option<&'v str>,
    recipient: Option<&'v str>,
    name: Option<&'v str>,
    arguments: Option<&'v Value<'a>>,
}

/// The keys of a call in a string.
const SPELLED_KEYS: &[&str] =
    &["name", "arguments", "parameters", "id", "recipient", "type", "function"];

impl<'v, 'a> Spelled<'v, 'a> {
    /// Reads the fields of an object. Everything that is not part of a call is dropped. Its place
    /// is somewhere in `span`.
    fn take(&mut self, reader: &mut DocumentReader<'_>, value: &'v Value<'a>, span: Span) {
        for (key, value) in value.as_map().unwrap_or_default() {
            let place = match key.as_ref() {
                "name" => &mut self.name,
                "id" => &mut self.id,
                "recipient" => &mut self.recipient,
                "arguments" | "parameters" => {
                    if self.arguments.replace(value).is_some_and(|it| it.data != Data::Null) {
                        reader.repeated(key, span);
                    }
                    continue;
                }
                "type" if value.as_str().is_some_and(|word| KINDS.contains(&word)) => continue,
                "function" if value.as_map().is_some() => {
                    self.take(reader, value, span);
                    continue;
                }
                "type" | "function" if value.data == Data::Null => continue,
                "type" | "function" => {
                    let text = format!("{} of a call must not be {}", quote(key), value.kind());
                    reader.drop_value(Code::ParseJson.at(span, text));
                    continue;
                }
                _ => {
                    reader.unknown_key(key, SPELLED_KEYS, span);
                    continue;
                }
            };
            let most = reader.options.limits.value_bytes;
            match &value.data {
                Data::String(word) if word.len() <= most => *place = Some(word),
                Data::Null => {}
                _ => {
                    let text = format!(
                        "{} of a call must be a string within the limit `value_bytes`",
                        quote(key)
                    );
                    let help = format!("the limit is {most} bytes; {} will be dropped", quote(key));
                    reader.drop_value(Code::ParseJson.at(span, text).help(help));
                }
            }
        }
    }
}

fn spelled_call(
    reader: &mut DocumentReader<'_>,
    value: &Value<'_>,
    text: &str,
    span: Span,
) -> Option<Message<'static>> {
    let mut spelled = Spelled::default();
    spelled.take(reader, value, span);
    let limits = &reader.options.limits;
    let mut call = blank();
    let name = spelled.name.map(|name| (name.to_owned().into(), span));
    call.call_id = spelled.id.map(|id| id.to_owned().into());
    call.recipient = spelled.recipient.map(|it| it.to_owned().into());
    if call.recipient.is_none() && name.is_none() {
        return None;
    }
    // Text with unknown structure is not JSON.
    let arguments = spelled.arguments;
    let (body, is_json) = match arguments.map(|arguments| &arguments.data) {
        None | Some(Data::Null) => (Cow::Borrowed(""), true),
        Some(Data::String(body)) => (Cow::Borrowed(body.as_ref()), is_object(body)),
        Some(_) => {
            let raw = arguments.and_then(|it| text.get(it.span.range())).unwrap_or_default();
            match is_object(raw) {
                true => (one_line(raw, false, limits).0, true),
                false => {
                    let (body, _) = one_line(raw, check(raw, limits).error.is_some(), limits);
                    let is_json = is_object(&body);
                    (body, is_json)
                }
            }
        }
    };
    call.content_type = is_json.then_some("json".into());
    let (body, is_cut) = reader.limited(Cow::Owned(body.into_owned()), span);
    Written::new(body, 0).cut(is_cut).say(&mut call);
    named(reader, call, name, span)
}

/// Whether a text is exactly one JSON object.
pub(crate) fn is_object(text: &str) -> bool {
    let mut limits = Limits::default();
    // It is written inside other JSON.
    limits.json_depth -= 8;
    // A duplicate key would also be an error in the other JSON.
    let is_clean = |checked: Checked| checked.error.is_none() && checked.duplicates.is_empty();
    text.starts_with('{') && text.ends_with('}') && is_clean(check(text, &limits))
}

/// Whether a text is one JSON object that stays the same inside of other JSON. Half of a surrogate
/// pair would be replaced there.
pub(crate) fn is_inline_object(text: &str) -> bool {
    is_object(text) && Json::new(text, &Limits::default()).value().is_ok()
}

/// Whether a call is to a function, which requires JSON.
pub(crate) fn is_function(call: &Message<'_>) -> bool {
    match call.content_type.as_deref() {
        Some(content_type) => content_type != TEXT,
        None => call.body.as_plain().is_some_and(is_object),
    }
}

/// The content type of input for a custom tool, if it could be read as input for a function.
const TEXT: &str = "text";

/// Makes a call one to a custom tool.
pub(crate) fn set_custom(call: &mut Message<'_>) {
    call.content_type = call.body.as_plain().is_some_and(is_object).then_some(TEXT.into());
}

/// Whether the content type of a call only says that it is to a custom tool.
pub(crate) fn is_custom(call: &Message<'_>) -> bool {
    call.content_type.as_deref() == Some(TEXT) && call.body.as_plain().is_some_and(is_object)
}

/// Whether the content type of a call only says which kind of tool it is to.
pub(crate) fn is_typed_call(message: &Message<'_>) -> bool {
    is_json_call(message) || message.is_call() && !message.constrained && is_custom(message)
}
