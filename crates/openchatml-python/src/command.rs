//! The command `ocml`.

use std::ffi::OsString;
use std::io::Write as _;

use pyo3::prelude::*;

use crate::error::detached;

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
