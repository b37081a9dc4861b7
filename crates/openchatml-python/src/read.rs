//! Functions that read: `parse`, `check`, `fix`, `detect`; and what there is to know about formats
//! and codes.

use openchatml::{
    Applicability, Code, Diagnostic, Dialect, Mode, ReadOptions, Severity, dialects,
    fix as fix_text, lint,
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

/// Parses a text. This never fails on malformed input: it returns what can be read, and
/// diagnostics.
///
/// Spans count bytes of the UTF-8 text of the input.
///
/// Args:
///     text: The text, or its UTF-8 bytes.
///     format: The name of its format (see `formats`), or `"auto"` to detect it.
///     completion: The text is a raw completion: it continues a prompt that ended where the
///         assistant speaks. The same as `continues="assistant"`.
///     continues: The role whose message the text continues.
///     in_reasoning: The prompt ended inside reasoning.
///     split_reasoning: `<think>…</think>` at the beginning of an assistant's text in JSON is read as
///         its reasoning.
///     repair: Repairs the arguments of calls that are almost JSON. `"mark"`: such a call stays uncertain.
///         `"accept"`: it is a call like any other.
///     past_stop: A completion continues after its stop token.
///     open_prompt: The last message can be open: a prompt that a model will continue.
///     mode: `"strict"` makes everything an error that the specification does not allow.
///     recover: What happens with text outside of messages: `"keep"` (as hidden messages), `"drop"`,
///         `"error"` (reading stops there) or `"stripped"` (as `"keep"`, and reads completions of
///         gpt-oss whose control tokens were removed).
///     tools: The tools that the model can call, as dicts or functions. In formats whose calls do not say
///         which arguments are strings, such as qwen3-coder, their schemas do.
///     limits: Limits by name, such as `{"messages": 1000, "message_bytes": 65536}`.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid; bytes are not UTF-8.
///     FormatError: The format is unknown, or cannot be detected.
///
/// >>> parsed = parse("<|channel|>final<|message|>4.<|return|>", "harmony", completion=True)
/// >>> parsed.conversation.messages
/// (Message('assistant', '4.', channel='final', end='return'),)
/// >>> parsed.diagnostics
/// ()
#[pyfunction]
#[pyo3(
    signature = (text, format = None, **options),
    text_signature = "(text, format='auto', *, completion=False, continues=None, in_reasoning=False, split_reasoning=False, repair=None, past_stop=False, open_prompt=False, mode='lenient', recover='keep', tools=None, limits=None)"
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

/// Finds errors in a text or a document, as the command `ocml check` does.
///
/// Args:
///     source: A text, its UTF-8 bytes, data of a JSON format, or a document.
///     format: The format of a text, or `"auto"`.
///     lints: The lints that are checked: `"document"` (for one document), `"sample"` (also those for
///         samples of a data set) or `"none"`.
///     select: Codes of more lints.
///     ignore: Codes of warnings and notes that are not reported. Calls without a reply
///         (`E-CALL-UNANSWERED`) and replies without a call (`E-REPLY-UNMATCHED`) can be ignored, too.
///     completion: The text is a raw completion: it continues a prompt that ended where the
///         assistant speaks. The same as `continues="assistant"`.
///     continues: The role whose message the text continues.
///     in_reasoning: The prompt ended inside reasoning.
///     split_reasoning: `<think>…</think>` at the beginning of an assistant's text in JSON is read as
///         its reasoning.
///     repair: Repairs the arguments of calls that are almost JSON. `"mark"`: such a call stays uncertain.
///         `"accept"`: it is a call like any other.
///     past_stop: A completion continues after its stop token.
///     open_prompt: The last message can be open: a prompt that a model will continue.
///     mode: `"strict"` makes everything an error that the specification does not allow.
///     recover: What happens with text outside of messages: `"keep"` (as hidden messages), `"drop"`,
///         `"error"` (reading stops there) or `"stripped"` (as `"keep"`, and reads completions of
///         gpt-oss whose control tokens were removed).
///     tools: The tools that the model can call, as dicts or functions. In formats whose calls do not say
///         which arguments are strings, such as qwen3-coder, their schemas do.
///     limits: Limits by name, such as `{"messages": 1000, "message_bytes": 65536}`.
///
/// Returns:
///     The diagnostics in the order of their places.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
///     FormatError: The format is unknown, or cannot be detected.
///
/// >>> for found in check("<|im_start|>user\nHi!<|im_end|>\n<|im_start|>usr\n", "chatml"):
/// ...     print(found.line, found.severity, found.code)
/// 3 error E-PARSE-HEADER
/// 4 error E-STREAM-TRUNCATED
#[pyfunction]
#[pyo3(
    signature = (source, format = None, **options),
    text_signature = "(source, format='auto', *, lints='document', select=(), ignore=(), completion=False, continues=None, in_reasoning=False, split_reasoning=False, repair=None, past_stop=False, open_prompt=False, mode='strict', recover='keep', tools=None, limits=None)"
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
    let is_error =
        |it: &Diagnostic| it.severity == Severity::Error && !lint::PAIRING.contains(&it.code);
    found.retain(|it| is_error(it) || !ignored.contains(&it.code));
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

pub(crate) fn codes(argument: &Argument<'_, '_>) -> PyResult<Vec<Code>> {
    let code = |word: &String| {
        let why = || wrong_value(argument.name, &format!("there is no code `{}`", cut(word)));
        word.parse().map_err(|_| why())
    };
    argument.texts()?.iter().map(code).collect()
}

/// Applies the fixes of the diagnostics of a text.
///
/// Args:
///     text: The text, or its UTF-8 bytes.
///     format: The name of its format, or `"auto"`.
///     unsafe_fixes: Also applies fixes that can change the conversation.
///     completion: The text is a raw completion: it continues a prompt that ended where the
///         assistant speaks. The same as `continues="assistant"`.
///     continues: The role whose message the text continues.
///     in_reasoning: The prompt ended inside reasoning.
///     split_reasoning: `<think>…</think>` at the beginning of an assistant's text in JSON is read as
///         its reasoning.
///     repair: Repairs the arguments of calls that are almost JSON. `"mark"`: such a call stays uncertain.
///         `"accept"`: it is a call like any other.
///     past_stop: A completion continues after its stop token.
///     open_prompt: The last message can be open: a prompt that a model will continue.
///     mode: `"strict"` makes everything an error that the specification does not allow.
///     recover: What happens with text outside of messages: `"keep"` (as hidden messages), `"drop"`,
///         `"error"` (reading stops there) or `"stripped"` (as `"keep"`, and reads completions of
///         gpt-oss whose control tokens were removed).
///     tools: The tools that the model can call, as dicts or functions. In formats whose calls do not say
///         which arguments are strings, such as qwen3-coder, their schemas do.
///     limits: Limits by name, such as `{"messages": 1000, "message_bytes": 65536}`.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
///     FormatError: The format is unknown, or cannot be detected.
///
/// >>> fix("<|im_start|>user\nHi!", "chatml", unsafe_fixes=True).text
/// '<|im_start|>user\nHi!<|im_end|>'
#[pyfunction]
#[pyo3(
    signature = (text, format = None, **options),
    text_signature = "(text, format='auto', *, unsafe_fixes=False, completion=False, continues=None, in_reasoning=False, split_reasoning=False, repair=None, past_stop=False, open_prompt=False, mode='strict', recover='keep', tools=None, limits=None)"
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

/// Detects the format of a text.
///
/// Args:
///     text: The text, or its UTF-8 bytes.
///
/// Returns:
///     The possible formats, the most likely one first. Read the text in the first one only if it
///     `is_certain`.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: The argument is invalid.
///
/// >>> detect("<|im_start|>user\nHi!<|im_end|>\n")[0].format
/// 'chatml'
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

/// Returns all formats.
///
/// >>> [format.name for format in formats()][:3]
/// ['openchatml-2.2', 'openchatml-2.0', 'openchatml-0.1']
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

/// Explains the code of a diagnostic.
///
/// Args:
///     code: The code.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: There is no such code.
///
/// >>> explain("E-LIMIT").user_summary
/// 'This conversation is too large.'
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
