//! Plain results: objects of the classes in `_records.py`.

use openchatml::convert::Loss;
use openchatml::{Diagnostic, Fix, Lines, Span};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Returns a class of records.
pub(crate) fn record<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("openchatml._records")?.getattr(name)
}

fn pair(span: Span) -> (usize, usize) {
    (span.start, span.end)
}

/// A diagnostic, with its line and column in the input if there is one.
pub(crate) fn diagnostic<'py>(
    py: Python<'py>,
    found: &Diagnostic,
    lines: Option<&Lines<'_>>,
) -> PyResult<Bound<'py, PyAny>> {
    let place = lines.map(|lines| lines.locate(found.span.start));
    let fix = found.fix.as_ref().map(|it| self::fix(py, it)).transpose()?;
    record(py, "Diagnostic")?.call1((
        found.code.as_str(),
        found.severity.as_str(),
        &found.message,
        pair(found.span),
        place.map(|place| place.line),
        place.map(|place| place.column),
        found.help.as_deref(),
        found.dropped.map(openchatml::Dropped::as_str),
        found.pointer.as_deref(),
        fix,
        found.code.user_summary(),
    ))
}

fn fix<'py>(py: Python<'py>, fix: &Fix) -> PyResult<Bound<'py, PyAny>> {
    let class = record(py, "Edit")?;
    let edit = |it: &openchatml::Edit| class.call1((pair(it.span), &it.replacement));
    let edits = fix.edits.iter().map(edit).collect::<PyResult<Vec<_>>>()?;
    record(py, "Fix")?.call1((fix.applicability.as_str(), PyTuple::new(py, edits)?))
}

/// All diagnostics of a text.
pub(crate) fn diagnostics<'py>(
    py: Python<'py>,
    found: &[Diagnostic],
    text: Option<&str>,
) -> PyResult<Bound<'py, PyTuple>> {
    if found.is_empty() {
        return Ok(PyTuple::empty(py));
    }
    let lines = text.map(Lines::new);
    let all = found.iter().map(|it| diagnostic(py, it, lines.as_ref()));
    PyTuple::new(py, all.collect::<PyResult<Vec<_>>>()?)
}

/// Losses.
pub(crate) fn losses<'py>(py: Python<'py>, losses: &[Loss]) -> PyResult<Bound<'py, PyTuple>> {
    if losses.is_empty() {
        return Ok(PyTuple::empty(py));
    }
    let class = record(py, "Loss")?;
    let loss = |it: &Loss| {
        class.call1((
            it.lost.word(),
            it.to_string(),
            it.message,
            it.detail.as_deref(),
            pair(it.span),
        ))
    };
    PyTuple::new(py, losses.iter().map(loss).collect::<PyResult<Vec<_>>>()?)
}
