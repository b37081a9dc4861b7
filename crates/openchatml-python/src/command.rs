//! The command `ocml`, and functions for tests and measurements of the package.

use std::ffi::OsString;
use std::io::Write as _;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::argument::Argument;
use crate::error::{caught, detached};

/// Runs the command, and returns its exit status.
#[pyfunction]
#[pyo3(name = "_run_command")]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    detached(py, || {
        let status = openchatml_cli::run(arguments);
        // A program of Rust does this at its end. Nobody is there to hear of an error.
        let _ = std::io::stdout().flush();
        status
    })
}

/// Panics, so that a test can see what becomes of it.
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
