//! What is wrong with a file of tools, and where.

use std::fmt;
use std::ops::Range;

use openchatml::Lines;

/// What is wrong with a file of tools.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigError {
    /// The bytes that are wrong.
    pub span: Range<usize>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The key, if it is one, as the file could have it: `tools.weather.command`, `tools."a b"`.
    pub key: String,
    /// What is wrong, and what was expected.
    pub message: String,
    /// The server that somebody has to log in at first: `tickets` of `[mcp.tickets]`.
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

/// Where something stands in the file, for what is found wrong after it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    span: Range<usize>,
    line: usize,
    column: usize,
    key: String,
}

impl Place {
    pub(super) fn new(lines: &Lines<'_>, span: Range<usize>, key: impl Into<String>) -> Self {
        let location = lines.locate(span.start);
        Self { span, line: location.line, column: location.column, key: key.into() }
    }

    /// The beginning of the file.
    #[cfg(all(unix, feature = "oauth"))]
    pub(super) fn start() -> Self {
        Self { line: 1, column: 1, ..Self::default() }
    }

    /// The key, as the file could have it.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn error(&self, message: impl Into<String>) -> ConfigError {
        let Self { span, line, column, key } = self.clone();
        ConfigError { span, line, column, key, message: message.into(), needs_login: None }
    }
}
