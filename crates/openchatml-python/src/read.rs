//! Functions that read: `parse`, `check`, `fix`, `detect`; and what there is to know about formats
//! and codes.

use openchatml::{
    Applicability, Code, Dialect, Mode, ReadOptions, Severity, dialects, fix as fix_text, lint,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::sync::Arc;

use crate::argument::{Argument, cut, keywords};
use crate::document::{PyParsed, Source, format_or_auto, source_or_text, text};
use crate::error::{detached, wrong_value};
use crate::input::{Keep, Read, detected};
use crate::options;
use crate::record::{diagnostics, record};

/// Parses a text.
#[pyfunction]
#[pyo3(
    signature = (text, format = None, **options),
    text_signature = "(text, format='auto', *, completion=False, continues=None, in_reasoning=False, past_stop=False, open_prompt=False, mode='lenient', recover='keep', limits=None)"
)]
pub(crate) fn parse(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    format: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyParsed> {
    let text = self::text(&Argument::new("text", text))?;
    let format = format_or_auto("format", format)?;
    let mut read = ReadOptions::default();
    keywords(options, |argument| options::read(&mut read, argument))?;
    Ok(PyParsed { read: Arc::new(Read::text(py, text, format, &read, Keep::IfFound)?) })
}

/// Finds errors.
#[pyfunction]
#[pyo3(
    signature = (source, format = None, **options),
    text_signature = "(source, format='auto', *, lints='document', select=(), ignore=(), completion=False, continues=None, in_reasoning=False, past_stop=False, open_prompt=False, mode='strict', recover='keep', limits=None)"
)]
pub(crate) fn check<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    format: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let format = format_or_auto("format", format)?;
    let mut read = ReadOptions::default();
    read.mode = Mode::Strict;
    let (mut usual, mut selected, mut ignored) = (lint::DOCUMENT, Vec::new(), Vec::new());
    keywords(options, |argument| {
        match argument.name {
            "lints" => usual = argument.word(LINTS, lints)?,
            "select" => selected = codes(argument)?,
            "ignore" => ignored = codes(argument)?,
            _ => return options::read(&mut read, argument),
        }
        Ok(true)
    })?;
    let source = source_or_text(&Argument::new("source", source), format, &read, Keep::Always)?;
    let Source { document, parsed } = source;
    let mut found = parsed.as_ref().map_or_else(Vec::new, |it| it.diagnostics.clone());
    let is_wanted = |code: &Code| usual.contains(code) || selected.contains(code);
    let wanted: Vec<_> = lint::SAMPLE.iter().copied().filter(is_wanted).collect();
    let own = detached(py, || lint::check(&document, &wanted))?;
    found.extend(own);
    found.retain(|it| it.severity == Severity::Error || !ignored.contains(&it.code));
    found.sort_by_key(|it| it.span.start);
    diagnostics(py, &found, parsed.as_ref().and_then(|it| it.text.as_deref()))
}

const LINTS: &[&[Code]] = &[lint::DOCUMENT, lint::SAMPLE, &[]];

fn lints(codes: &[Code]) -> &'static str {
    match codes {
        [] => "none",
        _ if codes == lint::DOCUMENT => "document",
        _ => "sample",
    }
}

fn codes(argument: &Argument<'_, '_>) -> PyResult<Vec<Code>> {
    let code = |word: &String| {
        let why = || wrong_value(argument.name, &format!("there is no code `{}`", cut(word)));
        word.parse().map_err(|_| why())
    };
    argument.texts()?.iter().map(code).collect()
}

/// Applies fixes.
#[pyfunction]
#[pyo3(
    signature = (text, format = None, **options),
    text_signature = "(text, format='auto', *, unsafe_fixes=False, completion=False, continues=None, in_reasoning=False, past_stop=False, open_prompt=False, mode='strict', recover='keep', limits=None)"
)]
pub(crate) fn fix<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyAny>,
    format: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let text = self::text(&Argument::new("text", text))?;
    let mut read = ReadOptions::default();
    read.mode = Mode::Strict;
    let mut most = Applicability::Safe;
    keywords(options, |argument| {
        if argument.name == "unsafe_fixes" {
            most = if argument.flag()? { Applicability::Unsafe } else { Applicability::Safe };
            return Ok(true);
        }
        options::read(&mut read, argument)
    })?;
    let format = match format_or_auto("format", format)? {
        Some(format) => format,
        None => detected(py, text)?,
    };
    let fixed = detached(py, || fix_text(text, format, &read, most))?;
    let refused = diagnostics(py, &fixed.refused, Some(text))?;
    let after = fixed.text.as_deref().unwrap_or(text);
    record(py, "Fixed")?.call1((after, fixed.applied, refused))
}

/// Detects the format.
#[pyfunction]
#[pyo3(signature = (text), text_signature = "(text)")]
pub(crate) fn detect<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let text = self::text(&Argument::new("text", text))?;
    let found = detached(py, || openchatml::detect(text))?;
    let (candidate, evidence) = (record(py, "Candidate")?, record(py, "Evidence")?);
    let list = PyList::empty(py);
    for it in found {
        let item =
            |it: &openchatml::Evidence| evidence.call1((&it.what, (it.span.start, it.span.end)));
        let items = it.evidence.iter().map(item).collect::<PyResult<Vec<_>>>()?;
        let (certain, completion) = (it.is_certain(), it.is_completion);
        let format = it.format.to_string();
        let items = PyTuple::new(py, items)?;
        list.append(candidate.call1((format, it.confidence, certain, completion, items))?)?;
    }
    Ok(list)
}

/// All formats.
#[pyfunction]
pub(crate) fn formats(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let class = record(py, "FormatInfo")?;
    let list = PyList::empty(py);
    for dialect in dialects::ALL {
        let Dialect { id, aliases, title, used_by, controls, .. } = dialect;
        let carriers: Vec<_> = dialect.carriers().map(openchatml::Carrier::as_str).collect();
        let spellings = PyTuple::new(py, controls.entries().iter().map(|it| it.1))?;
        let (aliases, carriers) = (PyTuple::new(py, *aliases)?, PyTuple::new(py, carriers)?);
        list.append(class.call1((*id, aliases, *title, *used_by, carriers, spellings))?)?;
    }
    Ok(list)
}

/// Explains a code.
#[pyfunction]
pub(crate) fn explain<'py>(
    py: Python<'py>,
    code: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let argument = Argument::new("code", code);
    let word = argument.text()?;
    let Ok(code) = word.parse::<Code>() else {
        return Err(wrong_value("code", &format!("there is no code `{}`", cut(word))));
    };
    let fields = (code.as_str(), code.title(), code.explanation(), code.user_summary());
    record(py, "Explanation")?.call1(fields)
}
