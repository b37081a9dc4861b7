//! The parts of a JSON Schema that a declaration expresses.

use std::borrow::Cow;
use std::collections::HashSet;

use super::Style;
use crate::json::{Data, Value};

/// The types of a schema (JSON Schema 2020-12).
pub(super) const TYPES: &[&str] =
    &["object", "array", "string", "number", "integer", "boolean", "null"];

/// Whether all `required` names are properties in these entries of a schema.
pub(super) fn all_are_properties(
    required: &Value<'_>,
    entries: &[(Cow<'_, str>, Value<'_>)],
) -> bool {
    let properties = entries.iter().find(|entry| entry.0 == "properties");
    let properties = properties.and_then(|entry| entry.1.as_map()).unwrap_or_default();
    let names: HashSet<_> = properties.iter().map(|(name, _)| name.as_ref()).collect();
    let is_one = |name: &Value<'_>| name.as_str().is_some_and(|name| names.contains(name));
    required.as_list().is_some_and(|names| names.iter().all(is_one))
}

/// Whether a schema lists its allowed values.
pub(super) fn is_enum(schema: &Value<'_>) -> bool {
    schema.get("enum").and_then(Value::as_list).is_some_and(|values| !values.is_empty())
}

/// Returns the string under a key.
pub(super) fn text<'s>(schema: &'s Value<'_>, key: &str) -> Option<&'s str> {
    schema.get(key)?.as_str()
}

/// Whether a property is required.
pub(super) fn is_required(object: &Value<'_>, property: &str) -> bool {
    let required = object.get("required").and_then(Value::as_list).unwrap_or_default();
    required.iter().any(|name| name.as_str() == Some(property))
}

/// Whether `null` is allowed in addition to the type.
pub(super) fn is_nullable(schema: &Value<'_>) -> bool {
    schema.get("nullable").and_then(Value::as_bool).unwrap_or(false)
}

/// Resolves a `$ref` in the same document (RFC 6901).
pub(super) fn resolve<'s, 'a>(root: &'s Value<'a>, reference: &str) -> Option<&'s Value<'a>> {
    let pointer = reference.strip_prefix('#')?;
    let mut at = root;
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        at = match &at.data {
            Data::Map(_) => at.get(&part)?,
            Data::List(items) => items.get(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(at)
}

/// Returns `default: …`. A string is quoted unless it is `bare`.
pub(super) fn default_of(schema: &Value<'_>, bare: bool, style: Style) -> Option<String> {
    let default = schema.get("default")?;
    let is_plain = |word: &&str| style == Style::Reference || !word.contains(is_break);
    Some(match default.as_str() {
        Some(word) if bare && is_plain(&word) => format!("default: {word}"),
        Some(word) if style == Style::Reference => format!("default: \"{word}\""),
        _ => format!("default: {}", literal(default)),
    })
}

/// Returns a value as JSON on a single line.
pub(crate) fn literal(value: &Value<'_>) -> String {
    let text = value.to_json();
    if !text.contains(is_break) {
        return text;
    }
    // JSON escapes the others.
    let escaped = |c| format!("\\u{:04x}", u32::from(c));
    text.chars().map(|c| if is_break(c) { escaped(c) } else { c.into() }).collect()
}

/// Whether the character breaks a line in TypeScript, in Unicode, or on a terminal.
pub(crate) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns a text on one line.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    match text.contains(is_break) {
        true => lines(text).collect::<Vec<_>>().join(" ").into(),
        false => text.into(),
    }
}

/// Returns the lines of a text.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split(is_break))
}

/// Returns a type that can be part of another type.
pub(super) fn grouped(text: String) -> String {
    if text.contains(" | ") || text.contains(" & ") { format!("({text})") } else { text }
}

/// Whether a name needs no quotes.
pub(super) fn is_word(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$')
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '-'))
}
