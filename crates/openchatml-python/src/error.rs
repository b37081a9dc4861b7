//! The exceptions of Python, made of the errors of the library.

use std::panic::{AssertUnwindSafe, catch_unwind};

use openchatml::{
    Code, Conversation, Diagnostic, Error, FormatError, Location, RenderError, Span, UnknownName,
};
use openchatml_grammars::GrammarError;
use openchatml_templates::TemplateError;
use openchatml_tokens::EncodingError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An exception before it is raised. The classes are in `_errors.py`.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    class: &'static str,
    message: String,
    code: Option<Code>,
    span: Option<Span>,
    place: Option<Location>,
    help: Option<String>,
    message_index: Option<usize>,
}

impl Failure {
    /// An exception of this class.
    pub(crate) fn new(class: &'static str, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), ..Self::default() }
    }

    /// The exception for a diagnostic.
    pub(crate) fn found(class: &'static str, found: &Diagnostic, place: Option<Location>) -> Self {
        Self {
            class,
            message: found.message.clone(),
            code: Some(found.code),
            span: Some(found.span),
            place,
            help: found.help.clone(),
            message_index: None,
        }
    }

    /// The exception for a document that a format cannot express.
    pub(crate) fn render(error: &RenderError, conversation: Option<&Conversation<'_>>) -> Self {
        let nothing = Conversation::default();
        let found = error.to_diagnostic(conversation.unwrap_or(&nothing));
        Self {
            message: error.to_string(),
            message_index: error.message,
            ..Self::found("RenderError", &found, None)
        }
    }

    /// The exception for a template.
    pub(crate) fn template(error: &TemplateError, conversation: &Conversation<'_>) -> Self {
        let found = error.to_diagnostic(conversation);
        let message_index = match &error.at {
            openchatml_templates::ErrorPlace::Content { message, .. } => *message,
            _ => None,
        };
        let text = error.to_string();
        Self { message: text, message_index, ..Self::found("TemplateError", &found, None) }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Creates the exception.
    fn instance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let fields = PyDict::new(py);
        if let Some(code) = self.code {
            fields.set_item("code", code.as_str())?;
            fields.set_item("user_summary", code.user_summary())?;
        }
        fields.set_item("span", self.span.map(|span| (span.start, span.end)))?;
        fields.set_item("line", self.place.map(|place| place.line))?;
        fields.set_item("column", self.place.map(|place| place.column))?;
        fields.set_item("help", &self.help)?;
        fields.set_item("message_index", self.message_index)?;
        class(py, self.class)?.call((&self.message,), Some(&fields))
    }
}

/// Returns an exception class by name.
pub(crate) fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("openchatml._errors")?.getattr(name)
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| failure.instance(py).map_or_else(|error| error, Self::from_value))
    }
}

impl From<FormatError> for Failure {
    fn from(error: FormatError) -> Self {
        Self { code: Some(Code::FormatUnknown), ..Self::new("FormatError", error.to_string()) }
    }
}

impl From<UnknownName> for Failure {
    fn from(error: UnknownName) -> Self {
        FormatError::from(error).into()
    }
}

impl From<EncodingError> for Failure {
    fn from(error: EncodingError) -> Self {
        Self::new("EncodingError", error.to_string())
    }
}

impl From<GrammarError> for Failure {
    fn from(error: GrammarError) -> Self {
        Self::new("GrammarError", error.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Name(error) => error.into(),
            Error::Format(error) => error.into(),
            Error::Invalid(found) => Self::found("ParseError", &found, None),
            Error::Render(error) => Self::render(&error, None),
            error => Self::new("ParseError", error.to_string()),
        }
    }
}

/// The type of an argument is wrong.
pub(crate) fn wrong_type(argument: &str, expected: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let text = format!("argument `{argument}`: expected {expected}, not `{kind}`");
    Failure::new("ArgumentTypeError", text).into()
}

/// The value of an argument is wrong.
pub(crate) fn wrong_value(argument: &str, why: &str) -> PyErr {
    Failure::new("ArgumentValueError", format!("argument `{argument}`: {why}")).into()
}

/// Runs work of the library without the interpreter lock, so that other threads can continue.
///
/// # Errors
///
/// The work panics: this is `InternalError`.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| caught(work)).map_err(Into::into)
}

/// The input in bytes from which on releasing the lock costs little beside the work.
const LONG: usize = 2048;

/// Runs work of the library on this number of bytes. Short work keeps the interpreter lock.
///
/// # Errors
///
/// As [`detached`].
pub(crate) fn sized<T: Send>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    if bytes < LONG { caught(work).map_err(Into::into) } else { detached(py, work) }
}

/// Runs work, and catches a panic.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Failure> {
    // The work owns its data or only reads it, or its owner is not used again.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
        let version = env!("CARGO_PKG_VERSION");
        let report = format!(
            "this is a bug in openchatml, please report this line: openchatml {version}: {text}"
        );
        Failure::new("InternalError", report)
    })
}
