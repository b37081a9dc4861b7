//! Response formats, and parsing of the developer's text.

use std::borrow::Cow;

use super::content::{DeveloperContent, INSTRUCTIONS};
use crate::declare::TOOLS;
use crate::diagnostic::quote;
use crate::json::{Data, Json, JsonError, Value, write_value};
use crate::{Code, Diagnostic, Limits};

/// A required form of the answer: a JSON Schema with a name.
///
/// The prompt asks the model for this form, but does not enforce it.
///
/// ```
/// use openchatml::declare::Style;
/// use openchatml::harmony::{DeveloperContent, ResponseFormat};
/// use openchatml::{Data, Limits, Value};
///
/// let schema = Value::from(Data::Map(vec![("type".into(), "object".into())]));
/// let mut list = ResponseFormat::new("shopping_list", schema);
/// list.description = Some("What to buy.".into());
/// let mut developer = DeveloperContent::default();
/// developer.instructions = Some("You help with shopping.".into());
/// developer.response_formats = vec![list];
/// let text = developer.text(Style::Documented);
/// assert_eq!(text, "\
/// ## Instructions
///
/// You help with shopping.
///
/// ## Response Formats
///
/// ### shopping_list
///
/// // What to buy.
/// {\"type\":\"object\"}");
/// assert_eq!(DeveloperContent::read(&text, &Limits::default()), developer);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseFormat<'a> {
    /// The name.
    pub name: Cow<'a, str>,
    /// The description.
    pub description: Option<Cow<'a, str>>,
    /// The JSON Schema of the answer.
    pub schema: Value<'a>,
}

/// The heading of the section that lists response formats.
const FORMATS: &str = "# Response Formats";

impl<'a> ResponseFormat<'a> {
    /// Creates a response format without a description.
    ///
    /// ```
    /// use openchatml::harmony::ResponseFormat;
    /// use openchatml::{Data, Value};
    ///
    /// let format = ResponseFormat::new("anything", Value::from(Data::Map(Vec::new())));
    /// assert_eq!((format.name.as_ref(), format.description), ("anything", None));
    /// ```
    pub fn new(name: impl Into<Cow<'a, str>>, schema: Value<'a>) -> Self {
        Self { name: name.into(), description: None, schema }
    }

    /// Reads JSON with response formats as in OpenAI's APIs: `name`, `description` and `schema`,
    /// directly or as the `json_schema` of a `response_format`, or a list of them. A format of type
    /// `text` is ignored. `strict` is ignored too, because only a service can enforce it.
    ///
    /// # Errors
    ///
    /// The JSON is invalid, a name or a schema is missing, or a key is unknown or a duplicate.
    ///
    /// ```
    /// use openchatml::Limits;
    /// use openchatml::harmony::ResponseFormat;
    ///
    /// let json = r#"{"type": "json_schema",
    ///     "json_schema": {"name": "list", "schema": {"type": "array"}}}"#;
    /// let formats = ResponseFormat::from_json(json, &Limits::default()).unwrap();
    /// assert_eq!(formats[0].name, "list");
    /// let found = ResponseFormat::from_json(r#"{"type": "array"}"#, &Limits::default());
    /// assert_eq!(found.unwrap_err().message, "a response format must have a `name`");
    /// ```
    pub fn from_json(text: &'a str, limits: &Limits) -> Result<Vec<Self>, Box<Diagnostic>> {
        let mut json = Json::new(text, limits);
        let read = json.value().and_then(|value| json.end().map(|()| value));
        let value = read.map_err(|JsonError { span, message, limit }| {
            let code = if limit.is_some() { Code::Limit } else { Code::ParseJson };
            Box::new(code.at(span, message.into_owned()))
        })?;
        if let Some((key, span)) = json.take_duplicates().into_iter().next() {
            let text = format!("duplicate key {}", quote(&key));
            return Err(Box::new(Code::DuplicateKey.at(span, text)));
        }
        let formats = match value.data {
            Data::List(items) => items.into_iter().map(Self::from_value).collect(),
            _ => Ok(vec![Self::from_value(value)?]),
        };
        formats.map(|formats: Vec<_>| formats.into_iter().flatten().collect())
    }

    /// Reads a response format. Returns `None` for one that requests text.
    fn from_value(value: Value<'a>) -> Result<Option<Self>, Box<Diagnostic>> {
        let span = value.span;
        if value.get("type").and_then(Value::as_str) == Some("text") {
            return Ok(None);
        }
        let missing = |what: &str| {
            let text = format!("a response format must have a `{what}`");
            let help = "its keys are `name`, `schema` and, optionally, `description`";
            Box::new(Code::ParseJson.at(span, text).help(help))
        };
        let (mut name, mut description, mut schema) = (None, None, None);
        let (mut inner, mut unknown) = (None, None);
        let Data::Map(entries) = value.data else { return Err(missing("name")) };
        for (key, value) in entries {
            match (key.as_ref(), value.data) {
                ("json_schema", data @ Data::Map(_)) => {
                    inner = Some(Value { data, span: value.span })
                }
                ("name", Data::String(text)) if !text.contains('\n') => name = Some(text),
                ("description", Data::String(text)) => description = Some(text),
                ("schema", data) => schema = Some(Value { data, span: value.span }),
                // How a service enforces the schema, which text cannot express.
                ("strict", Data::Bool(_) | Data::Null) => {}
                ("type", Data::String(kind)) if kind == "json_schema" => {}
                (key, _) => {
                    let text = format!("unknown key {} in a response format", quote(key));
                    unknown.get_or_insert(Box::new(Code::UnknownKey.at(value.span, text)));
                }
            }
        }
        if let Some(inner) = inner {
            return unknown.map_or_else(|| Self::from_value(inner), Err);
        }
        let name = name.filter(|name| !name.is_empty()).ok_or_else(|| missing("name"))?;
        let schema = schema.ok_or_else(|| missing("schema"))?;
        if let Some(unknown) = unknown {
            return Err(unknown);
        }
        Ok(Some(Self { name, description, schema }))
    }

    /// Returns the response format with owned text.
    ///
    /// ```
    /// use openchatml::harmony::ResponseFormat;
    ///
    /// let line = String::from("list\n");
    /// let format = ResponseFormat::new(line.trim_end(), Default::default()).into_owned();
    /// drop(line);
    /// assert_eq!(format.name, "list");
    /// ```
    pub fn into_owned(self) -> ResponseFormat<'static> {
        ResponseFormat {
            name: self.name.into_owned().into(),
            description: self.description.map(|text| text.into_owned().into()),
            schema: self.schema.into_owned(),
        }
    }

    /// Writes the section with these formats, or returns `None` if there are none.
    pub(crate) fn section(formats: &[Self]) -> Option<String> {
        if formats.is_empty() {
            return None;
        }
        let mut out = String::from(FORMATS);
        for format in formats {
            out.push_str(&format!("\n\n## {}\n\n", format.name));
            for line in format.description.as_deref().unwrap_or_default().lines() {
                out.push_str(&format!("// {line}\n"));
            }
            write_value(&mut out, &format.schema);
        }
        Some(out)
    }

    /// Parses the text after the heading of the section. Returns `None` if it is not a list of
    /// response formats.
    fn read_all(mut text: &'a str, limits: &Limits) -> Option<Vec<Self>> {
        let mut formats = Vec::new();
        while !text.is_empty() {
            let (name, mut rest) = text.strip_prefix("\n\n## ")?.split_once("\n\n")?;
            let mut lines = Vec::new();
            while let Some((line, after)) =
                rest.strip_prefix("// ").and_then(|rest| rest.split_once('\n'))
            {
                lines.push(line);
                rest = after;
            }
            let mut json = Json::new(rest, limits);
            let schema = json.value().ok()?;
            let description = (!lines.is_empty()).then(|| lines.join("\n").into());
            formats.push(Self { name: name.into(), description, schema });
            text = json.rest();
        }
        (!formats.is_empty()).then_some(formats)
    }
}

/// The text of a developer message by section.
#[derive(Debug, Default)]
pub(crate) struct Sections<'a> {
    pub(crate) instructions: Option<&'a str>,
    /// The declarations of tools, as text.
    pub(crate) tools: Option<&'a str>,
    pub(crate) response_formats: Vec<ResponseFormat<'a>>,
}

impl<'a> Sections<'a> {
    pub(crate) fn read(text: &'a str, limits: &Limits) -> Self {
        let formats = last_section(text, FORMATS).and_then(|(before, section)| {
            Some((before, ResponseFormat::read_all(section, limits)?))
        });
        let (text, response_formats) = formats.unwrap_or((text, Vec::new()));
        let is_declaration = |section: &str| section.starts_with("\n\n## ");
        let tools = last_section(text, TOOLS).filter(|(_, section)| is_declaration(section));
        let (text, tools) = tools.map_or((text, None), |(before, tools)| (before, Some(tools)));
        let instructions = text.strip_prefix(INSTRUCTIONS).and_then(|it| it.strip_prefix("\n\n"));
        let instructions = instructions.or((!text.is_empty()).then_some(text));
        Self { instructions, tools, response_formats }
    }
}

/// Returns the text before the last section with this heading, and the text below the heading.
fn last_section<'t>(text: &'t str, heading: &str) -> Option<(&'t str, &'t str)> {
    let (before, section) = text.rsplit_once(heading)?;
    let before = if before.is_empty() { before } else { before.strip_suffix("\n\n")? };
    Some((before, section))
}

impl<'a> DeveloperContent<'a> {
    /// Parses the text of a developer message into instructions and response formats. Text without
    /// headings is instructions.
    ///
    /// Tools are not parsed: a declaration expresses less than its schema.
    ///
    /// ```
    /// use openchatml::Limits;
    /// use openchatml::declare::Style;
    /// use openchatml::harmony::DeveloperContent;
    ///
    /// let limits = Limits::default();
    /// let developer = DeveloperContent::read("Be brief.", &limits);
    /// assert_eq!(developer.text(Style::Documented), "# Instructions\n\nBe brief.");
    /// let text = "# Instructions\n\nBe brief.\n\n# Tools\n\n## functions\n\nnamespace functions {}";
    /// assert_eq!(DeveloperContent::read(text, &limits), developer);
    /// ```
    pub fn read(text: &'a str, limits: &Limits) -> Self {
        let Sections { instructions, response_formats, .. } = Sections::read(text, limits);
        let instructions = instructions.map(Cow::Borrowed);
        Self { instructions, tools: Vec::new(), response_formats }
    }
}
