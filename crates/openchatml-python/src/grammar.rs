//! Grammars of completions, for constrained decoding.

use openchatml::harmony::Namespace;
use openchatml_grammars::{Calls, Choice, Language, Options, Presence, grammar as write_grammar};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::argument::{Argument, keywords};
use crate::data;
use crate::error::{Failure, detached, wrong_value};
use crate::record::record;
use crate::tool_list::tools;

/// Returns a grammar of completions, for constrained decoding.
///
/// With it, an engine lets a model generate only valid output: the channels of the format, calls of the
/// declared tools with arguments that match their schemas, and an end token.
///
/// Args:
///     format: The name of the format of the model.
///     language: `"gbnf"` (llama.cpp), `"lark"` (llguidance) or `"structural-tag"` (xgrammar).
///     tools: Functions of Python with type hints, or declarations as OpenAI's API has them.
///     builtin_tools: `"browser"` and `"python"`, the built-in tools of gpt-oss.
///     tool_choice: `"auto"`, `"none"`, `"required"` or the name of a tool.
///     parallel_tool_calls: Allows several calls in one completion.
///     answer: The JSON Schema of the answer.
///     reasoning: `"allowed"`, `"forbidden"` or `"required"`.
///     preambles: Commentary for the user: as `reasoning`.
///     in_reasoning: The prompt ended inside reasoning.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
///     FormatError: The format is unknown, or has no grammar.
///     GrammarError: A required call is impossible, or the schema of the answer allows no value.
///
/// >>> grammar("chatml", "lark").text
/// 'start: TEXT <|im_end|>\nTEXT: /(?s:.*)/\n'
#[pyfunction]
#[pyo3(
    signature = (format, language, **options),
    text_signature = "(format, language, *, tools=None, builtin_tools=(), tool_choice='auto', parallel_tool_calls=False, answer=None, reasoning='allowed', preambles='allowed', in_reasoning=False)"
)]
pub(crate) fn grammar<'py>(
    py: Python<'py>,
    format: &Bound<'py, PyAny>,
    language: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let format = Argument::new("format", format).text_format()?;
    let language = Argument::new("language", language).word(&Language::ALL, Language::as_str)?;
    let mut set = Options::default();
    let (mut functions, mut namespaces) = (Vec::new(), Vec::new());
    keywords(options, |argument| {
        match argument.name {
            "tools" => functions = tools(argument)?,
            "builtin_tools" => namespaces = builtins(argument)?,
            "tool_choice" => {
                set.choice = match argument.text()? {
                    "auto" => Choice::Auto,
                    "none" => Choice::None,
                    "required" => Choice::Required,
                    name => Choice::Named(name.to_owned()),
                }
            }
            "parallel_tool_calls" => {
                set.calls = if argument.flag()? { Calls::Many } else { Calls::One };
            }
            "answer" if argument.value.is_none() => {}
            "answer" => set.answer = Some(data::read(argument.name, argument.value)?),
            "reasoning" => set.reasoning = argument.word(PRESENCES, presence)?,
            "preambles" => set.preambles = argument.word(PRESENCES, presence)?,
            "in_reasoning" => set.in_reasoning = argument.flag()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if !functions.is_empty() {
        namespaces.push(Namespace::functions(functions));
    }
    let written = detached(py, || write_grammar(format, &namespaces, language, &set))?;
    let written = written.map_err(Failure::from)?;
    let ends = written.ends.iter().filter_map(|it| format.controls().spelling(*it));
    let class = record(py, "Unenforced")?;
    let unenforced = written
        .unenforced
        .iter()
        .map(|it| class.call1((&it.part, &it.pointer, it.requirement.to_string())));
    let unenforced = PyTuple::new(py, unenforced.collect::<PyResult<Vec<_>>>()?)?;
    let ends = PyTuple::new(py, ends.collect::<Vec<_>>())?;
    record(py, "Grammar")?.call1((&written.text, ends, unenforced))
}

/// The built-in tools of gpt-oss.
fn builtins(argument: &Argument<'_, '_>) -> PyResult<Vec<Namespace<'static>>> {
    let namespace = |name: &String| match name.as_str() {
        "browser" => Ok(Namespace::browser()),
        "python" => Ok(Namespace::python()),
        _ => Err(wrong_value(argument.name, "the built-in tools are `browser` and `python`")),
    };
    argument.texts()?.iter().map(namespace).collect()
}

const PRESENCES: &[Presence] = &[Presence::Allowed, Presence::Forbidden, Presence::Required];

fn presence(presence: Presence) -> &'static str {
    match presence {
        Presence::Forbidden => "forbidden",
        Presence::Required => "required",
        _ => "allowed",
    }
}
