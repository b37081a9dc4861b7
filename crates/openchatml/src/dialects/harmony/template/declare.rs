//! Declares tools like the template.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::json::python::{is_true, to_json, to_text};
use crate::json::{Data, Value};
use crate::model::Tool;

/// The error for a tool that cannot be declared.
type Result<T> = std::result::Result<T, String>;

/// The entries of a mapping.
type Entries<'s, 'a> = &'s [(Cow<'a, str>, Value<'a>)];

/// The maximum nesting depth of a schema.
const DEPTH: usize = 64;

/// Returns the section of the developer message with functions.
pub(super) fn functions(tools: &[Tool<'_>]) -> Result<String> {
    let mut out = String::from("# Tools\n\n## functions\n\nnamespace functions {\n\n");
    for tool in tools {
        function(&mut out, tool).map_err(|why| {
            format!("the template cannot declare {}: {why}", crate::diagnostic::quote(&tool.name))
        })?;
    }
    out.push_str("} // namespace functions");
    Ok(out)
}

fn function(out: &mut String, tool: &Tool<'_>) -> Result<()> {
    let description = tool.description.as_deref().ok_or("it has no `description`")?;
    out.push_str(&format!("// {description}\ntype {} = ", tool.name));
    let parameters = tool.parameters.as_ref();
    let Some(properties) = properties(parameters)? else {
        out.push_str("() => any;\n\n");
        return Ok(());
    };
    out.push_str("(_: {\n");
    let required = required(parameters)?;
    for (name, schema) in properties {
        if is_true(schema.get("description")) {
            out.push_str(&format!("// {}\n", text(schema, "description")?));
        }
        let mark = if required.contains(name.as_ref()) { "" } else { "?" };
        out.push_str(&format!("{name}{mark}: {}", type_of(schema, DEPTH)?));
        if let Some(default) = schema.get("default") {
            if is_true(schema.get("enum")) {
                out.push_str(&format!(", // default: {}", text(schema, "default")?));
            } else if is_true(schema.get("oneOf")) {
                out.push_str(&format!("// default: {}", text(schema, "default")?));
            } else {
                out.push_str(", // default: ");
                to_json(out, default);
            }
        }
        out.push_str(",\n");
    }
    out.push_str("}) => any;\n\n");
    Ok(())
}

fn type_of(schema: &Value<'_>, depth: usize) -> Result<String> {
    let depth = depth.checked_sub(1).ok_or("its schema is nested too deeply")?;
    let kind = schema.get("type");
    let word = kind.and_then(Value::as_str);
    if word == Some("array") {
        return array(schema, depth);
    }
    if let Some([first, rest @ ..]) = kind.and_then(Value::as_list) {
        let kinds: Option<Vec<_>> = std::iter::once(first).chain(rest).map(to_text).collect();
        return Ok(kinds.ok_or("a `type` must be a string")?.join(" | "));
    }
    if is_true(schema.get("oneOf")) {
        return one_of(list(schema, "oneOf")?, depth);
    }
    Ok(match word {
        Some("string") if is_true(schema.get("enum")) => {
            let values: Option<Vec<_>> = list(schema, "enum")?.iter().map(to_text).collect();
            format!(
                "\"{}\"",
                values.ok_or("each value of `enum` must be a string")?.join("\" | \"")
            )
        }
        Some("string") => format!("string{}", nullable(schema)),
        Some("number" | "integer") => "number".into(),
        Some("boolean") => "boolean".into(),
        Some("object") => return object(schema, depth),
        _ => "any".into(),
    })
}

fn nullable(schema: &Value<'_>) -> &'static str {
    if is_true(schema.get("nullable")) { " | null" } else { "" }
}

fn array(schema: &Value<'_>, depth: usize) -> Result<String> {
    let items = schema.get("items").filter(|items| is_true(Some(items)));
    let item = match items {
        None => "any".into(),
        Some(items) => type_of_item(items, depth)?,
    };
    Ok(format!("{item}[]{}", nullable(schema)))
}

/// Returns the type of the items of an array. Strings are written without their other keywords, and
/// a long type becomes `any`.
fn type_of_item(items: &Value<'_>, depth: usize) -> Result<String> {
    const LONGEST: usize = 50;
    match items.get("type").and_then(Value::as_str) {
        Some(word @ ("string" | "number" | "boolean")) => Ok(word.into()),
        Some("integer") => Ok("number".into()),
        _ => {
            let inner = type_of(items, depth)?;
            let is_any = inner == "object | object" || inner.chars().count() > LONGEST;
            Ok(if is_any { "any".into() } else { inner })
        }
    }
}

// The spaces and line breaks below are those that the template leaves between its own lines.

fn one_of(variants: &[Value<'_>], depth: usize) -> Result<String> {
    let mut out = String::new();
    for (index, variant) in variants.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { " | \n" });
        out.push_str(&type_of(variant, depth)?);
        if is_true(variant.get("description")) {
            out.push_str(&format!("// {}", text(variant, "description")?));
        }
        if let Some(default) = variant.get("default") {
            out.push_str(&format!("{:20}// default: ", ""));
            to_json(&mut out, default);
        }
    }
    Ok(out)
}

fn object(schema: &Value<'_>, depth: usize) -> Result<String> {
    let Some(properties) = properties(Some(schema))? else { return Ok("object".into()) };
    let required = required(Some(schema))?;
    let mut out = String::from("{\n");
    for (index, (name, property)) in properties.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { ", " });
        let mark = if required.contains(name.as_ref()) { "" } else { "?" };
        out.push_str(&format!("{name}{mark}: \n{:16}{}", "", type_of(property, depth)?));
    }
    out.push('}');
    Ok(out)
}

/// Returns the properties of an object, if it has any.
fn properties<'s, 'a>(schema: Option<&'s Value<'a>>) -> Result<Option<Entries<'s, 'a>>> {
    let properties = schema.and_then(|schema| schema.get("properties"));
    match properties.filter(|it| is_true(Some(it))) {
        None => Ok(None),
        Some(properties) => Ok(Some(properties.as_map().ok_or("`properties` must be an object")?)),
    }
}

/// Returns the names of required properties.
fn required<'s>(schema: Option<&'s Value<'_>>) -> Result<HashSet<&'s str>> {
    match schema.and_then(|schema| schema.get("required")) {
        Some(required) if is_true(Some(required)) => {
            let names = required.as_list().ok_or("`required` must be an array")?;
            Ok(names.iter().filter_map(Value::as_str).collect())
        }
        _ => Ok(HashSet::new()),
    }
}

fn text<'s>(schema: &'s Value<'_>, key: &str) -> Result<&'s str> {
    schema.get(key).and_then(Value::as_str).ok_or_else(|| format!("`{key}` must be a string"))
}

fn list<'s, 'a>(schema: &'s Value<'a>, key: &str) -> Result<&'s [Value<'a>]> {
    match schema.get(key).map(|value| &value.data) {
        Some(Data::List(items)) => Ok(items),
        _ => Err(format!("`{key}` must be an array")),
    }
}
