//! What a grammar does not say.

use std::fmt;

/// Something that was asked for and that the grammar does not say: it accepts more than it should,
/// or lacks a tool.
///
/// ```
/// use openchatml_grammars::{Language, Unsaid, What, grammar};
/// use openchatml::{Limits, Reply, TextFormat, Tool};
/// use openchatml::harmony::Namespace;
///
/// let body = r#"{"ok":true,"content":{"type":"object","properties":{"n":{"multipleOf":3}}}}"#;
/// let parameters = Reply::parse(body, &Limits::default()).unwrap().content;
/// let tool = Tool::new("f").with_parameters(parameters.unwrap());
/// let tools = [Namespace::functions(vec![tool])];
/// let grammar = grammar(TextFormat::HARMONY, &tools, Language::Gbnf, &Default::default())?;
/// let multiple = What::Keyword("multipleOf".into());
/// let found = grammar.unsaid.iter().find(|unsaid| unsaid.what == multiple).unwrap();
/// assert_eq!(found.to_string(), "functions.f at /properties/n: `multipleOf` is not enforced");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsaid {
    /// The recipient of the calls that it concerns, or `final`; empty if it concerns all messages.
    pub part: String,
    /// Where in the schema of the part, from its root (RFC 6901).
    pub pointer: String,
    /// What.
    pub what: What,
}

/// What a grammar does not say.
///
/// ```
/// use openchatml_grammars::What;
///
/// assert_eq!(What::Keyword("pattern".into()).to_string(), "`pattern` is not enforced");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// What this keyword of a JSON Schema demands.
    Keyword(String),
    /// What stands deeper in a schema than [`Options::depth`](crate::Options::depth).
    Depth,
    /// What a schema says beyond [`Options::nodes`](crate::Options::nodes).
    Size,
    /// A tool that cannot be called: no header can hold its name.
    Name,
    /// A tool that cannot be called: its schema allows no arguments.
    Nothing,
    /// A tool that cannot be called: it takes text, and the calls of the format take JSON.
    Text,
    /// Text before a call: an engine cannot tell it from an answer that has a schema.
    Preamble,
    /// Tools: the format has no calls.
    Calls,
    /// That no two calls may have the same `call_id`.
    CallId,
    /// Which token ends the completion: the engine takes any of its own.
    Stop,
    /// That JSON strings hold no control tokens.
    Controls,
}

impl Unsaid {
    pub(crate) fn new(part: &str, what: What) -> Self {
        Self { part: part.to_owned(), pointer: String::new(), what }
    }

    pub(crate) fn at(pointer: String, what: What) -> Self {
        Self { part: String::new(), pointer, what }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keyword(keyword) => return write!(f, "`{keyword}` is not enforced"),
            Self::Depth => "the schema is too deep, anything is accepted",
            Self::Size => "the schema is too large, anything is accepted",
            Self::Name => "no header can hold this name, the tool is left out",
            Self::Nothing => "the schema allows nothing, the tool is left out",
            Self::Text => {
                "the tool takes text, but a call in this format takes JSON; the tool is left out"
            }
            Self::Preamble => "no text may stand before a call, because the answer has a schema",
            Self::Calls => "the format has no calls, the tools are left out",
            Self::CallId => "call_id may be one that was given before",
            Self::Stop => "any stop token of the engine ends the completion",
            Self::Controls => "JSON strings may hold control tokens",
        })
    }
}

impl fmt::Display for Unsaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, pointer, what } = self;
        match (part.is_empty(), pointer.is_empty()) {
            (true, true) => what.fmt(f),
            (false, true) => write!(f, "{part}: {what}"),
            (true, false) => write!(f, "at {pointer}: {what}"),
            (false, false) => write!(f, "{part} at {pointer}: {what}"),
        }
    }
}
