//! Conversations as data to restore them from, and the error of malformed data.

use openchatml::{Document, Format, Limits, ReadOptions, convert, parse};
use pyo3::prelude::*;

use crate::error::Failure;

/// Returns a format that expresses the whole document, and the document in it.
///
/// Canonical JSON expresses every conversation, except for parts that the document has only in the
/// format that it was read in, such as images.
///
/// # Errors
///
/// No format expresses everything.
pub(crate) fn pickled(document: &Document<'static>) -> PyResult<(String, String)> {
    let mut options = openchatml::RenderOptions::default();
    options.ids = true;
    let mut losses = Vec::new();
    let formats = std::iter::once(Format::JSON).chain(Format::all());
    for format in formats {
        let Ok(written) = convert::convert(document, format, &options) else { continue };
        if !written.losses.is_empty() {
            losses = if losses.is_empty() { written.losses } else { losses };
            continue;
        }
        if restored(format, &written.output) == *document {
            return Ok((format.to_string(), written.output));
        }
    }
    let losses: Vec<_> = losses.iter().map(ToString::to_string).collect();
    let text =
        format!("cannot pickle the conversation: no format has all of it ({})", losses.join(", "));
    Err(Failure::new("RenderError", text).into())
}

/// The error for pickled data that this version cannot read.
pub(crate) fn malformed() -> PyErr {
    Failure::new("ParseError", "the pickled data is malformed").into()
}

/// Calls a function of this module that restores an object, when the object is unpickled.
pub(crate) fn restorer<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("openchatml._openchatml")?.getattr(name)
}

/// Reads pickled data.
pub(crate) fn restored(format: Format, text: &str) -> Document<'static> {
    let mut options = ReadOptions::default();
    options.open_prompt = true;
    for name in Limits::NAMES {
        if let Some(limit) = options.limits.get_mut(name) {
            *limit = Limits::highest(name);
        }
    }
    parse(text, format, &options).document.into_owned()
}
