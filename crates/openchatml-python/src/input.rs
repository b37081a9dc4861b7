//! Reads texts of a named or detected format.

use std::sync::Arc;

use openchatml::{Diagnostic, Document, Format, Lines, Location, ReadOptions, parse};
use pyo3::prelude::*;

use crate::error::{Failure, detached, sized};

/// The result of reading.
pub(crate) struct Read {
    pub(crate) document: Arc<Document<'static>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) format: Format,
    /// The text, if it was kept.
    pub(crate) text: Option<String>,
}

/// When the text is kept after reading, for lines and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// If there are diagnostics.
    IfFound,
    /// Always.
    Always,
}

impl Read {
    /// Returns the line and column of a diagnostic.
    pub(crate) fn locate(&self, found: &Diagnostic) -> Option<Location> {
        let lines = Lines::new(self.text.as_deref()?);
        Some(lines.locate(found.span.start))
    }

    /// Reads a text.
    pub(crate) fn text(
        py: Python<'_>,
        text: &str,
        format: Option<Format>,
        options: &ReadOptions,
        keep: Keep,
    ) -> PyResult<Self> {
        let format = match format {
            Some(format) => format,
            None => detected(py, text)?,
        };
        sized(py, text.len(), || {
            let parsed = parse(text, format, options);
            Self {
                document: Arc::new(parsed.document.into_owned()),
                text: (keep == Keep::Always || !parsed.diagnostics.is_empty())
                    .then(|| text.to_owned()),
                diagnostics: parsed.diagnostics,
                format,
            }
        })
    }
}

/// Returns the format of a text.
///
/// # Errors
///
/// There is not enough evidence for any format.
pub(crate) fn detected(py: Python<'_>, text: &str) -> PyResult<Format> {
    let found = detached(py, || openchatml::detect(text))?;
    if let Some(best) = found.first().filter(|best| best.is_certain()) {
        return Ok(best.format);
    }
    let recognized = openchatml::recognize([text]);
    let text = match (&recognized, found.first()) {
        (Some(it), _) => format!("the input is {}, which is not supported", it.name),
        (None, Some(best)) => format!("cannot detect the format: `{}` is not certain", best.format),
        (None, None) => "cannot detect the format of the input".to_owned(),
    };
    let help = "name the format; `formats()` lists them".into();
    let help = recognized.map_or(help, |it| it.help);
    Err(Failure::new("FormatError", text).help(help).into())
}
