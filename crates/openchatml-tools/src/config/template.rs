//! Texts that contain environment variables.

use std::env::VarError;

use super::error::{ConfigError, Location};

/// A text in which `${NAME}` is replaced by an environment variable, and `$$` by `$`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<Part>,
    location: Location,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(String),
}

impl Template {
    pub(super) fn parse(mut text: &str, location: Location) -> Result<Self, ConfigError> {
        let mut parts = Vec::new();
        while let Some((before, after)) = text.split_once('$') {
            parts.push(Part::Text(before.into()));
            if let Some(rest) = after.strip_prefix('$') {
                parts.push(Part::Text("$".into()));
                text = rest;
                continue;
            }
            let named = after.strip_prefix('{').and_then(|after| after.split_once('}'));
            let is_letter = |it: char| it.is_ascii_alphanumeric() || it == '_';
            match named {
                Some((name, rest)) if !name.is_empty() && name.chars().all(is_letter) => {
                    parts.push(Part::Variable(name.into()));
                    text = rest;
                }
                _ => {
                    return Err(location
                        .error("`$` must be followed by `{NAME}`; write `$$` for a dollar sign"));
                }
            }
        }
        parts.push(Part::Text(text.into()));
        Ok(Self { parts, location })
    }

    /// Returns the values of its variables. They are treated as secrets.
    #[cfg(any(feature = "http", all(unix, feature = "process")))]
    pub(super) fn values(&self) -> impl Iterator<Item = String> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Variable(name) => std::env::var(name).ok(),
        })
    }

    /// Fills in the environment variables.
    pub(super) fn fill(&self) -> Result<String, ConfigError> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Variable(name) => match std::env::var(name) {
                    Ok(value) => text.push_str(&value),
                    // The error does not contain the value, because it may be a secret.
                    Err(VarError::NotUnicode(_)) => {
                        return Err(self.location.error(format!("variable `{name}` is not UTF-8")));
                    }
                    Err(VarError::NotPresent) => {
                        return Err(self.location.error(format!("variable `{name}` is not set")));
                    }
                },
            }
        }
        Ok(text)
    }
}
