//! Functions that write: `render`, `convert` and `prompt`.

use openchatml::convert::{Conversion, convert as convert_document};
use openchatml::prompt::Prompt;
use openchatml::{Document, Format, RenderOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::argument::{Argument, keywords};
use crate::consent::{Consent, consent_to_drops, consent_to_losses};
use crate::document::{Source, format_or_auto, source, source_or_text};
use crate::error::{Failure, detached};
use crate::input::Keep;
use crate::options::{self, Writing};
use crate::record::{diagnostics, losses, record};
use crate::tool_list::tools;

/// Writes a document that the format expresses completely.
#[pyfunction]
#[pyo3(
    signature = (document, to, **options),
    text_signature = "(document, to, *, add_generation_prompt=False, continue_final_message=False, enable_thinking=None, profile='default', date=None, reasoning_effort=None, model_identity=None, builtin_tools=(), response_format=None, layout='keep', sanitize=False, compact=False, infill_order=None, ids=False)"
)]
pub(crate) fn render(
    py: Python<'_>,
    document: &Bound<'_, PyAny>,
    to: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<String> {
    let to = Argument::new("to", to).format()?;
    let mut writing = Writing::default();
    keywords(options, |argument| match argument.name {
        "keep_reasoning" | "bare" => Ok(false),
        _ => writing.set(argument),
    })?;
    let options = writing.finish()?;
    let source = source(&Argument::new("document", document))?;
    consent_to_drops(py, source.parsed.as_deref(), Consent::default())?;
    let document = source.document;
    let written = detached(py, || openchatml::render(&document, to, &options))?;
    Ok(written.map_err(|error| Failure::render(&error, document.as_conversation()))?)
}

/// Converts a document, and names what the format does not express.
#[pyfunction]
#[pyo3(
    signature = (source, to, **options),
    text_signature = "(source, to, *, format='auto', allow_loss=(), add_generation_prompt=False, continue_final_message=False, enable_thinking=None, profile='default', date=None, reasoning_effort=None, model_identity=None, builtin_tools=(), response_format=None, layout='keep', sanitize=False, compact=False, infill_order=None, ids=False, completion=False, continues=None, in_reasoning=False, past_stop=False, open_prompt=False, mode='lenient', recover='keep', limits=None)"
)]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    to: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let to = Argument::new("to", to).format()?;
    let (mut writing, mut read) = (Writing::default(), openchatml::ReadOptions::default());
    let (mut consent, mut format) = (Consent::default(), None);
    keywords(options, |argument| {
        match argument.name {
            "format" => format = format_or_auto(argument.name, Some(argument.value))?,
            "allow_loss" => consent = Consent::read(argument)?,
            "keep_reasoning" | "bare" => return Ok(false),
            _ => return Ok(options::read(&mut read, argument)? || writing.set(argument)?),
        }
        Ok(true)
    })?;
    let options = writing.finish()?;
    let source = source_or_text(&Argument::new("source", source), format, &read, Keep::IfFound)?;
    consent_to_drops(py, source.parsed.as_deref(), consent)?;
    let document = &source.document;
    let written = detached(py, || convert_document(document, to, &options))?;
    let written = written.map_err(|error| Failure::render(&error, document.as_conversation()))?;
    conversion(py, &written, &source, consent)
}

/// Writes the next prompt of a model.
#[pyfunction]
#[pyo3(
    signature = (conversation, to, **options),
    text_signature = "(conversation, to, *, allow_loss='all', tools=None, keep_reasoning=False, bare=False, add_generation_prompt=True, continue_final_message=False, enable_thinking=None, profile='default', date=None, reasoning_effort=None, model_identity=None, builtin_tools=(), response_format=None, sanitize=False)"
)]
pub(crate) fn prompt<'py>(
    py: Python<'py>,
    conversation: &Bound<'py, PyAny>,
    to: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let to = Argument::new("to", to).format()?;
    let PromptOptions { consent, declared, options } = PromptOptions::read(py, to, options)?;
    let source = source(&Argument::new("conversation", conversation))?;
    consent_to_drops(py, source.parsed.as_deref(), consent)?;
    let written = detached(py, || {
        let mut chat = conversation_of(&source.document)?;
        if let Some(tools) = declared {
            chat.tools = tools;
        }
        let written = Prompt::new(&chat, to, &options).convert(&options);
        written.map_err(|error| Failure::render(&error, Some(&chat)))
    })?;
    conversion(py, &written?, &source, consent)
}

/// The options of a prompt.
pub(crate) struct PromptOptions {
    pub(crate) consent: Consent,
    /// The tools instead of those of the conversation.
    pub(crate) declared: Option<Vec<openchatml::Tool<'static>>>,
    pub(crate) options: RenderOptions,
}

impl PromptOptions {
    /// Reads the options of a prompt in this format.
    pub(crate) fn read(
        py: Python<'_>,
        to: Format,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (mut writing, mut consent, mut declared) = (Writing::default(), Consent::ALL, None);
        let mut is_open = None;
        keywords(options, |argument| {
            match argument.name {
                "allow_loss" => consent = Consent::read(argument)?,
                "tools" if argument.value.is_none() => {}
                "tools" => declared = Some(tools(argument)?),
                "layout" | "compact" | "infill_order" | "ids" => return Ok(false),
                name => {
                    if name == "add_generation_prompt" || name == "continue_final_message" {
                        is_open = Some(());
                    }
                    return writing.set(argument);
                }
            }
            Ok(true)
        })?;
        // The default is a prompt that the assistant continues.
        if is_open.is_none() {
            writing.options.generation_prompt = Some(openchatml::Role::Assistant);
        }
        Ok(Self { consent, declared, options: writing.finish_prompt(py, to)? })
    }
}

/// Returns a copy of the conversation of a document.
///
/// # Errors
///
/// The document is not a conversation.
pub(crate) fn conversation_of(
    document: &Document<'static>,
) -> Result<openchatml::Conversation<'static>, Failure> {
    let conversation = document.as_conversation().cloned();
    let text = "only a conversation has a prompt; this is another document";
    conversation.ok_or_else(|| Failure::new("RenderError", text))
}

/// Returns the output with its losses.
///
/// # Errors
///
/// A loss was not allowed.
fn conversion<'py>(
    py: Python<'py>,
    written: &Conversion,
    source: &Source,
    consent: Consent,
) -> PyResult<Bound<'py, PyAny>> {
    consent_to_losses(py, &written.losses, consent)?;
    let found = match &source.parsed {
        Some(read) => diagnostics(py, &read.diagnostics, read.text.as_deref())?,
        None => pyo3::types::PyTuple::empty(py),
    };
    record(py, "Conversion")?.call1((&written.output, losses(py, &written.losses)?, found))
}
