//! Declarations of tools as text for models.

mod elements;
mod namespace;
mod place;
mod schema;
mod types;
mod typescript;

pub(crate) use self::elements::{ElementOrder, PARAMETER_CALLS, elements, elements_say_all};
pub use self::namespace::Namespace;
pub(crate) use self::namespace::{FUNCTIONS, TOOLS, tools_section};
pub use self::place::ToolPlace;
pub(crate) use self::place::{full_functions, whole_function};
pub(crate) use self::schema::{is_break, lines, literal, one_line};
pub(crate) use self::types::{Step, Types, declares};
pub use self::typescript::typescript;

use crate::model::Tool;

/// Whether a declaration expresses the whole tool: every keyword of its schema, and no additional
/// field such as `strict`.
pub(crate) fn says_all(tool: &Tool<'_>, style: Style) -> bool {
    let schema = tool.parameters.as_ref();
    tool.extra.is_empty() && schema.is_none_or(|schema| typescript(schema, style).1.is_empty())
}

/// Returns the first name of a tool that is not only a name in a declaration that is text: a model
/// could read it as another declaration.
pub(crate) fn unwritable_name<'t>(tools: &'t [Tool<'_>]) -> Option<&'t str> {
    let is_of_name = |c: char| c.is_alphanumeric() || "_-.:/@$".contains(c);
    let is_name = |name: &&str| name.chars().all(is_of_name) && !name.contains("//");
    tools.iter().map(|tool| &*tool.name).find(|name| !is_name(name))
}

/// The style of a schema.
///
/// ```
/// use openchatml::declare::{Style, typescript};
/// use openchatml::{Data, Value};
///
/// let one = |kind: &'static str| Value::from(Data::Map(vec![("type".into(), kind.into())]));
/// let either = Data::Map(vec![("anyOf".into(), Data::List(vec![one("string"), one("null")]).into())]);
/// assert_eq!(typescript(&either.clone().into(), Style::Documented).0, "string | null");
/// assert_eq!(typescript(&either.into(), Style::Reference).0, "any");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Style {
    /// Expresses everything that a type can, in the format of Harmony's documentation.
    #[default]
    Documented,
    /// Writes the same as the reference renderer, including its peculiarities: `anyOf`, `$ref`,
    /// `const` and numbers in `enum` become `any` or are dropped, an array of alternatives has no
    /// parentheses, and the second line of a description is outside of its comment.
    Reference,
}

/// A keyword of a schema that the type does not express, and the JSON pointer of its schema.
///
/// ```
/// use openchatml::declare::{Style, Unsaid, typescript};
/// use openchatml::{Data, Value};
///
/// let schema = Data::Map(vec![
///     ("type".into(), "string".into()),
///     ("minLength".into(), Value::from(Data::Number("1".into()))),
/// ]);
/// let (text, unsaid) = typescript(&schema.into(), Style::Documented);
/// assert_eq!(text, "string");
/// let [Unsaid { pointer, keyword, .. }] = &unsaid[..] else { panic!("one keyword") };
/// assert_eq!((pointer.as_str(), keyword.as_str()), ("", "minLength"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsaid {
    /// The place, from the root of the schema (RFC 6901).
    pub pointer: String,
    /// The keyword. `schema` means that the value is not a schema, `depth` means that it is nested
    /// too deeply.
    pub keyword: String,
}
