//! The values of parameters: whether they are strings, and how they are written.

use std::borrow::Cow;

use crate::declare::Types;
use crate::json::{self, Json, write_string};
use crate::limits::Limits;
use crate::rules::{Parameters, Words};

/// Whether a value of these types that begins with `first` may turn out not to be a string.
pub(in crate::grammar::sections) fn may_be_json(first: u8, types: Types) -> bool {
    let kind = match first {
        b'{' => Types::OBJECT,
        b'[' => Types::ARRAY,
        b'-' | b'0'..=b'9' => Types::NUMBER,
        b't' | b'f' | b'T' | b'F' => Types::BOOLEAN,
        b'n' | b'N' => Types::NULL,
        b'"' => return types == Types::JSON,
        _ => return false,
    };
    types.has(kind)
}

/// Returns the value as JSON, unless it is a string.
pub(in crate::grammar::sections) fn as_json<'r>(
    raw: &'r str,
    types: Types,
    words: Words,
    limits: &Limits,
) -> Option<&'r str> {
    let text = raw.trim_ascii();
    if !may_be_json(*text.as_bytes().first()?, types) {
        return None;
    }
    // Models write the words of Python in all formats, but there they can also be strings.
    let has_words = words == Words::Python || !types.has(Types::STRING);
    if let Some(json) = Words::json_of(text).filter(|_| has_words) {
        return Some(json);
    }
    json::check(text, limits).error.is_none().then_some(text)
}

/// A parameter of a call.
pub(in crate::grammar::sections) struct Parameter<'b> {
    pub(in crate::grammar::sections) key: Cow<'b, str>,
    pub(in crate::grammar::sections) value: ParameterValue<'b>,
    /// The position of the value in the arguments.
    pub(in crate::grammar::sections) at: usize,
}

pub(in crate::grammar::sections) enum ParameterValue<'b> {
    Text(Cow<'b, str>),
    Json(&'b str),
}

/// Returns the parameters of a call with these arguments. `None` if they are no JSON object.
pub(in crate::grammar::sections) fn parameters<'b>(
    arguments: &'b str,
    limits: &Limits,
) -> Option<Vec<Parameter<'b>>> {
    let mut found = Vec::new();
    let mut json = Json::new(arguments, limits).without_notes();
    let read = json.object(|json, key, _| {
        let is_text = json.peek() == Some(b'"');
        let at = json.position();
        let value = if is_text {
            ParameterValue::Text(json.string()?.0)
        } else {
            json.skip()?;
            ParameterValue::Json(json.since(at))
        };
        found.push(Parameter { key, value, at });
        Ok(())
    });
    read.and_then(|_| json.end()).ok().map(|()| found)
}

impl ParameterValue<'_> {
    /// Returns the value as it is written.
    pub(in crate::grammar::sections) fn written(&self, words: Words) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Json(text) => words.of(text),
        }
    }
}

/// Returns arguments as they are read back if no tools are declared. `None` if they are no JSON
/// object, or have an empty key.
pub(in crate::grammar::sections) fn respelled(
    arguments: &str,
    form: &Parameters,
    limits: &Limits,
) -> Option<String> {
    let mut text = String::with_capacity(arguments.len());
    for parameter in parameters(arguments, limits)? {
        let is_first = text.is_empty();
        if parameter.key.is_empty() {
            return None;
        }
        begin(&mut text, &parameter.key, is_first);
        match &parameter.value {
            ParameterValue::Json(json) => text.push_str(json),
            ParameterValue::Text(value) => {
                let types = if form.says_types() { Types::STRING } else { Types::ANY };
                match as_json(value, types, form.words, limits) {
                    Some(json) => text.push_str(json),
                    None => write_string(&mut text, value),
                }
            }
        }
    }
    text.push_str(if text.is_empty() { "{}" } else { "}" });
    Some(text)
}

/// Writes the beginning of the member with this key.
pub(super) fn begin(text: &mut String, key: &str, is_first: bool) {
    text.push_str(if is_first { "{" } else { ", " });
    write_string(text, key);
    text.push_str(": ");
}
