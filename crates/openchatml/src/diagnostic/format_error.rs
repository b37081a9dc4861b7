//! A format that lacks what is asked of it.

use std::fmt;

use super::UnknownName;

/// No format has this name, or a format lacks the form that an operation needs.
///
/// ```
/// use openchatml::{Format, FormatError, TextFormat};
///
/// let error = Format::OPENAI.text().unwrap_err();
/// assert_eq!(error.to_string(), "`openai` has no text form");
///
/// let error = "openchatml-7".parse::<TextFormat>().unwrap_err();
/// assert!(matches!(error, FormatError::Unknown(_)));
/// assert_eq!(error.to_string(), "no format is called `openchatml-7`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatError {
    /// No format has this name.
    Unknown(UnknownName),
    /// The format has no text form: it cannot be streamed, nor be written as token ids.
    NoText(String),
    /// The format has no JSON form.
    NoJson(String),
    /// No grammar of completions in the format can be made.
    NoGrammar(String),
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) => error.fmt(f),
            Self::NoText(format) => write!(f, "`{format}` has no text form"),
            Self::NoJson(format) => write!(f, "`{format}` has no JSON form"),
            Self::NoGrammar(format) => {
                write!(f, "there is no grammar of completions in `{format}`")
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
