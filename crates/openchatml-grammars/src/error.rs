//! Errors of grammars.

use std::fmt;

use openchatml::FormatError;

/// The error if there is no grammar for a format and its options.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml_grammars::{Choice, Language, Options, grammar};
///
/// let mut options = Options::default();
/// options.choice = Choice::Required;
/// let error = grammar(TextFormat::HARMONY, &[], Language::Lark, &options).unwrap_err();
/// assert_eq!(error.to_string(), "a call is required, but no tool can be called");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrammarError {
    /// There are no grammars for this format.
    Format(FormatError),
    /// A call is required, but no tool can be called.
    NoCall,
    /// A call of this tool is required, but there is no tool with this name.
    UnknownTool(String),
    /// The schema of the answer allows no value.
    Nothing,
    /// The options require more messages before the last one than they allow.
    Before,
}

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(error) => error.fmt(f),
            Self::NoCall => f.write_str("a call is required, but no tool can be called"),
            Self::UnknownTool(name) => write!(f, "unknown tool `{}`", name.escape_debug()),
            Self::Before => {
                f.write_str("the options require more messages before the last one than they allow")
            }
            Self::Nothing => f.write_str("the schema of the answer allows no value"),
        }
    }
}

impl std::error::Error for GrammarError {}

impl From<FormatError> for GrammarError {
    fn from(error: FormatError) -> Self {
        Self::Format(error)
    }
}
