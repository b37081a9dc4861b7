//! Declarations of tools: functions, and tools that the service runs itself.

use std::borrow::Cow;

use crate::Code;
use crate::document::{DocumentReader, function_of, write_string_field};
use crate::json::{Data, Json, JsonError, Value, write_string, write_value};
use crate::model::Tool;
use crate::services::{Declared, write_field};

type Result<T> = std::result::Result<T, JsonError>;

/// Reads the value of `tools`.
pub(super) fn read<'a>(
    reader: &mut DocumentReader<'_>,
    json: &mut Json<'a>,
    declared: &mut Declared<'a>,
) -> Result<()> {
    reader.array(json, |reader, json| {
        if json.peek() != Some(b'{') {
            return reader.wrong(json, "an object");
        }
        let Value { data: Data::Map(fields), span } = json.value()? else { return Ok(()) };
        let mut rest = Vec::new();
        let mut has_functions = false;
        for (key, value) in fields {
            if !matches!(key.as_ref(), "functionDeclarations" | "function_declarations") {
                rest.push((key, value));
                continue;
            }
            has_functions = true;
            match value.data {
                Data::List(items) => {
                    items.into_iter().for_each(|item| function(reader, item, declared));
                }
                Data::Null => {}
                _ => reader.drop_value(Code::ParseJson.at(value.span, "expected an array")),
            }
        }
        let of_another = ["function", "input_schema", "parameters"];
        if rest.iter().any(|(key, _)| of_another.contains(&key.as_ref())) {
            let found = Code::ParseJson.at(span, "this tool is in the form of another service");
            let help = "write it as an item of `functionDeclarations`";
            reader.drop_item(found.help(help));
        } else if !rest.is_empty() || !has_functions {
            declared.hosted.push(Value { data: Data::Map(rest), span });
        }
        Ok(())
    })
}

fn function<'a>(reader: &mut DocumentReader<'_>, value: Value<'a>, declared: &mut Declared<'a>) {
    let Value { data: Data::Map(mut fields), span } = value else {
        return reader.drop_item(Code::ParseJson.at(value.span, "a function must be an object"));
    };
    let has_own = fields.iter().any(|field| field.0 == "parameters");
    for (key, value) in &mut fields {
        match key.as_ref() {
            "parameters" => *value = lower(std::mem::take(value)),
            "parametersJsonSchema" | "parameters_json_schema" if !has_own => {
                *key = "parameters".into();
            }
            _ => {}
        }
    }
    declared.functions.extend(function_of(reader, Value { data: Data::Map(fields), span }));
}

/// The types of schemas in this API. JSON Schema has them in lower case.
const TYPES: &[&str] = &["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];

/// Returns a schema with the types of JSON Schema.
fn lower(mut schema: Value<'_>) -> Value<'_> {
    schema.data = match schema.data {
        Data::Map(fields) => Data::Map(
            fields
                .into_iter()
                .map(|(key, value)| match &value.data {
                    Data::String(word) if key == "type" && TYPES.contains(&word.as_ref()) => {
                        let word = Cow::Owned(word.to_ascii_lowercase());
                        (key, Value { data: Data::String(word), ..value })
                    }
                    // These are values and not schemas.
                    _ if matches!(key.as_ref(), "enum" | "default" | "example") => (key, value),
                    _ => (key, lower(value)),
                })
                .collect(),
        ),
        Data::List(items) => Data::List(items.into_iter().map(lower).collect()),
        data => data,
    };
    schema
}

/// The keywords of schemas under `parameters`. Other schemas are under `parametersJsonSchema`.
const KEYWORDS: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "default",
    "items",
    "minItems",
    "maxItems",
    "enum",
    "properties",
    "propertyOrdering",
    "required",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
];

/// Whether a schema has only the keywords of `parameters`.
fn is_simple(schema: &Value<'_>) -> bool {
    let Some(fields) = schema.as_map() else { return true };
    fields.iter().all(|(key, value)| match key.as_ref() {
        "properties" => {
            value.as_map().is_some_and(|fields| fields.iter().all(|field| is_simple(&field.1)))
        }
        "items" => value.as_map().is_some() && is_simple(value),
        "anyOf" => value.as_list().is_some_and(|items| items.iter().all(is_simple)),
        "type" => value.as_str().is_some(),
        key => KEYWORDS.contains(&key),
    })
}

/// Writes the list of tools.
pub(super) fn write(out: &mut String, functions: &[Tool<'_>], hosted: &[Value<'_>]) {
    out.push('[');
    if !functions.is_empty() {
        out.push_str(r#"{"functionDeclarations":["#);
        for (index, tool) in functions.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            out.push_str("{\"name\":");
            write_string(out, &tool.name);
            write_string_field(out, "description", tool.description.as_deref());
            if let Some(schema) = &tool.parameters {
                let is_simple = is_simple(schema);
                let key = if is_simple { "parameters" } else { "parametersJsonSchema" };
                write_field(out, key, schema);
            }
            for (key, value) in &tool.extra {
                write_field(out, key, value);
            }
            out.push('}');
        }
        out.push_str("]}");
    }
    for (index, tool) in hosted.iter().enumerate() {
        out.push_str(if index == 0 && functions.is_empty() { "" } else { "," });
        write_value(out, tool);
    }
    out.push(']');
}
