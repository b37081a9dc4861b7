//! Texts that contain environment variables.

use std::env::VarError;

use super::error::{ConfigError, Location};

/// A text in which `${NAME}` stands for a variable of the environment, and `$$` for `$`.
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

    /// The values of its variables that are set: secrets, as far as anybody knows.
    #[cfg(all(unix, feature = "mcp"))]
    pub(super) fn values(&self) -> impl Iterator<Item = String> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Variable(name) => std::env::var(name).ok(),
        })
    }

    /// The text with the variables of the environment.
    pub(super) fn fill(&self) -> Result<String, ConfigError> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Variable(name) => match std::env::var(name) {
                    Ok(value) => text.push_str(&value),
                    // What it is instead is a secret as well.
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
