//! The compiled JSON Schemas of tools.

use std::collections::HashSet;
use std::fmt;

use jsonschema::Validator;
use openchatml::{Data, Value};
use serde_json::{Map, Number};

use super::reply::clip;

/// The compiled schema of a tool.
pub(super) struct Schema {
    validator: Validator,
    /// The properties of the value itself, also those from `allOf`, `anyOf`, `oneOf` and `$ref`.
    properties: HashSet<String>,
}

/// The error for parameters of a tool that are not a JSON Schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidSchema {
    /// The name of the tool.
    pub name: String,
    /// The error in the schema.
    pub why: String,
}

impl fmt::Display for InvalidSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the parameters of `{}` are not a valid JSON Schema: {}", self.name, self.why)
    }
}

impl std::error::Error for InvalidSchema {}

/// A violation of the schema in arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// The JSON pointer (RFC 6901) of the argument.
    pub(super) path: String,
    pub(super) message: String,
}

/// The maximum number of reported violations. The model can fix its next call with fewer.
const MOST: usize = 8;

/// The maximum length of the message of one violation, in bytes. The message may quote the
/// argument.
const MESSAGE_BYTES: usize = 512;

/// The maximum number of schemas that are searched for properties, because references can be
/// cyclic.
const MOST_SCHEMAS: usize = 256;

impl Schema {
    pub(super) fn new(tool: &str, schema: &Value<'_>) -> Result<Self, InvalidSchema> {
        let bad = |why: String| InvalidSchema { name: tool.to_owned(), why };
        let own = to_serde(schema, &mut String::new()).map_err(|it| bad(it.message))?;
        let options = jsonschema::options().offline();
        let validator = options.build(&own).map_err(|error| bad(error.to_string()))?;
        let mut properties = HashSet::new();
        let mut left = MOST_SCHEMAS;
        declared(schema, schema, &mut left, &mut properties);
        Ok(Self { validator, properties })
    }

    /// Whether the schema declares this property of the arguments.
    pub(super) fn declares(&self, property: &str) -> bool {
        self.properties.contains(property)
    }

    /// Returns the violations of the schema in these arguments.
    pub(super) fn violations(&self, arguments: &Value<'_>) -> Vec<Violation> {
        let arguments = match to_serde(arguments, &mut String::new()) {
            Ok(arguments) => arguments,
            Err(violation) => return vec![violation],
        };
        if self.validator.is_valid(&arguments) {
            return Vec::new();
        }
        let errors = self.validator.iter_errors(&arguments).take(MOST);
        errors
            .map(|error| Violation {
                path: error.instance_path().as_str().to_owned(),
                message: clip(&error.to_string(), MESSAGE_BYTES),
            })
            .collect()
    }
}

/// Collects the properties that `schema` declares for the value itself, including those of the
/// schemas that it combines.
fn declared(root: &Value<'_>, schema: &Value<'_>, left: &mut usize, out: &mut HashSet<String>) {
    let Some(rest) = left.checked_sub(1) else { return };
    *left = rest;
    let own = schema.get("properties").and_then(Value::as_map).unwrap_or_default();
    out.extend(own.iter().map(|(name, _)| name.clone().into_owned()));
    for key in ["allOf", "anyOf", "oneOf"] {
        let parts = schema.get(key).and_then(Value::as_list).unwrap_or_default();
        parts.iter().for_each(|part| declared(root, part, left, out));
    }
    let reference = schema.get("$ref").and_then(Value::as_str);
    if let Some(path) = reference.and_then(|it| it.strip_prefix("#/")) {
        let mut steps = path.split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
        if let Some(other) = steps.try_fold(root, |at, step| at.get(&step)) {
            declared(root, other, left, out);
        }
    }
}

/// Converts a value for the validator. A number that `serde_json` cannot represent is a violation.
fn to_serde(value: &Value<'_>, path: &mut String) -> Result<serde_json::Value, Violation> {
    Ok(match &value.data {
        Data::Null => serde_json::Value::Null,
        Data::Bool(value) => (*value).into(),
        Data::String(text) => text.as_ref().into(),
        Data::Number(spelling) => number(spelling).map(Into::into).ok_or_else(|| Violation {
            path: path.clone(),
            message: format!("the number {spelling} is out of range"),
        })?,
        Data::List(items) => {
            let mut list = Vec::with_capacity(items.len());
            for (at, item) in items.iter().enumerate() {
                list.push(within(path, &at.to_string(), |path| to_serde(item, path))?);
            }
            list.into()
        }
        Data::Map(entries) => {
            let mut map = Map::with_capacity(entries.len());
            for (key, item) in entries {
                let item = within(path, key, |path| to_serde(item, path))?;
                map.insert(key.clone().into_owned(), item);
            }
            map.into()
        }
    })
}

fn number(spelling: &str) -> Option<Number> {
    if let Ok(number) = spelling.parse::<i64>() {
        return Some(number.into());
    }
    if let Ok(number) = spelling.parse::<u64>() {
        return Some(number.into());
    }
    Number::from_f64(spelling.parse().ok()?)
}

/// Runs `work` with `step` appended to the path.
fn within<T>(path: &mut String, step: &str, work: impl FnOnce(&mut String) -> T) -> T {
    let before = path.len();
    path.push('/');
    path.push_str(&step.replace('~', "~0").replace('/', "~1"));
    let done = work(path);
    path.truncate(before);
    done
}
