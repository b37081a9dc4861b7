//! The error for an unknown name.

use std::fmt;

/// The name of no known format, code, dialect or carrier.
///
/// ```
/// use openchatml::Format;
///
/// let error = "harmny".parse::<Format>().unwrap_err();
/// assert_eq!(error.to_string(), "unknown format `harmny`; did you mean `harmony`?");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    name: String,
    meant: Option<&'static str>,
}

impl UnknownName {
    pub(crate) fn new(what: &'static str, name: &str) -> Self {
        Self { what, name: name.to_owned(), meant: None }
    }

    /// Proposes the most similar of the known names.
    pub(crate) fn among(mut self, known: &[&'static str]) -> Self {
        self.meant = super::similar::similar(&self.name, known);
        self
    }

    /// Returns the unknown name.
    ///
    /// ```
    /// use openchatml::Format;
    ///
    /// let error = "openchatml-7".parse::<Format>().unwrap_err();
    /// assert_eq!(error.name(), "openchatml-7");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} {}", self.what, super::quote(&self.name))?;
        match self.meant {
            Some(meant) => write!(f, "; did you mean {}?", super::quote(meant)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownName {}
