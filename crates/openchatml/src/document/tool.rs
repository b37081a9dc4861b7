//! Declarations of tools.

use super::DocumentReader;
use crate::json::{Data, Value};
use crate::lex::spells_token;
use crate::model::Tool;
use crate::{Code, Span};

/// Returns the tool that an object declares as a function.
pub(crate) fn function_of<'a>(
    reader: &mut DocumentReader<'_>,
    value: Value<'a>,
) -> Option<Tool<'a>> {
    let Data::Map(fields) = value.data else { return None };
    let mut tool = Tool::default();
    for (key, field) in fields {
        match (key.as_ref(), field.data) {
            ("name", Data::String(name)) => {
                check_name(reader, &name, field.span);
                tool.name = name;
            }
            ("description", Data::String(text)) => tool.description = Some(text),
            ("parameters", data) => {
                if !matches!(data, Data::Map(_) | Data::Bool(_)) {
                    let text = "the parameters of a function must be a JSON Schema";
                    let found = Code::CallSchema.at(field.span, text);
                    reader.report(found.help("write an object, or `true` to allow everything"));
                }
                tool.parameters = Some(Value { data, span: field.span });
            }
            (_, data) => tool.extra.push((key, Value { data, span: field.span })),
        }
    }
    if tool.name.is_empty() {
        reader.drop_item(Code::ParseJson.at(value.span, "the function has no `name`"));
        return None;
    }
    Some(tool)
}

/// Checks the name of a tool, because a call names its tool in a header.
fn check_name(reader: &mut DocumentReader<'_>, name: &str, span: Span) {
    let parts = |c: char| c.is_whitespace() || c.is_control();
    if name.contains(parts) || spells_token(name) {
        let found = Code::ParseHeader.at(span, "this tool name cannot be written in a header");
        reader.report(found.help("remove white space and control tokens from the name"));
    }
}
