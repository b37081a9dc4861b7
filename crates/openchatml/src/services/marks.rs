//! Fields by which data sets mark text that is not for users.

use std::borrow::Cow;

use crate::document::{DocumentReader, is_harmless, may_hide};
use crate::json::{Data, Value};
use crate::{Code, Span};

/// Hides the message if one of these other fields of an object says that it is reasoning, or hidden.
pub(crate) fn hide_marked(reader: &mut DocumentReader<'_>, fields: &[(Cow<'_, str>, Value<'_>)]) {
    let Some((span, is_reasoning)) = fields.iter().find_map(|(key, value)| mark(key, value)) else {
        return;
    };
    reader.hide_message();
    let text = match is_reasoning {
        true => "this object is marked as reasoning",
        false => "this object is marked as hidden",
    };
    let found = Code::ParseJson.at(span, text);
    reader.report(found.help("it is hidden; write reasoning under its own key"));
}

/// Returns the place of a mark in this field, and whether it says that the object is reasoning.
fn mark(key: &str, value: &Value<'_>) -> Option<(Span, bool)> {
    match key {
        "type" | "kind" => {
            let is_reasoning = matches!(value.as_str()?, "thinking" | "reasoning" | "thought");
            is_reasoning.then_some((value.span, true))
        }
        "metadata" => {
            let hides = |(key, value): &&(Cow<'_, str>, Value<'_>)| {
                may_hide(key) && value.data == Data::Bool(!is_harmless(key, Some(b't')))
            };
            Some((value.as_map()?.iter().find(hides)?.1.span, false))
        }
        _ => None,
    }
}

/// Whether a part of a content has a key that says that it is reasoning.
pub(crate) fn is_marked_part(part: &Value<'_>) -> bool {
    let keys = ["thinking", "reasoning"];
    keys.iter().any(|key| part.get(key).is_some_and(|value| value.data == Data::Bool(true)))
}
