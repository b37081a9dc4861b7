//! A name that nothing has.

use std::fmt;

/// A name that stands for nothing.
///
/// ```
/// use openchatml::Format;
///
/// let error = "openchatml-7".parse::<Format>().unwrap_err();
/// assert_eq!(error.to_string(), "no format is called `openchatml-7`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    name: String,
}

impl UnknownName {
    pub(crate) fn new(what: &'static str, name: &str) -> Self {
        Self { what, name: name.to_owned() }
    }

    /// The name, as it was given.
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
        write!(f, "no {} is called {}", self.what, super::quote(&self.name))
    }
}

impl std::error::Error for UnknownName {}
