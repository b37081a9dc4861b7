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

/// Writes a document in a format that expresses all of it.
///
/// Args:
///     document: a `Conversation`, `Message`, `Pair`, `Infill`, `Files` or `Parsed`, or data of a JSON
///         format.
///     to: The name of the format.
///     add_generation_prompt: Ends with the open header of a message of the assistant, or of the role
///         that is given.
///     continue_final_message: Leaves the last message open.
///     enable_thinking: Whether the model should think first, in formats that can say it (Apertus).
///     profile: The program whose output of Harmony and Apertus is imitated: `"default"` (the
///         documentation), `"reference"` (openai-harmony), `"oss-harmony"`, `"hf-template"`,
///         `"hf-template-strings"`.
///     date: The date in the system message of Harmony and Apertus: a `datetime.date`, or
///         `"YYYY-MM-DD"`.
///     reasoning_effort: `"low"`, `"medium"` or `"high"`, in the system message of Harmony.
///     model_identity: The identity of the model, in the system message of Harmony.
///     builtin_tools: `"browser"` and `"python"`, in the system message of Harmony.
///     response_format: The requested form of the answer: a `response_format` of OpenAI's APIs.
///     layout: `"keep"` keeps the white space of what was read in the same format, `"canonical"` does
///         not.
///     sanitize: Writes `_` for characters that are not allowed in a header value, instead of refusing
///         it.
///     compact: OpenChatML 0.1: no line break before `<|im_end|>`.
///     infill_order: The order of the parts of fill-in-the-middle tasks.
///     ids: In canonical JSON, also writes the known token ids of messages.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
///     FormatError: The format is unknown.
///     LossError: The data has keys or values that are not part of its format.
///     RenderError: The format does not express all of the document. Use `convert`.
///
/// >>> render(Conversation([Message.user("Hi!")]), "chatml")
/// '<|im_start|>user\nHi!<|im_end|>\n'
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

/// Converts a text or a document to another format.
///
/// What the format does not express is a loss with a name. Each loss must be allowed, so nothing is
/// lost unnoticed.
///
/// Args:
///     source: A text, its UTF-8 bytes, or a `Conversation`, `Message`, `Pair`, `Infill`, `Files` or `Parsed`, or data of a JSON
///         format.
///     to: The name of the format of the output.
///     format: The name of the format of the input, or `"auto"`.
///     allow_loss: `"all"`, `"losses"` (all losses, and no dropped input), or the names of losses
///         (`"call_id"`, `"channel"`, …) and of dropped input (`"unknown-key"`, `"stray-text"`, …).
///     add_generation_prompt: Ends with the open header of a message of the assistant, or of the role
///         that is given.
///     continue_final_message: Leaves the last message open.
///     enable_thinking: Whether the model should think first, in formats that can say it (Apertus).
///     profile: The program whose output of Harmony and Apertus is imitated: `"default"` (the
///         documentation), `"reference"` (openai-harmony), `"oss-harmony"`, `"hf-template"`,
///         `"hf-template-strings"`.
///     date: The date in the system message of Harmony and Apertus: a `datetime.date`, or
///         `"YYYY-MM-DD"`.
///     reasoning_effort: `"low"`, `"medium"` or `"high"`, in the system message of Harmony.
///     model_identity: The identity of the model, in the system message of Harmony.
///     builtin_tools: `"browser"` and `"python"`, in the system message of Harmony.
///     response_format: The requested form of the answer: a `response_format` of OpenAI's APIs.
///     layout: `"keep"` keeps the white space of what was read in the same format, `"canonical"` does
///         not.
///     sanitize: Writes `_` for characters that are not allowed in a header value, instead of refusing
///         it.
///     compact: OpenChatML 0.1: no line break before `<|im_end|>`.
///     infill_order: The order of the parts of fill-in-the-middle tasks.
///     ids: In canonical JSON, also writes the known token ids of messages.
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
///     FormatError: A format is unknown, or cannot be detected.
///     LossError: Something would be lost that is not allowed; nothing is written.
///     RenderError: The format cannot express the document at all.
///
/// >>> sampled = "<|channel|>final<|message|>4.<|return|>"
/// >>> converted = convert(sampled, "openai", format="harmony", completion=True, allow_loss=["return"])
/// >>> converted.output
/// '{"messages":[{"role":"assistant","content":"4."}]}'
/// >>> [str(loss) for loss in converted.losses]
/// ['message 0: return dropped']
#[pyfunction]
#[pyo3(
    signature = (source, to, **options),
    text_signature = "(source, to, *, format='auto', allow_loss=(), add_generation_prompt=False, continue_final_message=False, enable_thinking=None, profile='default', date=None, reasoning_effort=None, model_identity=None, builtin_tools=(), response_format=None, layout='keep', sanitize=False, compact=False, infill_order=None, ids=False, completion=False, continues=None, in_reasoning=False, split_reasoning=False, repair=None, past_stop=False, open_prompt=False, mode='lenient', recover='keep', tools=None, limits=None)"
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
///
/// A prompt does not contain the reasoning before earlier answers, declares the tools where the format
/// does so, and ends where the assistant speaks. A prompt of Harmony or Apertus has the system message
/// that the model expects, with the date of today.
///
/// Args:
///     conversation: A conversation, or data of a JSON format.
///     to: The name of the format of the model.
///     allow_loss: As in `convert`. The default allows what the format cannot express, which is in
///         `losses` of the result, but no input that the reader drops, such as an unknown role.
///     tools: The tools instead of those of the conversation: functions of Python with type hints, or
///         declarations as OpenAI's API has them.
///     keep_reasoning: Keeps the reasoning before earlier answers.
///     bare: Adds no system message.
///     add_generation_prompt: Ends with the open header of a message of the assistant, or of the role
///         that is given.
///     continue_final_message: Leaves the last message open.
///     enable_thinking: Whether the model should think first, in formats that can say it (Apertus).
///     profile: The program whose output of Harmony and Apertus is imitated: `"default"` (the
///         documentation), `"reference"` (openai-harmony), `"oss-harmony"`, `"hf-template"`,
///         `"hf-template-strings"`.
///     date: The date in the system message of Harmony and Apertus: a `datetime.date`, or
///         `"YYYY-MM-DD"`.
///     reasoning_effort: `"low"`, `"medium"` or `"high"`, in the system message of Harmony.
///     model_identity: The identity of the model, in the system message of Harmony.
///     builtin_tools: `"browser"` and `"python"`, in the system message of Harmony.
///     response_format: The requested form of the answer: a `response_format` of OpenAI's APIs.
///     sanitize: As in `render`.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
///     FormatError: The format is unknown.
///     LossError: Something would be lost that is not allowed.
///     RenderError: The format cannot express the prompt.
///     ToolError: A function cannot be declared.
///
/// >>> print(prompt([{"role": "user", "content": "Hi!"}], "harmony", bare=True))
/// <|start|>user<|message|>Hi!<|end|><|start|>assistant
#[pyfunction]
#[pyo3(
    signature = (conversation, to, **options),
    text_signature = "(conversation, to, *, allow_loss='losses', tools=None, keep_reasoning=False, bare=False, add_generation_prompt=True, continue_final_message=False, enable_thinking=None, profile='default', date=None, reasoning_effort=None, model_identity=None, builtin_tools=(), response_format=None, sanitize=False)"
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
        let (mut writing, mut consent, mut declared) = (Writing::default(), Consent::LOSSES, None);
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
