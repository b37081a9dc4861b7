//! Requirements that a grammar does not express.

use std::fmt;

/// A requirement that the grammar does not express: the grammar accepts more than it should, or a
/// tool is missing.
///
/// ```
/// use openchatml_grammars::{Language, Unenforced, Requirement, grammar};
/// use openchatml::{Limits, Reply, TextFormat, Tool};
/// use openchatml::harmony::Namespace;
///
/// let body = r#"{"ok":true,"content":{"type":"object","properties":{"n":{"multipleOf":3}}}}"#;
/// let parameters = Reply::parse(body, &Limits::default()).unwrap().content;
/// let tool = Tool::new("f").with_parameters(parameters.unwrap());
/// let tools = [Namespace::functions(vec![tool])];
/// let grammar = grammar(TextFormat::HARMONY, &tools, Language::Gbnf, &Default::default())?;
/// let multiple = Requirement::Keyword("multipleOf".into());
/// let found = grammar.unenforced.iter().find(|unenforced| unenforced.requirement == multiple).unwrap();
/// assert_eq!(found.to_string(), "functions.f at /properties/n: `multipleOf` is not enforced");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unenforced {
    /// The recipient of the affected calls, or `final`; empty if all messages are affected.
    pub part: String,
    /// The place in the schema of the part, as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// The requirement.
    pub requirement: Requirement,
}

/// A requirement that a grammar may not express.
///
/// ```
/// use openchatml_grammars::Requirement;
///
/// assert_eq!(Requirement::Keyword("pattern".into()).to_string(), "`pattern` is not enforced");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Requirement {
    /// The requirement of this JSON Schema keyword.
    Keyword(String),
    /// The parts of a schema that are nested deeper than [`Options::depth`](crate::Options::depth).
    Depth,
    /// The parts of a schema beyond [`Options::nodes`](crate::Options::nodes).
    Size,
    /// A tool that cannot be called, because its name is not allowed in a header.
    Name,
    /// A tool that cannot be called, because its schema allows no arguments.
    Nothing,
    /// A tool that cannot be called, because its input is text and the format supports only calls
    /// with JSON.
    Text,
    /// Text before a call, because an engine cannot distinguish it from an answer that has a
    /// schema.
    Preamble,
    /// Tools, because the format has no calls.
    Calls,
    /// The rule that each `call_id` is unique.
    CallId,
    /// The token that ends the completion: the engine accepts all of its end tokens.
    Stop,
    /// The rule that JSON strings contain no control tokens.
    Controls,
}

impl Unenforced {
    pub(crate) fn new(part: &str, requirement: Requirement) -> Self {
        Self { part: part.to_owned(), pointer: String::new(), requirement }
    }

    pub(crate) fn at(pointer: String, requirement: Requirement) -> Self {
        Self { part: String::new(), pointer, requirement }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keyword(keyword) => return write!(f, "`{keyword}` is not enforced"),
            Self::Depth => "the schema is too deep, so any value is accepted",
            Self::Size => "the schema is too large, so any value is accepted",
            Self::Name => "this name cannot be written in a header, so the tool is omitted",
            Self::Nothing => "the schema allows no value, so the tool is omitted",
            Self::Text => {
                "the tool requires text, but calls in this format contain JSON, so the tool is omitted"
            }
            Self::Preamble => "no text is allowed before a call, because the answer has a schema",
            Self::Calls => "the format has no calls, so the tools are omitted",
            Self::CallId => "a call_id can equal an earlier one",
            Self::Stop => "every stop token of the engine ends the completion",
            Self::Controls => "JSON strings can contain control tokens",
        })
    }
}

impl fmt::Display for Unenforced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, pointer, requirement } = self;
        match (part.is_empty(), pointer.is_empty()) {
            (true, true) => requirement.fmt(f),
            (false, true) => write!(f, "{part}: {requirement}"),
            (true, false) => write!(f, "at {pointer}: {requirement}"),
            (false, false) => write!(f, "{part} at {pointer}: {requirement}"),
        }
    }
}
