//! Streams for clients of other APIs.

use std::sync::{Mutex, PoisonError};

use openchatml::Keep;
use openchatml::wire::{Api, Ending, Framing, Incomplete, Reasoning, Response, Usage, Writer};
use pyo3::prelude::*;
use pyo3::sync::MutexExt as _;
use pyo3::types::{PyDict, PyString};

use crate::argument::{Argument, keywords};
use crate::error::{Failure, caught, wrong_type, wrong_value};
use crate::event::PyEvent;

/// Writes the events of a stream as the stream of another API, for its clients.
///
/// The output is the same for the same events: ids, the name of the model and the time are
/// arguments.
///
/// Args:
///     api: `"responses"` (OpenAI's Responses API), `"chat"` (Chat Completions) or `"messages"`
///         (Anthropic's Messages API).
///     id: The id of the response.
///     model: The name of the model.
///     created_at: The time, in seconds since 1970.
///     framing: `"sse"` (server-sent events) or `"lines"` (one event per line).
///     reasoning: `"drop"`, `"raw"`, or a function from a paragraph of reasoning to its summary.
///     keep: `"bodies"` repeats the text at the end, where the API does so; `"nothing"` does not.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
///
/// >>> writer = ApiWriter("chat", "chatcmpl-1", "gpt-oss-20b", framing="lines")
/// >>> stream = Stream("harmony", completion=True)
/// >>> text = writer.start()
/// >>> for event in stream.read(["<|channel|>final<|message|>4.<|return|>"]):
/// ...     text += writer.push(event)
/// >>> text += writer.finish()
/// >>> '"delta":{"content":"4."}' in text
/// True
#[pyclass(frozen, module = "openchatml", name = "ApiWriter")]
pub(crate) struct PyApiWriter {
    /// `None` after the end.
    writer: Mutex<Option<Writer>>,
}

fn api(api: Api) -> &'static str {
    match api {
        Api::Responses => "responses",
        Api::Messages => "messages",
        _ => "chat",
    }
}

fn framing(framing: Framing) -> &'static str {
    match framing {
        Framing::Lines => "lines",
        Framing::Sse => "sse",
    }
}

fn keep(keep: Keep) -> &'static str {
    match keep {
        Keep::Bodies => "bodies",
        Keep::Nothing => "nothing",
    }
}

/// How reasoning is written. A summarizer that fails or returns no text gives an empty summary, and
/// Python reports its exception.
fn reasoning(argument: &Argument<'_, '_>) -> PyResult<Reasoning> {
    if argument.value.is_instance_of::<PyString>() {
        return match argument.text()? {
            "drop" => Ok(Reasoning::Drop),
            "raw" => Ok(Reasoning::Raw),
            _ => Err(wrong_value(argument.name, "use `drop`, `raw` or a function")),
        };
    }
    if !argument.value.is_callable() {
        return Err(wrong_type(argument.name, "a `str` or a function", argument.value));
    }
    let function = argument.value.clone().unbind();
    Ok(Reasoning::summary(move |text| {
        Python::attach(|py| {
            let summary = function.bind(py).call1((text,)).and_then(|it| it.extract::<String>());
            summary.unwrap_or_else(|error| {
                error.write_unraisable(py, Some(function.bind(py)));
                String::new()
            })
        })
    }))
}

impl PyApiWriter {
    fn write(
        &self,
        py: Python<'_>,
        write: impl FnOnce(&mut Writer, &mut String),
    ) -> PyResult<String> {
        let mut slot = self.writer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let mut writer = slot.take().ok_or_else(ended)?;
        let (out, writer) = caught(|| {
            let mut out = String::new();
            write(&mut writer, &mut out);
            (out, writer)
        })?;
        *slot = Some(writer);
        Ok(out)
    }
}

fn ended() -> Failure {
    Failure::new("StreamError", "the response has ended")
}

#[pymethods]
impl PyApiWriter {
    #[new]
    #[pyo3(
        signature = (api, id, model, **options),
        text_signature = "(api, id, model, *, created_at=0, framing='sse', reasoning='drop', keep='bodies')"
    )]
    fn create(
        api: &Bound<'_, PyAny>,
        id: &Bound<'_, PyAny>,
        model: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let api = Argument::new("api", api).word(&Api::ALL, self::api)?;
        let id = Argument::new("id", id).text()?.to_owned();
        let model = Argument::new("model", model).text()?.to_owned();
        let mut created_at = 0;
        let (mut frame, mut kept, mut thoughts) = (Framing::Sse, Keep::Bodies, Reasoning::Drop);
        keywords(options, |argument| {
            match argument.name {
                "created_at" => created_at = argument.number()? as u64,
                "framing" => frame = argument.word(&[Framing::Lines, Framing::Sse], framing)?,
                "keep" => kept = argument.word(&[Keep::Bodies, Keep::Nothing], keep)?,
                "reasoning" => thoughts = reasoning(argument)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let writer = Writer::new(api, Response::new(id, model, created_at));
        let writer = writer.framing(frame).keep(kept).reasoning(thoughts);
        Ok(Self { writer: Mutex::new(Some(writer)) })
    }

    /// Returns the begin of the response.
    ///
    /// Raises:
    ///     StreamError: The response has ended.
    fn start(&self, py: Python<'_>) -> PyResult<String> {
        self.write(py, |writer, out| writer.start(out))
    }

    /// Returns what an event becomes; often nothing.
    ///
    /// Raises:
    ///     ArgumentTypeError: The argument is not an `Event`.
    ///     StreamError: The response has ended.
    fn push(&self, py: Python<'_>, event: &Bound<'_, PyAny>) -> PyResult<String> {
        let Ok(event) = event.cast::<PyEvent>() else {
            return Err(wrong_type("event", "an `Event`", event));
        };
        self.write(py, |writer, out| writer.push(event.get().event(), out))
    }

    /// Returns the end of the response.
    ///
    /// Args:
    ///     input_tokens, output_tokens: The numbers of tokens, if both are known.
    ///     incomplete: Why the response is incomplete: `"max_output_tokens"` or `"content_filter"`.
    ///     error: The text of an error that ended the response.
    ///
    /// Raises:
    ///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
    ///     StreamError: The response has ended before.
    #[pyo3(
        signature = (**options),
        text_signature = "($self, *, input_tokens=None, output_tokens=None, incomplete=None, error=None)"
    )]
    fn finish(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
        let mut ending = Ending::default();
        let (mut input, mut output) = (None, None);
        keywords(options, |argument| {
            match argument.name {
                "input_tokens" => input = argument.optional_number()?,
                "output_tokens" => output = argument.optional_number()?,
                "incomplete" => {
                    let all = [Incomplete::MaxOutputTokens, Incomplete::ContentFilter];
                    ending.incomplete = argument.optional_word(&all, Incomplete::as_str)?;
                }
                "error" => ending.error = argument.optional_text()?.map(str::to_owned),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        if let (Some(input), Some(output)) = (input, output) {
            ending.usage = Some(Usage::new(input as u64, output as u64));
        }
        let mut slot = self.writer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let writer = slot.take().ok_or_else(ended)?;
        Ok(caught(|| {
            let mut out = String::new();
            writer.finish(&ending, &mut out);
            out
        })?)
    }
}
