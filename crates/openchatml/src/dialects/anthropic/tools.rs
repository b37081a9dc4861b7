//! Declarations of tools: functions with their schema under `input_schema`, and tools that the
//! service runs itself.

use crate::document::{DocumentReader, function_of, write_string_field};
use crate::json::{Data, Json, JsonError, Value, write_string, write_value};
use crate::model::Tool;
use crate::services::{Declared, write_field};
use crate::{Code, Dropped};

type Result<T> = std::result::Result<T, JsonError>;

/// The key of the schema.
const SCHEMA: &str = "input_schema";

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
        let value = json.value()?;
        tool(reader, value, declared);
        Ok(())
    })
}

fn tool<'a>(reader: &mut DocumentReader<'_>, value: Value<'a>, declared: &mut Declared<'a>) {
    let Value { data: Data::Map(mut fields), span } = value else { return };
    let kind = fields.iter().find(|field| field.0 == "type").map(|field| &field.1);
    let is_own =
        kind.is_none_or(|it| matches!(it.as_str(), Some("custom")) || it.data == Data::Null);
    if !is_own && kind.and_then(Value::as_str) != Some("function") {
        return declared.hosted.push(Value { data: Data::Map(fields), span });
    }
    let has = |key: &str| fields.iter().any(|field| field.0 == key);
    if !is_own || !has(SCHEMA) && (has("parameters") || has("function")) {
        let found = Code::ParseJson.at(span, "this format has no tools with `parameters`");
        return reader.drop_item(found.help("rename `parameters` to `input_schema`"));
    }
    let has_schema = has(SCHEMA);
    fields.retain(|(key, value)| {
        if has_schema && key == "parameters" {
            let found = Code::ParseJson.at(value.span, "the tool has another schema");
            reader.report(found.drops(Dropped::Value));
            return false;
        }
        key != "type" && !(key == SCHEMA && is_nothing(value))
    });
    for (key, _) in fields.iter_mut().filter(|field| field.0 == SCHEMA) {
        *key = "parameters".into();
    }
    declared.functions.extend(function_of(reader, Value { data: Data::Map(fields), span }));
}

/// The schema of a function without parameters. The API requires a schema, and this one is not
/// confused with another that was given.
const NOTHING: &str = r#"{"type":"object","properties":{},"maxProperties":0}"#;

/// Whether a schema is that of a function without parameters.
fn is_nothing(schema: &Value<'_>) -> bool {
    schema.as_map().is_some_and(|fields| fields.len() == 3) && schema.to_json() == NOTHING
}

/// Writes the list of tools.
pub(super) fn write(out: &mut String, functions: &[Tool<'_>], hosted: &[Value<'_>]) {
    let mut comma = "";
    out.push('[');
    for tool in functions {
        out.push_str(std::mem::replace(&mut comma, ","));
        out.push_str("{\"name\":");
        write_string(out, &tool.name);
        write_string_field(out, "description", tool.description.as_deref());
        match &tool.parameters {
            Some(schema) => write_field(out, SCHEMA, schema),
            None => {
                out.push_str(",\"input_schema\":");
                out.push_str(NOTHING);
            }
        }
        for (key, value) in &tool.extra {
            write_field(out, key, value);
        }
        out.push('}');
    }
    for tool in hosted {
        out.push_str(std::mem::replace(&mut comma, ","));
        write_value(out, tool);
    }
    out.push(']');
}
