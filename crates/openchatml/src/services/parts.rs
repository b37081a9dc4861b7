//! Content that is a list of parts: text, images, audio, and other parts in data sets.

use std::borrow::Cow;

use super::calls;
use super::marks::is_marked_part;
use super::tools::Declared;
use crate::diagnostic::quote;
use crate::document::{DocumentReader, Written, is_harmless, may_hide};
use crate::json::{Data, Value};
use crate::model::Message;
use crate::rules::{Loss, Lost, lost_field, medium};
use crate::{Code, Span};

/// The kind of a content part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text under the key `text`, or `value` in data sets.
    Text,
    Refusal,
    Reasoning,
    /// A call, as a string with JSON.
    Call,
    /// Declarations of tools, as a string with JSON.
    Tools,
    /// A part that no other format can express.
    Other(Lost),
}

impl Kind {
    /// Returns the kind of a part.
    pub(crate) fn of(part: &Value<'_>) -> Self {
        if part.as_str().is_some() {
            return Self::Text;
        }
        let kind = part.get("type").filter(|kind| kind.data != Data::Null);
        if part.as_map().is_none() || kind.is_some_and(|kind| kind.as_str().is_none()) {
            return Self::Other(Lost::Part);
        }
        match kind.and_then(Value::as_str) {
            Some("text" | "input_text" | "output_text") | None => Self::Text,
            Some("refusal") => Self::Refusal,
            Some("reasoning" | "thinking" | "reasoning_text" | "summary_text") => Self::Reasoning,
            Some("tool_call") => Self::Call,
            Some("tools") => Self::Tools,
            Some(word) => Self::Other(medium(word)),
        }
    }
}

/// Returns the text of a part, if it has one.
pub(crate) fn text<'v>(part: &'v Value<'_>) -> Option<&'v str> {
    part.as_str().or_else(|| part_text(part).map(|it| it.1))
}

/// Returns the text of a part, if it has one, as [`text`] does.
pub(crate) fn into_text(part: Value<'_>) -> Option<Cow<'_, str>> {
    let key = part_text(&part).map(|it| it.0);
    let data = match part.data {
        Data::Map(fields) => fields.into_iter().find(|field| Some(field.0.as_ref()) == key)?.1.data,
        data => data,
    };
    match data {
        Data::String(text) => Some(text),
        _ => None,
    }
}

/// Returns the key of a part's text, and the text.
fn part_text<'v>(part: &'v Value<'_>) -> Option<(&'static str, &'v str)> {
    let keys: &[&'static str] = match Kind::of(part) {
        Kind::Text => &["text", "value"],
        Kind::Refusal => &["refusal"],
        Kind::Reasoning => &["value", "thinking", "text"],
        Kind::Call | Kind::Tools => &["value"],
        Kind::Other(_) => return None,
    };
    keys.iter().find_map(|key| Some((*key, part.get(key)?.as_str()?)))
}

/// Creates a part of this type with a text.
pub(crate) fn typed<'a>(kind: &'static str, text: Cow<'a, str>) -> Value<'a> {
    let string = |text| Value::from(Data::String(text));
    Data::Map(vec![("type".into(), string(kind.into())), ("text".into(), string(text))]).into()
}

/// Joins the texts of parts, with `between` between them.
pub(crate) fn joined(parts: &[Value<'_>], between: &str) -> String {
    let mut joined = String::new();
    for (index, text) in parts.iter().filter_map(text).enumerate() {
        joined.push_str(if index == 0 { "" } else { between });
        joined.push_str(text);
    }
    joined
}

/// Adds the losses if parts become a text.
pub(crate) fn lost(content: &Value<'_>, losses: &mut Vec<Loss>) {
    for part in content.as_list().unwrap_or_default() {
        let mut lose = |lost| losses.push(Loss::new(None, part.span, lost));
        let known = match Kind::of(part) {
            Kind::Other(medium) => {
                lose(medium);
                continue;
            }
            Kind::Refusal => {
                lose(Lost::Refusal);
                part_text(part)
            }
            _ => part_text(part),
        };
        let Some(fields) = part.as_map() else { continue };
        if known.is_none() {
            let is_nothing = |(key, value): &(Cow<'_, str>, Value<'_>)| {
                let is_own = matches!(key.as_ref(), "text" | "value" | "refusal" | "thinking");
                key == "type" || is_own && value.data == Data::Null
            };
            let is_lost = !fields.iter().all(is_nothing);
            losses.extend(is_lost.then(|| Loss::new(None, part.span, Lost::Part)));
            continue;
        }
        let own = known.map(|it| it.0);
        let rest = fields.iter().filter(|(key, _)| key != "type" && Some(key.as_ref()) != own);
        losses.extend(rest.filter_map(|(key, value)| {
            let is_usual = USUAL.contains(&key.as_ref());
            let unknown = || Loss::new(None, value.span, Lost::Field).of(key);
            lost_field(key, value).or_else(|| (!is_usual).then(unknown))
        }));
    }
}

/// Keys of parts that services write with an empty value.
const USUAL: &[&str] = &["annotations", "logprobs", "detail", "cache_control"];

/// A piece of a message, in the order of its content.
pub(crate) enum Piece<'a> {
    /// Text, and its parts if they contain more than the text.
    Said(Written<'a>, Option<Value<'a>>),
    Reasoning(Written<'a>),
    Calls(Vec<Message<'static>>),
}

/// Returns the pieces of a list of parts.
pub(crate) fn pieces<'a>(
    reader: &mut DocumentReader<'_>,
    parts: Vec<Value<'a>>,
    declared: &mut Declared<'a>,
) -> Vec<Piece<'a>> {
    let (mut pieces, mut pending) = (Vec::new(), Vec::new());
    for (index, mut part) in parts.into_iter().enumerate() {
        reader.at_index(index, |reader| {
            let kind = Kind::of(&part);
            if kind == Kind::Reasoning {
                flatten(&mut part);
            }
            if !matches!(kind, Kind::Reasoning | Kind::Call | Kind::Tools) {
                report(reader, &part, kind);
                return pending.push(part);
            }
            let Some(value) = only_said(reader, &part) else { return };
            if kind == Kind::Tools {
                return declared.spelled(reader, value, part.span);
            }
            let before = std::mem::take(&mut pending);
            pieces.extend(speech(reader, before, ""));
            match kind {
                Kind::Call => match calls::spelled(reader, value, part.span) {
                    Some(calls) => pieces.push(Piece::Calls(calls)),
                    None => drop_part(reader, &part, "malformed tool call"),
                },
                _ => pieces.extend(speech(reader, vec![part], "").map(reasoning)),
            }
        });
    }
    pieces.extend(speech(reader, pending, ""));
    pieces
}

/// Makes `thinking` a text if it is a list of text parts, as Mistral writes it.
fn flatten(part: &mut Value<'_>) {
    let Data::Map(fields) = &mut part.data else { return };
    // It says whether the reasoning is complete, which it is.
    fields.retain(|(key, value)| !(key == "closed" && value.data == Data::Bool(true)));
    for (_, value) in fields.iter_mut().filter(|field| field.0 == "thinking") {
        if let Some(parts) = value.as_list()
            && parts.iter().all(|part| Kind::of(part) == Kind::Text && text(part).is_some())
        {
            value.data = Data::String(joined(parts, "").into());
        }
    }
}

/// Returns the text of a part that must contain only text.
fn only_said<'v>(reader: &mut DocumentReader<'_>, part: &'v Value<'_>) -> Option<&'v str> {
    let Some((known, text)) = self::part_text(part) else {
        drop_part(reader, part, "this content part has no text");
        return None;
    };
    for (key, _) in part.as_map().unwrap_or_default() {
        if key != "type" && key != known {
            reader.unknown_key(key, &["type", known], part.span);
        }
    }
    Some(text)
}

fn drop_part(reader: &mut DocumentReader<'_>, part: &Value<'_>, text: &str) {
    reader.drop_item(Code::ParseJson.at(part.span, text).help("the part will be dropped"));
}

fn reasoning(piece: Piece<'_>) -> Piece<'_> {
    match piece {
        Piece::Said(written, _) => Piece::Reasoning(written),
        other => other,
    }
}

/// Reports a part that is empty or unknown. If a key of the part can mean that it is not for users,
/// the message is hidden.
pub(crate) fn report(reader: &mut DocumentReader<'_>, part: &Value<'_>, kind: Kind) {
    report_hidden(reader, part, may_hide);
    if kind == Kind::Text && is_marked_part(part) {
        let found = Code::PermVisibility.at(part.span, "this content part is marked as reasoning");
        reader.report(found.help("the message is hidden; write reasoning under its own key"));
        reader.hide_message();
    }
    let text = match kind {
        Kind::Other(Lost::Part) => match part.get("type").and_then(Value::as_str) {
            Some(word) => format!("unknown content type {}", quote(word)),
            None => "a content part must be an object with a `type`".to_owned(),
        },
        Kind::Other(_) => return,
        _ if text(part).is_some() => return,
        _ => "this content part has no text".to_owned(),
    };
    let found = Code::ParseJson.at(part.span, text);
    reader
        .tolerate(found.help("the part is kept, but a conversion to another format will drop it"));
}

/// Hides the message if one of these keys of a part has a value that hides it.
pub(crate) fn report_hidden(
    reader: &mut DocumentReader<'_>,
    part: &Value<'_>,
    may_hide: impl Fn(&str) -> bool,
) {
    let hides = |(key, value): &&(Cow<'_, str>, Value<'_>)| {
        let first = match value.data {
            Data::Null => Some(b'n'),
            Data::Bool(is_on) => Some(if is_on { b't' } else { b'f' }),
            _ => None,
        };
        may_hide(key) && !is_harmless(key, first)
    };
    if let Some((key, value)) = part.as_map().unwrap_or_default().iter().find(hides) {
        let text = format!("the key {} of a content part can mean that it is hidden", quote(key));
        let found = Code::PermVisibility.at(value.span, text);
        reader.report(found.help("the message is hidden; write reasoning under its own key"));
        reader.hide_message();
    }
}

/// Returns the joined text of parts, or `None` if there are none.
pub(crate) fn speech<'a>(
    reader: &mut DocumentReader<'_>,
    mut parts: Vec<Value<'a>>,
    between: &str,
) -> Option<Piece<'a>> {
    let (first, last) = (parts.first()?, parts.last()?);
    let span = Span::new(first.span.start, last.span.end);
    if let [one] = parts.as_mut_slice()
        && let Some((text, place)) = only_text(one)
    {
        let (text, is_cut) = reader.limited(text, place);
        return Some(Piece::Said(Written::new(text, place.start + 1).cut(is_cut), None));
    }
    let (text, is_cut) = reader.limited(Cow::Owned(joined(&parts, between)), span);
    let written = Written::new(text, 0).cut(is_cut);
    let parts = Value { data: Data::List(parts), span };
    Some(Piece::Said(written, (!is_cut).then_some(parts)))
}

/// Returns the text of a part that contains only text, and its place.
fn only_text<'a>(part: &mut Value<'a>) -> Option<(Cow<'a, str>, Span)> {
    let kind = Kind::of(part);
    let Data::Map(fields) = &mut part.data else { return None };
    let is_text = |key: &str| match kind {
        Kind::Text => matches!(key, "text" | "value"),
        Kind::Reasoning => matches!(key, "value" | "thinking" | "text"),
        _ => false,
    };
    let is_plain = |key: &str| key == "type" || is_text(key);
    let texts = fields.iter().filter(|field| is_text(&field.0)).count();
    if texts != 1 || !fields.iter().all(|field| is_plain(&field.0)) {
        return None;
    }
    let field = fields.iter_mut().find(|field| is_text(&field.0))?;
    match &mut field.1.data {
        Data::String(text) => Some((std::mem::take(text), field.1.span)),
        _ => None,
    }
}
