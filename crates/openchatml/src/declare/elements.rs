//! Declares tools as elements of XML, with instructions for calls whose arguments are parameters.

use crate::json::{Data, Value, python};
use crate::model::Tool;

/// The order of the keys of schemas. All others are written in the order of the schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementOrder {
    /// The key of a property that follows its description.
    pub(crate) first: Option<&'static str>,
    /// The key of a schema that follows all others.
    pub(crate) last: Option<&'static str>,
}

/// Returns the declaration of tools, and how to call them.
pub(crate) fn elements(tools: &[Tool<'_>], order: ElementOrder) -> String {
    let mut text =
        String::from("# Tools\n\nYou have access to the following functions:\n\n<tools>");
    for tool in tools {
        text.push_str("\n<function>");
        element(&mut text, "name", &tool.name);
        if let Some(description) = &tool.description {
            element(&mut text, "description", description.trim());
        }
        text.push_str("\n<parameters>");
        if let Some(schema) = &tool.parameters {
            let properties = schema.get("properties").and_then(Value::as_map);
            for (name, property) in properties.into_iter().flatten() {
                parameter(&mut text, name, property, order.first);
            }
            let last = order.last;
            other_elements(&mut text, schema, |key| {
                ["type", "properties"].contains(&key) || last == Some(key)
            });
            if let Some((key, value)) = last.and_then(|key| Some((key, schema.get(key)?))) {
                element(&mut text, key, &written(value));
            }
        }
        text.push_str("\n</parameters>");
        for (key, value) in &tool.extra {
            element(&mut text, key, &written(value));
        }
        text.push_str("\n</function>");
    }
    text.push_str("\n</tools>\n\n");
    text.push_str(PARAMETER_CALLS);
    text
}

/// Whether elements contain all of a declaration: they contain only the entries of mappings, and say of
/// no schema that it is one of an object.
pub(crate) fn elements_say_all(tool: &Tool<'_>) -> bool {
    let is_map = |value: &Value<'_>| value.as_map().is_some();
    let schema = tool.parameters.as_ref();
    let properties = schema.and_then(|schema| schema.get("properties"));
    let each = properties.and_then(Value::as_map).unwrap_or_default();
    let kind = schema.and_then(|schema| schema.get("type"));
    schema.is_none_or(is_map)
        && kind.is_none_or(|kind| kind.as_str() == Some("object"))
        && properties.is_none_or(is_map)
        && each.iter().all(|(_, property)| is_map(property))
}

fn parameter(text: &mut String, name: &str, schema: &Value<'_>, first: Option<&str>) {
    text.push_str("\n<parameter>");
    element(text, "name", name);
    if let Some(kind) = schema.get("type") {
        element(text, "type", &to_string(kind));
    }
    if let Some(description) = schema.get("description") {
        element(text, "description", to_string(description).trim());
    }
    if let Some((key, value)) = first.and_then(|key| Some((key, schema.get(key)?))) {
        element(text, key, &written(value));
    }
    other_elements(text, schema, |key| {
        ["name", "type", "description"].contains(&key) || first == Some(key)
    });
    text.push_str("\n</parameter>");
}

/// Writes the other keys of a mapping as elements.
fn other_elements(text: &mut String, mapping: &Value<'_>, is_written: impl Fn(&str) -> bool) {
    for (key, value) in mapping.as_map().into_iter().flatten() {
        if !is_written(key) {
            element(text, key, &written(value));
        }
    }
}

fn element(text: &mut String, name: &str, content: &str) {
    for part in ["\n<", name, ">", content, "</", name, ">"] {
        text.push_str(part);
    }
}

/// Returns a value as the template writes it: as JSON if it is a list or a mapping.
fn written(value: &Value<'_>) -> String {
    match value.data {
        Data::List(_) | Data::Map(_) => {
            let mut json = String::new();
            python::to_json(&mut json, value);
            json
        }
        _ => to_string(value),
    }
}

/// How to call tools whose arguments are parameters.
pub(crate) const PARAMETER_CALLS: &str = "\
If you choose to call a function ONLY reply in the following format with NO suffix:

<tool_call>
<function=example_function_name>
<parameter=example_parameter_1>
value_1
</parameter>
<parameter=example_parameter_2>
This is the value for the second parameter
that can span
multiple lines
</parameter>
</function>
</tool_call>

<IMPORTANT>
Reminder:
- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested within <tool_call></tool_call> XML tags
- Required parameters MUST be specified
- You may provide optional reasoning for your function call in natural language BEFORE the function call, but NOT after
- If there is no function call available, answer the question like normal with your current knowledge and do not tell the user about function calls
</IMPORTANT>";

/// Writes a value like `str`, also a list and a mapping.
fn to_string(value: &Value<'_>) -> String {
    python::to_text(value).unwrap_or_else(|| {
        let mut out = String::new();
        write_repr(&mut out, value);
        out
    })
}

/// Writes a value like `repr`. Characters that cannot be printed are written as they are.
fn write_repr(out: &mut String, value: &Value<'_>) {
    match &value.data {
        Data::String(text) => {
            let mark = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
            out.push(mark);
            for c in text.chars() {
                match c {
                    '\n' => out.push_str("\\n"),
                    '\r' => out.push_str("\\r"),
                    '\t' => out.push_str("\\t"),
                    _ => {
                        if c == mark || c == '\\' {
                            out.push('\\');
                        }
                        out.push(c);
                    }
                }
            }
            out.push(mark);
        }
        Data::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_repr(out, item);
            }
            out.push(']');
        }
        Data::Map(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_repr(out, &Value::from(&**key));
                out.push_str(": ");
                write_repr(out, value);
            }
            out.push('}');
        }
        _ => out.push_str(&python::to_text(value).unwrap_or_default()),
    }
}
