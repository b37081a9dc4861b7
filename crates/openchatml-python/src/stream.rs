//! Streams: text or token ids in, events out.

use std::sync::{Mutex, PoisonError};

use openchatml::{Event, Keep, Policy, Preambles, ReadOptions, Stream, TextFormat};
use openchatml_tokens::TokenStream;
use pyo3::prelude::*;
use pyo3::sync::MutexExt as _;
use pyo3::types::{PyBool, PyBytes, PyDict, PyInt, PyList, PyString};

use crate::argument::{Argument, keywords};
use crate::encoding::AnyEncoding;
use crate::error::{Failure, caught, sized, wrong_type, wrong_value};
use crate::event::PyEvent;
use crate::message::PyMessage;
use crate::message_fields::ids;
use crate::options;
use crate::tokenizer::PyTokenizer;
use crate::view::preambles;

/// A stream of text or of token ids.
enum Source {
    Text(Stream),
    Ids(TokenStream<AnyEncoding>),
}

/// Reads text or token ids while they arrive, and returns events.
///
/// Threads can share a stream: a call waits until the call before it is done.
///
/// Args:
///     format: The name of a text format, for text; or a `Tokenizer`, for token ids.
///     user: Whether the events contain only what a user may see.
///     preambles: With `user`: whether commentary for the user is shown: `"show"` or `"hide"`.
///     keep: `"bodies"` keeps the text of a message for its `"message.done"`; `"nothing"` does not.
///
/// The other arguments are those of `parse`.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
///     FormatError: The format is unknown, or has no text form.
///
/// >>> stream = Stream("harmony", completion=True, user=True)
/// >>> chunks = ["<|channel|>analysis<|message|>Easy.<|end|>", "<|start|>assistant<|channel|>fi",
/// ...           "nal<|message|>4", ".<|return|>"]
/// >>> "".join(event.text or "" for event in stream.read(chunks))
/// '4.'
#[pyclass(frozen, module = "openchatml", name = "Stream")]
pub(crate) struct PyStream {
    source: Mutex<Option<Box<Source>>>,
    reads_ids: bool,
}

/// The options of a stream.
#[derive(Default)]
struct StreamOptions {
    read: ReadOptions,
    /// Only what a user may see.
    is_for_user: bool,
    preambles: Preambles,
    keep: Option<Keep>,
}

impl StreamOptions {
    fn set(&mut self, argument: &Argument<'_, '_>) -> PyResult<bool> {
        match argument.name {
            "user" => self.is_for_user = argument.flag()?,
            "preambles" => self.preambles = preambles(argument.name, argument.value)?,
            "keep" => {
                let word = |keep| match keep {
                    Keep::Bodies => "bodies",
                    Keep::Nothing => "nothing",
                };
                self.keep = Some(argument.word(&[Keep::Bodies, Keep::Nothing], word)?);
            }
            // Streams pass arguments on as they arrive.
            "repair" => return Ok(false),
            _ => return options::read(&mut self.read, argument),
        }
        Ok(true)
    }

    fn policy(&self) -> Option<Policy> {
        self.is_for_user.then(|| Policy::new(self.preambles))
    }
}

impl PyStream {
    fn of_text(format: TextFormat, options: &StreamOptions) -> Self {
        let mut stream = Stream::new(format, &options.read);
        if let Some(policy) = options.policy() {
            stream = stream.for_user(policy);
        }
        if let Some(keep) = options.keep {
            stream = stream.keep(keep);
        }
        Self::new(Source::Text(stream), false)
    }

    fn of_ids(tokenizer: &PyTokenizer, options: &StreamOptions) -> Self {
        let mut stream = tokenizer.writer.tokenizer.stream(&options.read);
        if let Some(policy) = options.policy() {
            stream = stream.for_user(policy);
        }
        if let Some(keep) = options.keep {
            stream = stream.keep(keep);
        }
        Self::new(Source::Ids(stream), true)
    }

    fn new(source: Source, reads_ids: bool) -> Self {
        Self { source: Mutex::new(Some(Box::new(source))), reads_ids }
    }

    /// Takes the source, calls `work` with it, and returns the events. After a panic the stream has
    /// ended.
    fn work<'py>(
        &self,
        py: Python<'py>,
        bytes: usize,
        work: impl FnOnce(Box<Source>) -> (Option<Box<Source>>, Vec<Event<'static>>) + Send,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut slot = self.source.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let source = slot.take().ok_or_else(ended)?;
        let (left, events) = sized(py, bytes, || work(source))?;
        *slot = left;
        drop(slot);
        PyList::new(py, events.into_iter().map(PyEvent::new))
    }

    /// Feeds one id. It is what programs do most often, so it makes nothing but the result.
    fn feed_id<'py>(&self, py: Python<'py>, id: u32) -> PyResult<Bound<'py, PyList>> {
        if !self.reads_ids {
            return Err(wrong_value("chunk", NO_IDS));
        }
        let mut slot = self.source.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let mut source = slot.take().ok_or_else(ended)?;
        let mut first = None;
        let mut others = Vec::new();
        let source = caught(|| {
            if let Source::Ids(stream) = &mut *source {
                stream.feed_with(&[id], |event| match first {
                    None => first = Some(event.into_owned()),
                    Some(_) => others.push(event.into_owned()),
                });
            }
            source
        })?;
        *slot = Some(source);
        drop(slot);
        let Some(first) = first else { return Ok(PyList::empty(py)) };
        if others.is_empty() {
            return PyList::new(py, [PyEvent::new(first)]);
        }
        others.insert(0, first);
        PyList::new(py, others.into_iter().map(PyEvent::new))
    }

    /// Feeds bytes of text.
    fn feed_text<'py>(&self, py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyList>> {
        if self.reads_ids {
            return Err(wrong_value("chunk", "the stream reads token ids, not text"));
        }
        self.work(py, text.len(), |mut source| {
            let events = match &mut *source {
                Source::Text(stream) => stream.feed(text).collect(),
                Source::Ids(_) => Vec::new(),
            };
            (Some(source), events)
        })
    }

    /// Feeds token ids.
    fn feed_ids<'py>(&self, py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
        if !self.reads_ids {
            return Err(wrong_value("chunk", NO_IDS));
        }
        self.work(py, ids.len(), |mut source| {
            let events = match &mut *source {
                Source::Ids(stream) => stream.feed(ids).collect(),
                Source::Text(_) => Vec::new(),
            };
            (Some(source), events)
        })
    }
}

/// Why ids are refused.
const NO_IDS: &str = "the stream reads text; create it with a tokenizer to read token ids";

fn ended() -> Failure {
    Failure::new("StreamError", "the stream has ended")
}

#[cfg(feature = "internals")]
impl PyStream {
    /// Feeds ids one by one, to measure the work of one call.
    pub(crate) fn repeat_feed(&self, py: Python<'_>, ids: &[u32]) {
        let mut slot = self.source.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if let Some(Source::Ids(stream)) = slot.as_deref_mut() {
            for id in ids {
                std::hint::black_box(stream.feed(&[*id]).collect::<Vec<_>>());
            }
        }
    }
}

#[pymethods]
impl PyStream {
    #[new]
    #[pyo3(
        signature = (format, **options),
        text_signature = "(format, *, user=False, preambles='show', keep='bodies', completion=False, continues=None, in_reasoning=False, past_stop=False, open_prompt=False, mode='lenient', recover='keep', tools=None, limits=None)"
    )]
    fn create(format: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut all = StreamOptions::default();
        keywords(options, |argument| all.set(argument))?;
        if let Ok(tokenizer) = format.cast::<PyTokenizer>() {
            return Ok(Self::of_ids(tokenizer.get(), &all));
        }
        Ok(Self::of_text(Argument::new("format", format).text_format()?, &all))
    }

    /// Reads a chunk.
    ///
    /// Args:
    ///     chunk: Text (`str`, or `bytes` that may end inside a character); or token ids: one, a list, or
    ///         an array of NumPy.
    ///
    /// Returns:
    ///     The new events.
    ///
    /// Raises:
    ///     ArgumentTypeError, ArgumentValueError: The chunk is not what the stream reads.
    ///     StreamError: The stream has ended.
    fn feed<'py>(
        &self,
        py: Python<'py>,
        chunk: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        if chunk.is_instance_of::<PyInt>() && !chunk.is_instance_of::<PyBool>() {
            let Ok(id) = chunk.extract::<u32>() else {
                return Err(wrong_value("chunk", "the number is not a token id"));
            };
            return self.feed_id(py, id);
        }
        if chunk.is_instance_of::<PyString>() {
            return self.feed_text(py, Argument::new("chunk", chunk).text()?.as_bytes());
        }
        if let Ok(bytes) = chunk.cast::<PyBytes>() {
            return self.feed_text(py, bytes.as_bytes());
        }
        if chunk.is_instance_of::<PyBool>() || chunk.is_instance_of::<PyDict>() {
            let expected = "a `str`, `bytes`, a token id or token ids";
            return Err(wrong_type("chunk", expected, chunk));
        }
        self.feed_ids(py, &ids(&Argument::new("chunk", chunk))?)
    }

    /// Ends the input.
    ///
    /// Returns:
    ///     The last events.
    ///
    /// Raises:
    ///     StreamError: The stream has ended before.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.work(py, 0, |source| {
            let events = match *source {
                Source::Text(stream) => stream.finish().collect(),
                Source::Ids(stream) => stream.finish().collect(),
            };
            (None, events)
        })
    }

    /// Cancels the response.
    ///
    /// Returns:
    ///     The last events.
    ///
    /// Raises:
    ///     StreamError: The stream has ended before.
    fn cancel<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.work(py, 0, |source| {
            let events = match *source {
                Source::Text(stream) => stream.cancel().collect(),
                Source::Ids(stream) => stream.cancel().collect(),
            };
            (None, events)
        })
    }

    /// The message that is being read, or `None`.
    #[getter]
    fn open_message(&self, py: Python<'_>) -> Option<PyMessage> {
        let slot = self.source.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let message = match slot.as_deref()? {
            Source::Text(stream) => stream.open_message()?,
            Source::Ids(stream) => stream.open_message()?,
        };
        Some(PyMessage::new(message.clone().into_owned()))
    }

    /// Whether the stream has ended.
    #[getter]
    fn has_ended(&self, py: Python<'_>) -> bool {
        self.source.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Reads all chunks of a source, and the end of the input.
    ///
    /// Args:
    ///     source: An iterable of chunks, or an asynchronous one.
    ///
    /// Returns:
    ///     The events, for `for`, or for `async for` if the source is asynchronous.
    ///
    /// >>> stream = Stream("chatml", completion=True)
    /// >>> [event.text for event in stream.read(["Hi", "!"]) if event.text]
    /// ['Hi', '!']
    fn read<'py>(
        slf: &Bound<'py, Self>,
        source: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reading = slf.py().import("openchatml._reading")?.getattr("Reading")?;
        reading.call1((slf, source))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let kind = if self.reads_ids { "token ids" } else { "text" };
        let state = if self.has_ended(py) { ", ended" } else { "" };
        format!("<Stream of {kind}{state}>")
    }
}
