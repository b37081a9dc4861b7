//! Declarations of tools in the JSON of services and data sets: functions in the form of Chat
//! Completions or Responses, as JSON or as a string with JSON.

use crate::document::{DocumentReader, function_of, write_tool};
use crate::json::{Data, Json, JsonError, Value, write_value};
use crate::model::Tool;
use crate::{Code, Span};

type Result<T> = std::result::Result<T, JsonError>;

/// The tools that a document declares.
#[derive(Debug, Default)]
pub(crate) struct Declared<'a> {
    pub(crate) functions: Vec<Tool<'a>>,
    /// Other kinds of tools, unchanged.
    pub(crate) hosted: Vec<Value<'a>>,
}

impl<'a> Declared<'a> {
    /// Reads the value of `tools`.
    pub(crate) fn read(
        &mut self,
        reader: &mut DocumentReader<'_>,
        json: &mut Json<'a>,
    ) -> Result<()> {
        if json.peek() == Some(b'"') {
            let (text, span) = json.string()?;
            self.spelled(reader, &text, span);
            return Ok(());
        }
        reader.array(json, |reader, json| {
            if json.peek() != Some(b'{') {
                return reader.wrong(json, "an object");
            }
            let tool = json.value()?;
            self.tool(reader, tool);
            Ok(())
        })
    }

    /// Reads tools from a string with JSON.
    pub(crate) fn spelled(&mut self, reader: &mut DocumentReader<'_>, text: &str, span: Span) {
        if text.trim().is_empty() {
            return;
        }
        let Some(value) = nested(reader, text, span) else { return };
        let value = placed(value.into_owned(), span);
        match value.data {
            Data::Null => {}
            Data::List(tools) => tools.into_iter().for_each(|tool| self.tool(reader, tool)),
            _ => self.tool(reader, value),
        }
    }

    fn tool(&mut self, reader: &mut DocumentReader<'_>, value: Value<'a>) {
        let Value { data, span } = value;
        let Data::Map(mut fields) = data else {
            return reader.drop_item(Code::ParseJson.at(span, "a tool must be an object"));
        };
        let place = |key: &str| fields.iter().position(|field| field.0 == key);
        // A tool of another service, even if detection did not read this far.
        let of_this = ["parameters", "function"].iter().any(|key| place(key).is_some());
        if place("input_schema").is_some() && !of_this {
            let found = Code::ParseJson.at(span, "this format has no tools with `input_schema`");
            return reader.drop_item(found.help("rename `input_schema` to `parameters`"));
        }
        let kind = place("type");
        let is_function = kind.is_none_or(|at| fields[at].1.as_str() == Some("function"));
        match place("function") {
            Some(at) if is_function => {
                let function = fields.swap_remove(at).1;
                for (key, _) in fields.iter().filter(|field| field.0 != "type") {
                    reader.unknown_key(key, &["type", "function"], span);
                }
                match function.data {
                    Data::Map(_) => self.functions.extend(function_of(reader, function)),
                    _ => reader.drop_value(Code::ParseJson.at(function.span, "expected an object")),
                }
            }
            None if is_function => {
                fields.retain(|field| field.0 != "type");
                let function = Value { data: Data::Map(fields), span };
                self.functions.extend(function_of(reader, function));
            }
            _ => self.hosted.push(Value { data: Data::Map(fields), span }),
        }
    }
}

/// Parses a string with JSON. Places are those in the string.
pub(crate) fn nested<'t>(
    reader: &mut DocumentReader<'_>,
    text: &'t str,
    span: Span,
) -> Option<Value<'t>> {
    let mut json = reader.json(text);
    let read = json.value().and_then(|value| json.end().map(|()| value));
    for (key, _) in json.take_duplicates() {
        reader.repeated(&key, span);
    }
    for (_, repair) in json.take_repaired() {
        reader.repaired(span, repair, "in the JSON of this string: ");
    }
    match read {
        Ok(value) => Some(value),
        Err(error) => {
            let message = format!("the string is not valid JSON: {}", error.message).into();
            reader.error(JsonError { span, message, limit: error.limit });
            None
        }
    }
}

/// Sets all places of a value to `span`.
fn placed(mut value: Value<'_>, span: Span) -> Value<'_> {
    value.span = span;
    value.data = match value.data {
        Data::List(items) => Data::List(items.into_iter().map(|it| placed(it, span)).collect()),
        Data::Map(fields) => {
            Data::Map(fields.into_iter().map(|(key, value)| (key, placed(value, span))).collect())
        }
        data => data,
    };
    value
}

/// Writes the list of tools.
pub(crate) fn write(out: &mut String, functions: &[Tool<'_>], hosted: &[Value<'_>]) {
    let mut comma = "";
    out.push('[');
    for tool in functions {
        out.push_str(std::mem::replace(&mut comma, ","));
        write_tool(out, tool);
    }
    for tool in hosted {
        out.push_str(std::mem::replace(&mut comma, ","));
        write_value(out, tool);
    }
    out.push(']');
}
