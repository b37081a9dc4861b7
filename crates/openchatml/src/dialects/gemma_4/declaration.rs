//! Declarations of tools, as the chat template writes them.

use super::QUOTE;
use super::tokens::CONTROLS;
use crate::json::{Data, Value, python};
use crate::model::Tool;

/// The keys of a schema that are no parameters of an object without `properties`.
const KEYS: [&str; 5] = ["description", "type", "properties", "required", "nullable"];

/// Returns the declaration of a tool.
pub(super) fn declaration(tool: &Tool<'_>) -> String {
    let mut text = ["declaration:", &tool.name, "{description:"].concat();
    text.push_str(&quoted(tool.description.as_deref().unwrap_or_default()));
    if let Some(parameters) = tool.parameters.as_ref().filter(|it| python::is_true(Some(it))) {
        text.push_str(",parameters:{");
        if let Some(properties) = truthy(parameters, "properties") {
            text.push_str("properties:{");
            self::parameters(&mut text, properties, false);
            text.push_str("},");
        }
        if let Some(required) = truthy(parameters, "required") {
            text.push_str(&list("required", required));
            text.push(',');
        }
        if truthy(parameters, "type").is_some() {
            text.push_str(&["type:", &quoted(&upper(parameters)), "}"].concat());
        }
    }
    text.push('}');
    text
}

/// Returns a field that is true in Python.
fn truthy<'v, 'a>(value: &'v Value<'a>, key: &str) -> Option<&'v Value<'a>> {
    value.get(key).filter(|it| python::is_true(Some(it)))
}

/// Whether a text of a tool would end the string or the key that it is in, or the declaration.
pub(super) fn breaks_out(tool: &Tool<'_>) -> bool {
    let description = tool.description.as_deref().unwrap_or_default();
    has_token(&tool.name) || has_token(description) || tool.parameters.as_ref().is_some_and(breaks)
}

fn breaks(value: &Value<'_>) -> bool {
    match &value.data {
        Data::String(text) => has_token(text),
        Data::List(items) => items.iter().any(breaks),
        Data::Map(entries) => entries.iter().any(|(key, value)| {
            let is_bare = !key.contains(['{', '}', '[', ']', ',', ':']);
            !is_bare || has_token(key) || breaks(value)
        }),
        _ => false,
    }
}

fn has_token(text: &str) -> bool {
    CONTROLS.entries().iter().any(|(_, spelling)| text.contains(spelling))
}

/// Whether the declaration contains everything that the tool says.
pub(super) fn is_whole(tool: &Tool<'_>) -> bool {
    let Some(parameters) = &tool.parameters else { return tool.extra.is_empty() };
    let Some(entries) = parameters.as_map() else { return false };
    let is_written = entries.iter().all(|(key, value)| match &**key {
        "properties" => are_whole(value),
        "required" => is_names(value),
        "type" => value.as_str().is_some(),
        _ => false,
    });
    tool.extra.is_empty() && is_written
}

/// Whether the schemas of parameters are written completely.
fn are_whole(properties: &Value<'_>) -> bool {
    let schemas = properties.as_map();
    schemas.is_some_and(|schemas| schemas.iter().all(|(_, schema)| is_whole_schema(schema)))
}

fn is_whole_schema(schema: &Value<'_>) -> bool {
    let Some(entries) = schema.as_map() else { return false };
    let kind = upper(schema);
    entries.iter().all(|(key, value)| match (&**key, &*kind) {
        ("description" | "type", _) => value.as_str().is_some(),
        ("nullable", _) => value.as_bool().is_some(),
        ("enum", "STRING") => value.as_list().is_some(),
        ("items", "ARRAY") => value.as_map().is_some_and(|items| {
            items.iter().all(|(key, value)| match &**key {
                "properties" => are_whole(value),
                "required" => is_names(value),
                "type" => value.as_str().is_some(),
                _ => value.data != Data::Null,
            })
        }),
        ("properties", "OBJECT") => are_whole(value),
        ("required", "OBJECT") => is_names(value),
        _ => false,
    })
}

/// Whether a value is a list of names.
fn is_names(value: &Value<'_>) -> bool {
    value.as_list().is_some_and(|names| names.iter().all(|name| name.as_str().is_some()))
}

fn quoted(text: &str) -> String {
    let quote = CONTROLS.spelling(QUOTE).unwrap_or_default();
    [quote, text, quote].concat()
}

/// Returns a value as Python prints it.
fn printed(value: &Value<'_>) -> String {
    python::to_text(value).unwrap_or_else(|| {
        let mut text = String::new();
        python::to_json(&mut text, value);
        text.replace('"', "'")
    })
}

/// Returns the type of a schema in capital letters.
fn upper(schema: &Value<'_>) -> String {
    schema.get("type").map_or(String::new(), capitals)
}

/// Returns types in capital letters. Words that are no types of JSON Schema stay as they are.
fn capitals(kinds: &Value<'_>) -> String {
    const KNOWN: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
    let is_known = |kind: &Value<'_>| kind.as_str().is_some_and(|it| KNOWN.contains(&it));
    let all = kinds.as_list().map_or(is_known(kinds), |kinds| kinds.iter().all(is_known));
    if all { printed(kinds).to_uppercase() } else { printed(kinds) }
}

fn sorted<'v, 'a>(value: &'v Value<'a>) -> Vec<(&'v str, &'v Value<'a>)> {
    let entries = value.as_map().unwrap_or_default();
    let mut entries: Vec<_> = entries.iter().map(|(key, value)| (&**key, value)).collect();
    entries.sort_by_cached_key(|(key, _)| key.to_lowercase());
    entries
}

fn list(key: &str, items: &Value<'_>) -> String {
    let items = items.as_list().unwrap_or_default().iter();
    let items: Vec<_> = items.map(|item| quoted(&printed(item))).collect();
    [key, ":[", &items.join(","), "]"].concat()
}

/// Writes the schemas of parameters, sorted by their names. `is_plain` says that they stand next to
/// the keys of a schema.
fn parameters(text: &mut String, properties: &Value<'_>, is_plain: bool) {
    let mut is_first = true;
    for (key, schema) in sorted(properties) {
        if is_plain && KEYS.contains(&key) {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            text.push(',');
        }
        text.push_str(&[key, ":{"].concat());
        let fields = fields(schema);
        text.push_str(&fields.join(","));
        text.push('}');
    }
}

/// Returns the fields of the schema of a parameter.
fn fields(schema: &Value<'_>) -> Vec<String> {
    let mut fields = Vec::new();
    let kind = upper(schema);
    if let Some(description) = truthy(schema, "description") {
        fields.push(["description:", &quoted(&printed(description))].concat());
    }
    if kind == "STRING" {
        let values = truthy(schema, "enum");
        fields.extend(values.map(|values| ["enum:", &argument(values)].concat()));
    } else if kind == "ARRAY" {
        let items = truthy(schema, "items").filter(|items| items.as_map().is_some());
        fields.extend(items.map(|items| ["items:{", &self::items(items), "}"].concat()));
    }
    if truthy(schema, "nullable").is_some() {
        fields.push("nullable:true".to_owned());
    }
    if kind == "OBJECT" {
        let mut text = String::from("properties:{");
        let properties = schema.get("properties").filter(|it| it.as_map().is_some());
        parameters(&mut text, properties.unwrap_or(schema), properties.is_none());
        text.push('}');
        fields.push(text);
        fields.extend(truthy(schema, "required").map(|required| list("required", required)));
    }
    fields.push(["type:", &quoted(&kind)].concat());
    fields
}

/// Returns the schema of the items of a list.
fn items(items: &Value<'_>) -> String {
    let mut fields = Vec::new();
    for (key, value) in sorted(items) {
        fields.push(match key {
            _ if value.data == Data::Null => continue,
            "properties" => {
                let mut text = String::from("properties:{");
                parameters(&mut text, value, false);
                text + "}"
            }
            "required" => list("required", value),
            "type" => {
                let kind = match value.as_list() {
                    None => quoted(&upper(items)),
                    Some(kinds) => {
                        let kinds = kinds.iter().map(|kind| quoted(&capitals(kind)));
                        ["[", &kinds.collect::<Vec<_>>().join(","), "]"].concat()
                    }
                };
                ["type:", &kind].concat()
            }
            key => [key, ":", &argument(value)].concat(),
        });
    }
    fields.join(",")
}

/// Returns a value in the syntax of arguments, but with quoted keys.
fn argument(value: &Value<'_>) -> String {
    match &value.data {
        Data::Null => "null".to_owned(),
        Data::Bool(value) => value.to_string(),
        Data::String(text) => quoted(text),
        Data::Number(_) => printed(value),
        Data::List(items) => {
            let items: Vec<_> = items.iter().map(argument).collect();
            ["[", &items.join(","), "]"].concat()
        }
        Data::Map(_) => {
            let entries = sorted(value).into_iter();
            let entries =
                entries.map(|(key, value)| [&quoted(key), ":", &argument(value)].concat());
            ["{", &entries.collect::<Vec<_>>().join(","), "}"].concat()
        }
    }
}
