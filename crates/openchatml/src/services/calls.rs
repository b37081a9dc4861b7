//! Calls of tools: what their readers and writers have in common, and calls in strings that hold JSON.

use std::borrow::Cow;

use super::tools::nested;
use crate::diagnostic::quote;
use crate::document::{Sheet, Written};
use crate::json::{Checked, Data, Json, JsonError, Repair, Value, check};
use crate::limits::Limits;
use crate::model::{Channel, End, Message, Role, whole_name};
use crate::rules::is_json_call;
use crate::{Code, Span, function_name};

type Result<T> = std::result::Result<T, JsonError>;

/// The types of calls.
pub(crate) const KINDS: &[&str] = &["function", "custom"];

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

/// Whether a recipient has this name, with a namespace or without.
fn is_name_of(name: &str, recipient: &str) -> bool {
    let namespace = recipient.strip_suffix(name);
    namespace.is_some_and(|namespace| namespace.is_empty() || namespace.ends_with('.'))
}

/// The name of a function or of who speaks, and where it stands.
pub(crate) type Name<'a> = Option<(Cow<'a, str>, Span)>;

/// Reads a name.
pub(crate) fn name<'a>(
    sheet: &mut Sheet<'_>,
    json: &mut Json<'a>,
    message: &mut Message<'a>,
) -> Result<Name<'a>> {
    let start = json.offset();
    let name = sheet.value(json, "name", message)?;
    Ok(name.map(|name| (name, Span::new(start, json.position()))))
}

/// The name of who speaks, where `author` is the whole name: it counts.
pub(crate) fn name_by<'a>(
    sheet: &mut Sheet<'_>,
    name: Name<'a>,
    author: Option<&str>,
) -> Option<Cow<'a, str>> {
    let (name, place) = name?;
    if author.is_none_or(|author| is_name_of(&name, author)) {
        return Some(name);
    }
    let found = Code::ParseJson.at(place, "this name is not that of the `author`: it is dropped");
    sheet.drop_value(found.help("the author counts"));
    None
}

/// The call with its recipient, if it names one. The name of the function says the same.
pub(crate) fn named<'a>(
    sheet: &mut Sheet<'_>,
    mut call: Message<'a>,
    name: Name<'a>,
    span: Span,
) -> Option<Message<'a>> {
    call.span = span;
    match (&call.recipient, name) {
        (None, Some((name, _))) => call.recipient = Some(recipient(&name)),
        (Some(recipient), Some((name, place))) if !is_name_of(&name, recipient) => {
            let text = "the name of this function is not that of the `recipient`: it is dropped";
            sheet.drop_value(Code::ParseJson.at(place, text).help("the recipient counts"));
        }
        _ => {}
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
    let (start, repaired) = (json.offset(), json.repaired());
    json.pass()?;
    let is_repaired = json.repaired() > repaired;
    let (text, halves) = one_line(json.since(start), is_repaired, &sheet.options.limits);
    for half in halves {
        let span = Span::new(start + half.start, start + half.end);
        sheet.repaired(span, Repair::HalfPair, "");
    }
    let (text, is_cut) = sheet.limited(text, Span::new(start, json.position()));
    Ok(Written::new(text, start).cut(is_cut))
}

/// JSON on one line: as it stands if that is so, and nothing in it had to be repaired. With the places
/// in it of what no text can hold.
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
    let calls: Option<Vec<_>> = match items.iter().all(names_tool) {
        true => items.iter().map(|it| spelled_call(sheet, it, text, span)).collect(),
        false => None,
    };
    if calls.as_ref().is_none_or(Vec::is_empty) {
        let found = Code::ParseJson.at(span, "this is no call: it does not name a function");
        sheet.report(found.help(r#"a call is `{"name": …, "arguments": …}`"#));
        return None;
    }
    calls
}

/// Whether an object says of which tool it is a call.
fn names_tool(value: &Value<'_>) -> bool {
    let objects = [Some(value), value.get("function")].into_iter().flatten();
    let mut words = objects.flat_map(|it| [it.get("name"), it.get("recipient")]).flatten();
    words.any(|word| word.as_str().is_some())
}

/// What an object in a string says of a call.
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
    /// Takes what an object says. What is no part of a call is dropped: it is somewhere at `span`.
    fn take(&mut self, sheet: &mut Sheet<'_>, value: &'v Value<'a>, span: Span) {
        for (key, value) in value.as_map().unwrap_or_default() {
            let place = match key.as_ref() {
                "name" => &mut self.name,
                "id" => &mut self.id,
                "recipient" => &mut self.recipient,
                "arguments" | "parameters" => {
                    if self.arguments.replace(value).is_some_and(|it| it.data != Data::Null) {
                        sheet.repeated(key, span);
                    }
                    continue;
                }
                "type" if value.as_str().is_some_and(|word| KINDS.contains(&word)) => continue,
                "function" if value.as_map().is_some() => {
                    self.take(sheet, value, span);
                    continue;
                }
                "type" | "function" if value.data == Data::Null => continue,
                "type" | "function" => {
                    let text = format!("{} of a call is no {}", quote(key), value.kind());
                    sheet.drop_value(Code::ParseJson.at(span, text));
                    continue;
                }
                _ => {
                    sheet.unknown_key(key, SPELLED_KEYS, span);
                    continue;
                }
            };
            let most = sheet.options.limits.value_bytes;
            match &value.data {
                Data::String(word) if word.len() <= most => *place = Some(word),
                Data::Null => {}
                _ => {
                    let text = format!("{} of a call is a string, and no longer", quote(key));
                    let help = format!("the limit `value_bytes` is {most}; it is dropped");
                    sheet.drop_value(Code::ParseJson.at(span, text).help(help));
                }
            }
        }
    }
}

fn spelled_call(
    sheet: &mut Sheet<'_>,
    value: &Value<'_>,
    text: &str,
    span: Span,
) -> Option<Message<'static>> {
    let mut spelled = Spelled::default();
    spelled.take(sheet, value, span);
    let limits = &sheet.options.limits;
    let mut call = blank();
    let name = spelled.name.map(|name| (name.to_owned().into(), span));
    call.call_id = spelled.id.map(|id| id.to_owned().into());
    call.recipient = spelled.recipient.map(|it| it.to_owned().into());
    if call.recipient.is_none() && name.is_none() {
        return None;
    }
    // Text of which nothing is known is no JSON.
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
    let (body, is_cut) = sheet.limited(Cow::Owned(body.into_owned()), span);
    Written::new(body, 0).cut(is_cut).say(&mut call);
    named(sheet, call, name, span)
}

/// Whether a text is one JSON object, and nothing else.
pub(crate) fn is_object(text: &str) -> bool {
    let mut limits = Limits::default();
    // It is written inside of other JSON.
    limits.json_depth -= 8;
    // A key that is there twice would be an error of the other JSON, too.
    let is_clean = |checked: Checked| checked.error.is_none() && checked.duplicates.is_empty();
    text.starts_with('{') && text.ends_with('}') && is_clean(check(text, &limits))
}

/// Whether a call is one of a function: it takes JSON.
pub(crate) fn is_function(call: &Message<'_>) -> bool {
    match call.content_type.as_deref() {
        Some(content_type) => content_type != TEXT,
        None => call.body.as_plain().is_some_and(is_object),
    }
}

/// The type of what a custom tool takes, where that could be taken for what a function takes.
const TEXT: &str = "text";

/// Makes a call one of a custom tool.
pub(crate) fn set_custom(call: &mut Message<'_>) {
    call.content_type = call.body.as_plain().is_some_and(is_object).then_some(TEXT.into());
}

/// Whether the type of a call says no more than that it is one of a custom tool.
pub(crate) fn is_custom(call: &Message<'_>) -> bool {
    call.content_type.as_deref() == Some(TEXT) && call.body.as_plain().is_some_and(is_object)
}

/// Whether the type of a call says no more than which kind of tool takes its arguments.
pub(crate) fn is_typed_call(message: &Message<'_>) -> bool {
    is_json_call(message) || message.is_call() && !message.constrained && is_custom(message)
}
