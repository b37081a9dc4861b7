//! Why there is no grammar.

use std::fmt;

use openchatml::Format;

/// There is no grammar for what was asked for.
///
/// ```
/// use openchatml_grammars::{Language, grammar};
///
/// let error = grammar("chatml:json".parse()?, &[], Language::Lark, &Default::default());
/// assert_eq!(error.unwrap_err().to_string(), "there are no grammars of `chatml:json`");
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrammarError {
    /// Completions are not written in this format.
    Format(Format),
    /// The completion is to end in a call, and no tool can be called.
    NoCall,
    /// The completion is to end in a call of this tool, and there is none of this name.
    UnknownTool(String),
    /// The schema of the answer allows nothing.
    Nothing,
    /// More messages must stand before the last one than may.
    Before,
}

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(format) => write!(f, "there are no grammars of `{format}`"),
            Self::NoCall => f.write_str("a call is required, and no tool can be called"),
            Self::UnknownTool(name) => write!(f, "no tool is called `{}`", name.escape_debug()),
            Self::Before => {
                f.write_str("more messages are required before the last one than are allowed")
            }
            Self::Nothing => f.write_str("the schema of the answer allows nothing"),
        }
    }
}

impl std::error::Error for GrammarError {}
