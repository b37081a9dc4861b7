//! Declarations of tools: functions, and tools that the service runs itself.

use std::borrow::Cow;

use crate::document::{DocumentReader, function_of, write_string_field};
use crate::json::{Data, Json, JsonError, Value, write_string, write_value};
use crate::model::Tool;
use crate::services::{Declared, Fields, write_field};
use crate::{Code, Dropped};

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
    let mut has_schema = fields.iter().any(|field| field.0 == "parameters");
    fields.retain_mut(|(key, value)| {
        match key.as_ref() {
            "parameters" => *value = lower(std::mem::take(value)),
            "parametersJsonSchema" | "parameters_json_schema" if has_schema => {
                let found = Code::ParseJson.at(value.span, "the function has another schema");
                reader.report(found.drops(Dropped::Value));
                return false;
            }
            "parametersJsonSchema" | "parameters_json_schema" => {
                *key = "parameters".into();
                has_schema = true;
            }
            _ => {}
        }
        true
    });
    declared.functions.extend(function_of(reader, Value { data: Data::Map(fields), span }));
}

/// The types of schemas in this API. JSON Schema has them in lower case.
const TYPES: &[&str] = &["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];

/// Keywords whose numbers can be strings in this API.
const NUMBERS: &[&str] =
    &["minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength"];

/// Returns a schema with the types of JSON Schema.
fn lower(mut schema: Value<'_>) -> Value<'_> {
    schema.data = match schema.data {
        Data::Map(fields) => Data::Map(
            nullable(fields)
                .into_iter()
                .map(|(key, value)| match &value.data {
                    Data::String(number)
                        if NUMBERS.contains(&key.as_ref())
                            && !number.is_empty()
                            && number.bytes().all(|byte| byte.is_ascii_digit()) =>
                    {
                        let number = Data::Number(number.clone());
                        (key, Value { data: number, ..value })
                    }
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

/// Returns the fields with `null` among the types or the variants instead of `nullable`.
fn nullable<'a>(mut fields: Fields<'a>) -> Fields<'a> {
    let is_on = |field: &(Cow<'_, str>, Value<'_>)| {
        field.0 == "nullable" && field.1.data == Data::Bool(true)
    };
    let is_type = |field: &(Cow<'_, str>, Value<'_>)| field.0 == "type";
    if fields.iter().any(is_on)
        && let Some((_, kind)) = fields.iter_mut().find(|it| is_type(it))
        && let Data::String(word) = &mut kind.data
    {
        let null = || Value::from(Data::String("null".into()));
        let word = Value::from(Data::String(std::mem::take(word).to_ascii_lowercase().into()));
        kind.data = Data::List(vec![word, null()]);
        fields.retain(|field| !is_on(field));
        // In JSON Schema, it must also be one of the values.
        for (_, values) in fields.iter_mut().filter(|field| field.0 == "enum") {
            if let Data::List(values) = &mut values.data {
                values.push(Value::default());
            }
        }
    } else if fields.iter().any(is_on)
        && let Some((_, variants)) = fields.iter_mut().find(|field| field.0 == "anyOf")
        && let Data::List(variants) = &mut variants.data
    {
        let null = Value::from(Data::String("null".into()));
        variants.push(Data::Map(vec![("type".into(), null)]).into());
        fields.retain(|field| !is_on(field));
    }
    fields
}

/// Whether a variant is only `null`.
fn is_null(variant: &Value<'_>) -> bool {
    variant.as_map().is_some_and(|fields| fields.len() == 1)
        && variant.get("type").and_then(Value::as_str) == Some("null")
}

/// Returns the other type, if one of two is `null`.
fn nullable_type<'v>(types: &'v Value<'_>) -> Option<&'v str> {
    match types.as_list()? {
        [kind, null] | [null, kind] if null.as_str() == Some("null") => kind.as_str(),
        _ => None,
    }
}

/// Returns a simple schema with `nullable` instead of `null` among the types.
fn with_nullable<'a>(schema: &Value<'a>) -> Value<'a> {
    let data = match &schema.data {
        Data::Map(fields) => {
            let mut written = Vec::with_capacity(fields.len() + 1);
            for (key, value) in fields {
                let is_enum = |_: &&[Value<'a>]| key == "enum";
                let is_value = matches!(key.as_ref(), "enum" | "default" | "example");
                if let Some(kind) = nullable_type(value).filter(|_| key == "type") {
                    let kind = Value::from(Data::String(Cow::Owned(kind.to_owned())));
                    written.push((key.clone(), kind));
                    written.push(("nullable".into(), true.into()));
                } else if let Some(variants) = value.as_list().filter(|_| key == "anyOf")
                    && variants.iter().any(is_null)
                {
                    let variants = variants.iter().filter(|it| !is_null(it)).map(with_nullable);
                    written.push((key.clone(), Data::List(variants.collect()).into()));
                    written.push(("nullable".into(), true.into()));
                } else if let Some(values) = value.as_list().filter(is_enum) {
                    // `nullable` says it.
                    let values = values.iter().filter(|value| value.data != Data::Null);
                    written.push((key.clone(), Data::List(values.cloned().collect()).into()));
                } else {
                    // A value is not a schema.
                    let value = if is_value { value.clone() } else { with_nullable(value) };
                    written.push((key.clone(), value));
                }
            }
            Data::Map(written)
        }
        Data::List(items) => Data::List(items.iter().map(with_nullable).collect()),
        data => data.clone(),
    };
    data.into()
}

/// The formats of strings under `parameters`.
const FORMATS: &[&str] = &["enum", "date-time", "int32", "int64", "float", "double"];

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
    let is_of = |word: &str| schema.get("type").and_then(Value::as_str) == Some(word);
    if is_of("array") && schema.get("items").is_none() {
        return false;
    }
    fields.iter().all(|(key, value)| match key.as_ref() {
        "properties" => {
            value.as_map().is_some_and(|fields| fields.iter().all(|field| is_simple(&field.1)))
        }
        "items" => value.as_map().is_some() && is_simple(value),
        "anyOf" => value.as_list().is_some_and(|items| items.iter().all(is_simple)),
        "type" => value.as_str().is_some() || nullable_type(value).is_some(),
        "enum" => value.as_list().is_some_and(|items| {
            let is_nullable = schema.get("type").and_then(nullable_type).is_some();
            let is_value =
                |it: &Value<'_>| it.as_str().is_some() || is_nullable && it.data == Data::Null;
            items.iter().all(is_value)
        }),
        "format" => value.as_str().is_some_and(|word| FORMATS.contains(&word)),
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
                match is_simple(schema) {
                    true => write_field(out, "parameters", &with_nullable(schema)),
                    false => write_field(out, "parametersJsonSchema", schema),
                }
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
