//! Loads and validates a template.

use openchatml::{Limits, Value};

use super::anchor::{Anchor, Empty};
use super::content::{Content, Parser};
use super::error::ResponseTemplateError as Error;
use super::spec::{Field, Meaning, Spec};
use super::transform::Transform;

const TOP_KEYS: &[&str] =
    &["version", "defaults", "fields", "start_anchor", "start_anchor_pattern"];

const FIELD_KEYS: &[&str] = &[
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
];

/// The key of a template in the file of a tokenizer.
const KEY: &str = "response_template";

/// The literal that stands for the end of the text.
const END_OF_TEXT: &str = "eos";

pub(super) fn load(json: &str) -> Result<Spec, Error> {
    let value = Value::from_json(json, &Limits::default());
    let value = value.map_err(|found| {
        Error::new(None, format!("invalid JSON at byte {}: {}", found.span.start, found.message))
    })?;
    // The file of a tokenizer.
    let is_tokenizer =
        ["tokenizer_class", "added_tokens_decoder"].iter().any(|key| value.get(key).is_some());
    let template = match value.get(KEY) {
        Some(template) => template,
        None if is_tokenizer => {
            return Err(Error::new(Some(KEY), "this file of a tokenizer has no response template"));
        }
        None => &value,
    };
    spec(template)
}

fn spec(value: &Value<'_>) -> Result<Spec, Error> {
    if value.as_map().is_none() {
        return Err(Error::new(None, format!("an object is required, not {}", value.kind())));
    }
    check_keys(value, TOP_KEYS)?;
    if let Some(version) = value.get("version")
        && version.as_spelling() != Some("1")
    {
        return Err(Error::new(Some("version"), "only version 1 is supported"));
    }
    let defaults = value.get("defaults");
    if defaults.is_some_and(|it| it.as_map().is_none()) {
        return Err(Error::new(Some("defaults"), "an object is required"));
    }
    let fields = value.get("fields").and_then(Value::as_map).unwrap_or_default();
    if fields.is_empty() {
        return Err(Error::new(Some("fields"), "an object with at least one field is required"));
    }
    let fields =
        fields.iter().map(|(name, it)| field(name, it).map_err(|error| error.in_field(name)));
    let fields: Vec<Field> = fields.collect::<Result<_, _>>()?;
    let mut implicit = fields.iter().enumerate().filter(|(_, field)| field.open.is_none());
    let first = implicit.next();
    if let (Some((_, first)), Some((_, second))) = (first, implicit.next()) {
        let text = format!("only one field can have no `open`, and `{}` has none, too", first.name);
        return Err(Error::new(Some("open"), text).in_field(&second.name));
    }
    let implicit = first.map(|(at, _)| at);
    let start = match anchor(value, "start_anchor", "start_anchor_pattern")? {
        Some(Found { anchor: Some(anchor), .. }) => Some(anchor),
        Some(Found { anchor: None, .. }) => {
            return Err(Error::new(Some("start_anchor"), "the end of the text begins no message"));
        }
        None => None,
    };
    if start.as_ref().is_some_and(|start| start.empty() != Empty::Never) {
        let text = "the pattern matches an empty text";
        return Err(Error::new(Some("start_anchor_pattern"), text));
    }
    Ok(Spec { fields, implicit, start })
}

fn field(name: &str, value: &Value<'_>) -> Result<Field, Error> {
    if value.as_map().is_none() {
        return Err(Error::new(None, format!("an object is required, not {}", value.kind())));
    }
    check_keys(value, FIELD_KEYS)?;
    let open = anchor(value, "open", "open_pattern")?;
    let close = anchor(value, "close", "close_pattern")?;
    if let Some(open) = &open
        && open
            .anchor
            .as_ref()
            .is_none_or(|it| !matches!(it.empty(), Empty::Never | Empty::AtStart))
    {
        return Err(Error::new(Some(open.key), "it matches without text"));
    }
    let close_empty = close.as_ref().and_then(|it| it.anchor.as_ref()).map(Anchor::empty);
    if matches!(close_empty, Some(Empty::Anywhere | Empty::AtStart)) {
        return Err(Error::new(Some("close_pattern"), "it matches an empty text"));
    }
    let repeats = flag(value, "repeats", false)?;
    let transform_each = flag(value, "transform_each", false)?;
    match value.get("join") {
        None => {}
        Some(join) if join.as_str().is_none() => {
            return Err(Error::new(Some("join"), "a string is required"));
        }
        Some(_) if !repeats => return Err(Error::new(Some("join"), "it requires `repeats`")),
        Some(_) => {}
    }
    let transform = value.get("transform").filter(|it| it.kind() != "null");
    let transform = transform.map(Transform::load).transpose();
    let transform = transform.map_err(|text| Error::new(Some("transform"), text))?;
    if transform_each && transform.is_none() {
        return Err(Error::new(Some("transform_each"), "it requires `transform`"));
    }
    for found in [&open, &close].into_iter().flatten() {
        let names = found.anchor.as_ref().map(Anchor::names).unwrap_or_default();
        if let (None, Some(name)) = (&transform, names.first()) {
            let text = format!("the group `{name}` requires a `transform` that uses it");
            return Err(Error::new(Some(found.key), text));
        }
    }
    let ends_with_text = open.is_none()
        || close.as_ref().is_none_or(|it| it.anchor.is_none())
        || close_empty == Some(Empty::AtEnd);
    Ok(Field {
        name: name.to_owned(),
        meaning: Meaning::of(name),
        open: open.and_then(|it| it.anchor),
        close: close.and_then(|it| it.anchor),
        ends_with_text,
        content: content(value)?,
        transform,
        transform_each,
        is_required: !flag(value, "optional", true)?,
    })
}

fn content(value: &Value<'_>) -> Result<Content, Error> {
    let name = match value.get("content") {
        None => "text",
        Some(name) => {
            name.as_str().ok_or_else(|| Error::new(Some("content"), "a string is required"))?
        }
    };
    let parser = Parser::from_name(name).map_err(|text| Error::new(Some("content"), text))?;
    Content::load(parser, value.get("content_args"))
        .map_err(|text| Error::new(Some("content_args"), text))
}

/// An anchor, or the end of the text, and its key.
struct Found {
    anchor: Option<Anchor>,
    key: &'static str,
}

fn anchor(
    value: &Value<'_>,
    literal: &'static str,
    pattern: &'static str,
) -> Result<Option<Found>, Error> {
    let wrong = |key: &str, text: &str| Error::new(Some(key), text);
    match (value.get(literal), value.get(pattern)) {
        (Some(_), Some(_)) => Err(wrong(literal, &format!("it excludes `{pattern}`"))),
        (None, None) => Ok(None),
        (None, Some(source)) => {
            let source = source.as_str().ok_or_else(|| wrong(pattern, "a string is required"))?;
            let anchor = Anchor::pattern(source).map_err(|text| wrong(pattern, &text))?;
            Ok(Some(Found { anchor: Some(anchor), key: pattern }))
        }
        (Some(literals), None) => {
            let all: Option<Vec<String>> = match literals.as_list() {
                Some(items) => items.iter().map(|it| it.as_str().map(str::to_owned)).collect(),
                None => literals.as_str().map(|it| vec![it.to_owned()]),
            };
            let all = all.filter(|all| !all.is_empty() && all.iter().all(|it| !it.is_empty()));
            let text = "a string that is not empty, or a list of them, is required";
            let all = all.ok_or_else(|| wrong(literal, text))?;
            if all == [END_OF_TEXT] {
                return Ok(Some(Found { anchor: None, key: literal }));
            }
            let anchor = Anchor::literals(&all).map_err(|text| wrong(literal, &text))?;
            Ok(Some(Found { anchor: Some(anchor), key: literal }))
        }
    }
}

fn flag(value: &Value<'_>, key: &str, default: bool) -> Result<bool, Error> {
    match value.get(key) {
        None => Ok(default),
        Some(flag) => {
            flag.as_bool().ok_or_else(|| Error::new(Some(key), "`true` or `false` is required"))
        }
    }
}

fn check_keys(value: &Value<'_>, known: &[&str]) -> Result<(), Error> {
    let keys = value.as_map().unwrap_or_default().iter().map(|(key, _)| key);
    match keys.into_iter().find(|key| !known.contains(&key.as_ref())) {
        None => Ok(()),
        Some(key) => {
            Err(Error::new(Some(key), format!("unknown key; the keys are {}", known.join(", "))))
        }
    }
}
