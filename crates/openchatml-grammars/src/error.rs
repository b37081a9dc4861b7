//! Why there is no grammar.

use std::fmt;

use openchatml::FormatError;

/// There is no grammar for what was asked for.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml_grammars::{Choice, Language, Options, grammar};
///
/// let mut options = Options::default();
/// options.choice = Choice::Required;
/// let error = grammar(TextFormat::HARMONY, &[], Language::Lark, &options).unwrap_err();
/// assert_eq!(error.to_string(), "a call is required, and no tool can be called");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrammarError {
    /// No grammar can be made of completions in this format.
    Format(FormatError),
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
            Self::Format(error) => error.fmt(f),
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

impl From<FormatError> for GrammarError {
    fn from(error: FormatError) -> Self {
        Self::Format(error)
    }
}
