//! Functions for tests and measurements. Published wheels do not have them.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::argument::Argument;
use crate::error::caught;
use crate::stream::PyStream;

/// Panics, so that a test can see the exception that it becomes.
#[pyfunction]
#[pyo3(name = "_panic")]
#[allow(clippy::panic, reason = "this is its purpose")]
pub(crate) fn panic_for_test(text: &str) -> PyResult<()> {
    Ok(caught(|| panic!("{text}"))?)
}

/// Does nothing with the arguments of `parse`. A measurement compares calls with this one.
#[pyfunction]
#[pyo3(name = "_empty", signature = (text, format = None, **options))]
pub(crate) fn empty(
    text: &Bound<'_, PyAny>,
    format: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) {
    let _ = (text, format, options);
}

/// An object with a method that does nothing. A measurement compares `Stream.feed` with it.
#[pyclass(frozen, module = "openchatml._openchatml", name = "_Empty")]
pub(crate) struct PyEmpty;

#[pymethods]
impl PyEmpty {
    #[new]
    fn create() -> Self {
        Self
    }

    fn feed(&self, chunk: &Bound<'_, PyAny>) {
        let _ = chunk;
    }
}

/// Parses a text several times, to measure the work of one call.
#[pyfunction]
#[pyo3(name = "_repeat_parse")]
pub(crate) fn repeat_parse(text: &str, format: &Bound<'_, PyAny>, count: usize) -> PyResult<()> {
    let format = Argument::new("format", format).format()?;
    for _ in 0..count {
        let parsed = openchatml::parse(text, format, &openchatml::ReadOptions::default());
        std::hint::black_box(parsed.document.into_owned());
    }
    Ok(())
}

/// Feeds ids to a stream one by one, to measure the work of one call.
#[pyfunction]
#[pyo3(name = "_repeat_feed")]
pub(crate) fn repeat_feed(py: Python<'_>, stream: &Bound<'_, PyStream>, ids: Vec<u32>) {
    stream.get().repeat_feed(py, &ids);
}
