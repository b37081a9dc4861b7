//! Errors in a tools file, with their places.

use std::fmt;
use std::ops::Range;

use openchatml::Lines;

/// An error in a tools file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigError {
    /// The span of the error.
    pub span: Range<usize>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The key, if the error concerns one, as in the file: `tools.weather.command`, `tools."a b"`.
    pub key: String,
    /// The error, and the expected value.
    pub message: String,
    /// The server that requires a login first: `tickets` for `[mcp.tickets]`.
    pub needs_login: Option<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: ", self.line, self.column)?;
        if !self.key.is_empty() {
            write!(f, "`{}`: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}

/// A location in the file, for errors that are found after parsing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Location {
    span: Range<usize>,
    line: usize,
    column: usize,
    key: String,
}

impl Location {
    pub(super) fn new(lines: &Lines<'_>, span: Range<usize>, key: impl Into<String>) -> Self {
        let location = lines.locate(span.start);
        Self { span, line: location.line, column: location.column, key: key.into() }
    }

    /// The start of the file.
    #[cfg(all(unix, feature = "oauth"))]
    pub(super) fn start() -> Self {
        Self { line: 1, column: 1, ..Self::default() }
    }

    /// Returns the key as it is written in the file.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn error(&self, message: impl Into<String>) -> ConfigError {
        let Self { span, line, column, key } = self.clone();
        ConfigError { span, line, column, key, message: message.into(), needs_login: None }
    }
}
