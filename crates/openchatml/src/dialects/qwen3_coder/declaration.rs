//! Declares tools as the chat template does: as elements of XML.

use crate::json::{Data, Value, python};
use crate::model::Tool;

/// Returns the system message of a conversation with tools.
pub(super) fn declaration(system: &str, tools: &[Tool<'_>]) -> String {
    let mut text = system.to_owned();
    text.push_str("\n\n# Tools\n\nYou have access to the following functions:\n\n<tools>");
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
                parameter(&mut text, name, property);
            }
            other_elements(&mut text, schema, &["type", "properties"]);
        }
        text.push_str("\n</parameters>");
        for (key, value) in &tool.extra {
            element(&mut text, key, &written(value));
        }
        text.push_str("\n</function>");
    }
    text.push_str("\n</tools>\n\n");
    text.push_str(INSTRUCTIONS);
    text
}

fn parameter(text: &mut String, name: &str, schema: &Value<'_>) {
    text.push_str("\n<parameter>");
    element(text, "name", name);
    if let Some(kind) = schema.get("type") {
        element(text, "type", &to_string(kind));
    }
    if let Some(description) = schema.get("description") {
        element(text, "description", to_string(description).trim());
    }
    other_elements(text, schema, &["name", "type", "description"]);
    text.push_str("\n</parameter>");
}

/// Writes the other keys of a mapping as elements.
fn other_elements(text: &mut String, mapping: &Value<'_>, without: &[&str]) {
    for (key, value) in mapping.as_map().into_iter().flatten() {
        if !without.contains(&&**key) {
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

/// The instructions behind the tools.
const INSTRUCTIONS: &str = "\
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
