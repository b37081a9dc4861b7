//! Content that is a list of parts: text, images, sound, and more in data sets.

use std::borrow::Cow;

use super::calls;
use super::tools::Declared;
use crate::convert::Lost;
use crate::diagnostic::quote;
use crate::json::{Sheet, Written};
use crate::model::{Data, Message, Value};
use crate::{Code, Span};

/// What a part of content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text under the key `text`, or `value` in data sets.
    Text,
    Refusal,
    Reasoning,
    /// A call, as JSON in a string.
    Call,
    /// Declarations of tools, as JSON in a string.
    Tools,
    /// What no other format carries.
    Other(Lost),
}

impl Kind {
    /// What the part says of itself.
    pub(crate) fn of(part: &Value<'_>) -> Self {
        if part.as_str().is_some() {
            return Self::Text;
        }
        match part.get("type").and_then(Value::as_str) {
            Some("text" | "input_text" | "output_text" | "reasoning_text" | "summary_text") => {
                Self::Text
            }
            None => Self::Text,
            Some("refusal") => Self::Refusal,
            Some("reasoning" | "thinking") => Self::Reasoning,
            Some("tool_call") => Self::Call,
            Some("tools") => Self::Tools,
            Some(word) => Self::Other(medium(word)),
        }
    }
}

/// Whether a key of a part is what the part consists of: its type, or what it says. A part of a
/// medium is lost as a whole.
pub(crate) fn is_own_key(kind: Kind, key: &str) -> bool {
    matches!(kind, Kind::Other(_))
        || matches!(key, "type" | "text" | "value" | "refusal" | "thinking")
}

/// What is lost of a medium.
pub(crate) fn medium(word: &str) -> Lost {
    let media = [
        ("image", Lost::Image),
        ("audio", Lost::Audio),
        ("video", Lost::Video),
        ("file", Lost::File),
        ("document", Lost::File),
    ];
    media.iter().find(|(medium, _)| word.contains(medium)).map_or(Lost::Part, |(_, lost)| *lost)
}

/// The text of a part that says something.
pub(crate) fn text<'v>(part: &'v Value<'_>) -> Option<&'v str> {
    let keys: &[&str] = match Kind::of(part) {
        Kind::Text => &["text", "value"],
        Kind::Refusal => &["refusal"],
        Kind::Reasoning => &["value", "thinking", "text"],
        Kind::Call | Kind::Tools => &["value"],
        Kind::Other(_) => return None,
    };
    part.as_str().or_else(|| keys.iter().find_map(|key| part.get(key)?.as_str()))
}

/// The texts of parts, one after the other with `between` between them.
pub(crate) fn joined(parts: &[Value<'_>], between: &str) -> String {
    let mut joined = String::new();
    for (index, text) in parts.iter().filter_map(text).enumerate() {
        joined.push_str(if index == 0 { "" } else { between });
        joined.push_str(text);
    }
    joined
}

/// Some of what a message says, in the order of its content.
pub(crate) enum Piece<'a> {
    /// What is said, and its parts if there is more to them than one text.
    Said(Written<'a>, Option<Value<'a>>),
    Reasoning(Written<'a>),
    Calls(Vec<Message<'static>>),
}

/// The pieces of a list of parts.
pub(super) fn pieces<'a>(
    sheet: &mut Sheet<'_>,
    parts: Vec<Value<'a>>,
    declared: &mut Declared<'a>,
) -> Vec<Piece<'a>> {
    let (mut pieces, mut said) = (Vec::new(), Vec::new());
    for (index, part) in parts.into_iter().enumerate() {
        sheet.at_index(index, |sheet| {
            let kind = Kind::of(&part);
            report(sheet, &part, kind);
            if !matches!(kind, Kind::Reasoning | Kind::Call | Kind::Tools) {
                return said.push(part);
            }
            let value = text(&part).unwrap_or_default();
            if kind == Kind::Tools {
                return declared.spelled(sheet, value, part.span);
            }
            let before = std::mem::take(&mut said);
            pieces.extend(speech(sheet, before, ""));
            match kind {
                Kind::Call => {
                    pieces.extend(calls::spelled(sheet, value, part.span).map(Piece::Calls));
                }
                _ => pieces.extend(speech(sheet, vec![part], "").map(reasoning)),
            }
        });
    }
    pieces.extend(speech(sheet, said, ""));
    pieces
}

fn reasoning(piece: Piece<'_>) -> Piece<'_> {
    match piece {
        Piece::Said(written, _) => Piece::Reasoning(written),
        other => other,
    }
}

/// Reports a part that says nothing, or nothing that is known.
pub(crate) fn report(sheet: &mut Sheet<'_>, part: &Value<'_>, kind: Kind) {
    let text = match kind {
        Kind::Other(Lost::Part) => {
            let word = part.get("type").and_then(Value::as_str).unwrap_or_default();
            format!("{} is no type of content", quote(word))
        }
        Kind::Other(_) => return,
        _ if text(part).is_some() => return,
        _ => "this part of the content has no text".to_owned(),
    };
    let found = Code::ParseJson.at(part.span, text);
    sheet.tolerate(found.help("only this format keeps the part"));
}

/// What parts say together. `None` if there are none.
pub(crate) fn speech<'a>(
    sheet: &mut Sheet<'_>,
    mut parts: Vec<Value<'a>>,
    between: &str,
) -> Option<Piece<'a>> {
    let (first, last) = (parts.first()?, parts.last()?);
    let span = Span::new(first.span.start, last.span.end);
    if let [one] = parts.as_mut_slice()
        && let Some((text, place)) = only_text(one)
    {
        let (text, is_cut) = sheet.limited(text, place);
        return Some(Piece::Said(Written::new(text, place.start + 1).cut(is_cut), None));
    }
    let (text, is_cut) = sheet.limited(Cow::Owned(joined(&parts, between)), span);
    let written = Written::new(text, 0).cut(is_cut);
    let parts = Value { data: Data::List(parts), span };
    Some(Piece::Said(written, (!is_cut).then_some(parts)))
}

/// The text of a part that is nothing else, and where it stands.
fn only_text<'a>(part: &mut Value<'a>) -> Option<(Cow<'a, str>, Span)> {
    let kind = Kind::of(part);
    let Data::Map(fields) = &mut part.data else { return None };
    let is_text = |key: &str| match kind {
        Kind::Text => matches!(key, "text" | "value"),
        Kind::Reasoning => matches!(key, "value" | "thinking" | "text"),
        _ => false,
    };
    let is_plain = |key: &str| key == "type" || is_text(key);
    if fields.len() > 2 || !fields.iter().all(|field| is_plain(&field.0)) {
        return None;
    }
    let field = fields.iter_mut().find(|field| is_text(&field.0))?;
    match &mut field.1.data {
        Data::String(text) => Some((std::mem::take(text), field.1.span)),
        _ => None,
    }
}
