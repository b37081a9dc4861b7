//! Why a response template cannot be used.

use std::fmt;

/// The error of an invalid response template. It names the field and the key.
///
/// ```
/// use openchatml_templates::ResponseTemplate;
///
/// let json = r#"{"fields": {"content": {"close_pattern": "(?=<end>)"}}}"#;
/// let error = ResponseTemplate::from_json(json).unwrap_err();
/// assert_eq!((error.field.as_deref(), error.key.as_deref()), (Some("content"), Some("close_pattern")));
/// assert!(error.to_string().contains("look-around"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseTemplateError {
    /// The name of the field, if the error is in one.
    pub field: Option<String>,
    /// The key, if the error is in its value.
    pub key: Option<String>,
    /// What is wrong, without a full stop.
    pub message: String,
}

impl ResponseTemplateError {
    /// Creates the error for the value of a key, or for the whole template.
    pub(super) fn new(key: Option<&str>, message: impl Into<String>) -> Self {
        Self { field: None, key: key.map(str::to_owned), message: message.into() }
    }

    /// Adds the name of the field.
    pub(super) fn in_field(self, field: &str) -> Self {
        Self { field: Some(field.to_owned()), ..self }
    }
}

impl fmt::Display for ResponseTemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("response template: ")?;
        if let Some(field) = &self.field {
            write!(f, "field `{}`: ", field.escape_debug())?;
        }
        if let Some(key) = &self.key {
            write!(f, "`{}`: ", key.escape_debug())?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ResponseTemplateError {}
