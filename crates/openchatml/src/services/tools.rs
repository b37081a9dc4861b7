//! Declarations of tools in the JSON of services and data sets: functions in the form of Chat
//! Completions or Responses, as JSON or as a string with JSON.

use crate::document::{Sheet, function_of, write_tool};
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
    pub(crate) fn read(&mut self, sheet: &mut Sheet<'_>, json: &mut Json<'a>) -> Result<()> {
        if json.peek() == Some(b'"') {
            let (text, span) = json.string()?;
            self.spelled(sheet, &text, span);
            return Ok(());
        }
        sheet.array(json, |sheet, json| {
            if json.peek() != Some(b'{') {
                return sheet.wrong(json, "an object");
            }
            let tool = json.value()?;
            self.tool(sheet, tool);
            Ok(())
        })
    }

    /// Reads tools from a string with JSON.
    pub(crate) fn spelled(&mut self, sheet: &mut Sheet<'_>, text: &str, span: Span) {
        if text.trim().is_empty() {
            return;
        }
        let Some(value) = nested(sheet, text, span) else { return };
        let value = placed(value.into_owned(), span);
        match value.data {
            Data::Null => {}
            Data::List(tools) => tools.into_iter().for_each(|tool| self.tool(sheet, tool)),
            _ => self.tool(sheet, value),
        }
    }

    fn tool(&mut self, sheet: &mut Sheet<'_>, value: Value<'a>) {
        let Value { data, span } = value;
        let Data::Map(mut fields) = data else {
            return sheet.drop_item(Code::ParseJson.at(span, "a tool must be an object"));
        };
        let place = |key: &str| fields.iter().position(|field| field.0 == key);
        // A tool of another service, even if detection did not read this far.
        let of_this = ["parameters", "function"].iter().any(|key| place(key).is_some());
        if place("input_schema").is_some() && !of_this {
            let found = Code::ParseJson.at(span, "this format has no tools with `input_schema`");
            return sheet.drop_item(found.help("rename `input_schema` to `parameters`"));
        }
        let kind = place("type");
        let is_function = kind.is_none_or(|at| fields[at].1.as_str() == Some("function"));
        match place("function") {
            Some(at) if is_function => {
                let function = fields.swap_remove(at).1;
                for (key, _) in fields.iter().filter(|field| field.0 != "type") {
                    sheet.unknown_key(key, &["type", "function"], span);
                }
                match function.data {
                    Data::Map(_) => self.functions.extend(function_of(sheet, function)),
                    _ => sheet.drop_value(Code::ParseJson.at(function.span, "expected an object")),
                }
            }
            None if is_function => {
                fields.retain(|field| field.0 != "type");
                let function = Value { data: Data::Map(fields), span };
                self.functions.extend(function_of(sheet, function));
            }
            _ => self.hosted.push(Value { data: Data::Map(fields), span }),
        }
    }
}

/// Parses a string with JSON. Places are those in the string.
pub(crate) fn nested<'t>(sheet: &mut Sheet<'_>, text: &'t str, span: Span) -> Option<Value<'t>> {
    let mut json = sheet.json(text);
    let read = json.value().and_then(|value| json.end().map(|()| value));
    for (key, _) in json.take_duplicates() {
        sheet.repeated(&key, span);
    }
    for (_, repair) in json.take_repaired() {
        sheet.repaired(span, repair, "in the JSON of this string: ");
    }
    match read {
        Ok(value) => Some(value),
        Err(error) => {
            let message = format!("the string is not valid JSON: {}", error.message).into();
            sheet.error(JsonError { span, message, limit: error.limit });
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
