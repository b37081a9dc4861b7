//! One error type for all errors of the crate.

use std::fmt;

use crate::convert::OtherConversation;
use crate::{Diagnostic, FormatError, RenderError, UnknownName};

/// Any error of this crate, for functions with several operations that can fail.
///
/// Each operation returns its own error type. The operator `?` converts them to this one.
///
/// ```
/// use openchatml::{Error, Format, convert, parse};
///
/// fn to_openai(text: &str, format: &str) -> Result<String, Error> {
///     let document = parse(text, format.parse()?, &Default::default()).strict()?;
///     Ok(convert::convert(&document, Format::OPENAI, &Default::default())?.output)
/// }
///
/// let text = "<|im_start|>user\nHi!<|im_end|>\n";
/// assert!(to_openai(text, "chatml").is_ok());
/// assert!(matches!(to_openai(text, "mi"), Err(Error::Name(_))));
/// assert!(matches!(to_openai("<|im_start|>user\nHi", "chatml"), Err(Error::Invalid(_))));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A name is unknown.
    Name(UnknownName),
    /// A format does not have the required form.
    Format(FormatError),
    /// The input is invalid.
    Invalid(Box<Diagnostic>),
    /// The format cannot express the document.
    Render(RenderError),
    /// A sidecar belongs to another conversation.
    Sidecar(OtherConversation),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(f),
            Self::Format(error) => error.fmt(f),
            Self::Invalid(error) => error.fmt(f),
            Self::Render(error) => error.fmt(f),
            Self::Sidecar(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<UnknownName> for Error {
    fn from(error: UnknownName) -> Self {
        Self::Name(error)
    }
}

impl From<FormatError> for Error {
    fn from(error: FormatError) -> Self {
        Self::Format(error)
    }
}

impl From<Diagnostic> for Error {
    fn from(error: Diagnostic) -> Self {
        Self::Invalid(Box::new(error))
    }
}

impl From<Box<Diagnostic>> for Error {
    fn from(error: Box<Diagnostic>) -> Self {
        Self::Invalid(error)
    }
}

impl From<RenderError> for Error {
    fn from(error: RenderError) -> Self {
        Self::Render(error)
    }
}

impl From<OtherConversation> for Error {
    fn from(error: OtherConversation) -> Self {
        Self::Sidecar(error)
    }
}
