//! Response formats, and the developer's text read back.

use std::borrow::Cow;

use super::content::{DeveloperContent, INSTRUCTIONS};
use crate::declare::TOOLS;
use crate::diagnostic::quote;
use crate::json::{Data, Json, JsonError, Value, write_value};
use crate::{Code, Diagnostic, Limits};

/// A form that the answer must have: a JSON Schema with a name.
///
/// The format asks the model for it, and does not make sure that it complies.
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
    /// Its name.
    pub name: Cow<'a, str>,
    /// What it is for.
    pub description: Option<Cow<'a, str>>,
    /// The JSON Schema of the answer.
    pub schema: Value<'a>,
}

/// The heading of the section that lists response formats.
const FORMATS: &str = "# Response Formats";

impl<'a> ResponseFormat<'a> {
    /// A response format without a description.
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

    /// Reads JSON that names response formats as OpenAI's APIs take them: `name`, `description` and
    /// `schema`, alone or as the `json_schema` of a `response_format`; or a list of such. One of type
    /// `text` asks for nothing. `strict` is how a service keeps to a schema; no text says that.
    ///
    /// # Errors
    ///
    /// What is wrong, and where: it is no JSON, a name or a schema is missing, a key is unknown or
    /// there twice.
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
    /// assert_eq!(found.unwrap_err().message, "a response format without a `name`");
    /// ```
    pub fn from_json(text: &'a str, limits: &Limits) -> Result<Vec<Self>, Box<Diagnostic>> {
        let mut json = Json::new(text, limits);
        let read = json.value().and_then(|value| json.end().map(|()| value));
        let value = read.map_err(|JsonError { span, message, limit }| {
            let code = if limit.is_some() { Code::Limit } else { Code::ParseJson };
            Box::new(code.at(span, message.into_owned()))
        })?;
        if let Some((key, span)) = json.take_duplicates().into_iter().next() {
            let text = format!("key {} is given twice", quote(&key));
            return Err(Box::new(Code::DuplicateKey.at(span, text)));
        }
        let formats = match value.data {
            Data::List(items) => items.into_iter().map(Self::from_value).collect(),
            _ => Ok(vec![Self::from_value(value)?]),
        };
        formats.map(|formats: Vec<_>| formats.into_iter().flatten().collect())
    }

    /// The response format that a value is; `None` for one that asks for text.
    fn from_value(value: Value<'a>) -> Result<Option<Self>, Box<Diagnostic>> {
        let span = value.span;
        if value.get("type").and_then(Value::as_str) == Some("text") {
            return Ok(None);
        }
        let missing = |what: &str| {
            let text = format!("a response format without a `{what}`");
            let help = "it has a `name`, a `schema`, and perhaps a `description`";
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
                // How a service keeps to the schema, which no text says.
                ("strict", Data::Bool(_) | Data::Null) => {}
                ("type", Data::String(kind)) if kind == "json_schema" => {}
                (key, _) => {
                    let text = format!("{} is no key of a response format", quote(key));
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

    /// The same response format, owning its text.
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

    /// The section that lists these. `None` if there are none.
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

    /// Reads what follows the heading of the section. `None` if it is no list of response formats.
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

/// The text of a developer message, section by section.
#[derive(Debug, Default)]
pub(crate) struct Sections<'a> {
    pub(crate) instructions: Option<&'a str>,
    /// Declarations of tools, as they are written.
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

/// What stands before the last section with this heading, and what stands below the heading.
fn last_section<'t>(text: &'t str, heading: &str) -> Option<(&'t str, &'t str)> {
    let (before, section) = text.rsplit_once(heading)?;
    let before = if before.is_empty() { before } else { before.strip_suffix("\n\n")? };
    Some((before, section))
}

impl<'a> DeveloperContent<'a> {
    /// Reads the text of a developer message back: its instructions and its response formats. Text
    /// without headings is instructions.
    ///
    /// Tools are left out: a declaration says less than the schema that it was made of.
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
