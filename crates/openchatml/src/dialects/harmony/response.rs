//! Response formats, and the developer's text read back.

use std::borrow::Cow;

use super::content::{DeveloperContent, INSTRUCTIONS, TOOLS};
use crate::Limits;
use crate::json::{Json, write_value};
use crate::model::Value;

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

    /// The section that lists these. `None` if there are none.
    pub(super) fn section(formats: &[Self]) -> Option<String> {
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
pub(super) struct Sections<'a> {
    pub(super) instructions: Option<&'a str>,
    /// Declarations of tools, as they are written.
    pub(super) tools: Option<&'a str>,
    pub(super) response_formats: Vec<ResponseFormat<'a>>,
}

impl<'a> Sections<'a> {
    pub(super) fn read(text: &'a str, limits: &Limits) -> Self {
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
