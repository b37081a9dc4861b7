//! Merges two schemas into one with the requirements of both.

use std::borrow::Cow;

use openchatml::{Data, Value};

/// The entries of a schema.
pub(super) type Map<'a> = Vec<(Cow<'a, str>, Value<'a>)>;

/// Annotations, which do not restrict values.
const NOTES: &[&str] = &[
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "$vocabulary",
    "contentEncoding",
    "contentMediaType",
    "default",
    "definitions",
    "deprecated",
    "description",
    "example",
    "examples",
    "externalDocs",
    "id",
    "readOnly",
    "strict",
    "title",
    "writeOnly",
    "xml",
];

/// Whether a keyword is an annotation.
pub(super) fn is_note(keyword: &str) -> bool {
    NOTES.contains(&keyword) || keyword.starts_with("x-")
}

/// A schema that allows nothing.
pub(super) fn nothing<'a>() -> Map<'a> {
    vec![("enum".into(), Data::List(Vec::new()).into())]
}

pub(super) fn get<'m, 'a>(map: &'m Map<'a>, key: &str) -> Option<&'m Value<'a>> {
    map.iter().find(|entry| entry.0 == key).map(|entry| &entry.1)
}

/// Adds the requirements of `other` to `map`. Returns the keywords that cannot be merged.
pub(super) fn merge<'a>(map: &mut Map<'a>, mut other: Map<'a>) -> Vec<String> {
    close(map, &mut other);
    let mut unenforced = Vec::new();
    for (key, value) in other {
        match map.iter_mut().find(|entry| entry.0 == key) {
            None => map.push((key, value)),
            Some((_, own)) if *own == value || is_note(&key) => {}
            Some((key, own)) => {
                if let Some(value) = both(key, own, value) {
                    *own = value;
                } else {
                    unenforced.push(key.to_string());
                }
            }
        }
    }
    unenforced
}

/// Returns the value of a keyword with the requirements of both values, if it exists.
fn both<'a>(key: &str, one: &Value<'a>, two: Value<'a>) -> Option<Value<'a>> {
    Some(match key {
        "properties" => properties(one, two)?,
        "required" => {
            let mut names = one.as_list()?.to_vec();
            for name in two.as_list()? {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
            Data::List(names).into()
        }
        "type" => types(one, &two),
        "enum" => {
            let mut values = one.as_list()?.to_vec();
            let two = two.as_list()?;
            values.retain(|value| two.contains(value));
            Data::List(values).into()
        }
        "nullable" => (one.as_bool()? && two.as_bool()?).into(),
        "items" | "additionalProperties" => all(one.clone(), two),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            if number(one)? < number(&two)? { two } else { one.clone() }
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            if number(one)? > number(&two)? { two } else { one.clone() }
        }
        _ => return None,
    })
}

fn number(value: &Value<'_>) -> Option<f64> {
    match &value.data {
        Data::Number(spelling) => spelling.parse().ok(),
        _ => None,
    }
}

fn all<'a>(one: Value<'a>, two: Value<'a>) -> Value<'a> {
    Data::Map(vec![("allOf".into(), Data::List(vec![one, two]).into())]).into()
}

fn properties<'a>(one: &Value<'a>, two: Value<'a>) -> Option<Value<'a>> {
    let mut entries = one.as_map()?.to_vec();
    let Data::Map(others) = two.data else { return None };
    for (name, value) in others {
        match entries.iter_mut().find(|entry| entry.0 == name) {
            Some((_, own)) => *own = all(std::mem::take(own), value),
            None => entries.push((name, value)),
        }
    }
    Some(Data::Map(entries).into())
}

/// Applies `additionalProperties` of each schema to the properties that only the other lists.
fn close<'a>(one: &mut Map<'a>, two: &mut Map<'a>) {
    let [first, second] = [listed(one), listed(two)];
    restrict(one, &second, get(two, "additionalProperties").cloned());
    restrict(two, &first, get(one, "additionalProperties").cloned());
}

fn listed(map: &Map<'_>) -> Vec<String> {
    let properties = get(map, "properties").and_then(Value::as_map).unwrap_or_default();
    properties.iter().map(|entry| entry.0.to_string()).collect()
}

fn restrict<'a>(map: &mut Map<'a>, known: &[String], additional: Option<Value<'a>>) {
    let Some(additional) = additional.filter(|it| it.as_bool() != Some(true)) else { return };
    for (key, value) in map {
        if key != "properties" {
            continue;
        }
        let Data::Map(entries) = &mut value.data else { continue };
        for (name, value) in entries {
            if !known.iter().any(|known| known == name) {
                *value = all(std::mem::take(value), additional.clone());
            }
        }
    }
}

fn types<'a>(one: &Value<'a>, two: &Value<'a>) -> Value<'a> {
    let [one, two] = [words(one), words(two)];
    let mut kept: Vec<Value<'a>> = Vec::new();
    for word in &one {
        let has = |other: &str| two.iter().any(|it| it == other);
        let word = match word.as_str() {
            "number" if has("integer") && !has("number") => "integer",
            "integer" if has("number") => "integer",
            word if has(word) => word,
            _ => continue,
        };
        kept.push(word.to_owned().into());
    }
    Data::List(kept).into()
}

/// Returns the words of `type`.
pub(super) fn words(value: &Value<'_>) -> Vec<String> {
    let word = |value: &Value<'_>| value.as_str().map(str::to_owned);
    match &value.data {
        Data::List(items) => items.iter().filter_map(word).collect(),
        _ => word(value).into_iter().collect(),
    }
}
