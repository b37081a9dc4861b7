//! Declarations of tools, as models read them.

mod namespace;
mod place;
mod schema;
mod typescript;

pub use self::namespace::Namespace;
pub(crate) use self::namespace::{FUNCTIONS, TOOLS, tools_section};
pub use self::place::ToolPlace;
pub(crate) use self::place::whole_function;
pub(crate) use self::schema::{is_break, lines, literal, one_line};
pub use self::typescript::typescript;

use crate::model::Tool;

/// Whether a declaration says all of a tool: every keyword of its schema, and no field such as
/// `strict` beside it.
pub(crate) fn says_all(tool: &Tool<'_>, style: Style) -> bool {
    let schema = tool.parameters.as_ref();
    tool.extra.is_empty() && schema.is_none_or(|schema| typescript(schema, style).1.is_empty())
}

/// In which way a schema is written.
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
    /// All that a type can say is said, in the format that Harmony's documentation describes.
    #[default]
    Documented,
    /// What the reference renderer writes, its habits included: `anyOf`, `$ref`, `const` and
    /// numbers in `enum` are `any` or left out, an array of alternatives lacks its parentheses, and
    /// the second line of a description leaves its comment.
    Reference,
}

/// A keyword of a schema that a type does not say, and the JSON pointer of the schema it is in.
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
    /// Where, from the root of the schema (RFC 6901).
    pub pointer: String,
    /// The keyword; `schema` for what is no schema, and `depth` below the limit on depth.
    pub keyword: String,
}
