//! The error for an unknown format, or for a missing form of a format.

use std::fmt;

use super::UnknownName;

/// The error for an unknown format, or for a format without the form that an operation requires.
///
/// ```
/// use openchatml::{Format, FormatError, TextFormat};
///
/// let error = Format::OPENAI.text().unwrap_err();
/// assert_eq!(error.to_string(), "`openai` has no text form");
///
/// let error = "wizard".parse::<TextFormat>().unwrap_err();
/// assert!(matches!(error, FormatError::Unknown(_)));
/// assert_eq!(error.to_string(), "unknown format `wizard`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatError {
    /// The format is unknown.
    Unknown(UnknownName),
    /// The format has no text form, so it has no streams and no token ids.
    NoText(String),
    /// The format has no JSON form.
    NoJson(String),
    /// The library cannot make a grammar of completions in the format.
    NoGrammar(String),
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) => error.fmt(f),
            Self::NoText(format) => write!(f, "`{format}` has no text form"),
            Self::NoJson(format) => write!(f, "`{format}` has no JSON form"),
            Self::NoGrammar(format) => {
                write!(f, "cannot make a grammar of completions in `{format}`")
            }
        }
    }
}

impl std::error::Error for FormatError {}

impl From<UnknownName> for FormatError {
    fn from(error: UnknownName) -> Self {
        Self::Unknown(error)
    }
}
