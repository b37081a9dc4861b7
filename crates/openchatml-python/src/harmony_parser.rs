//! The parser of `openchatml.compat.openai_harmony`, id by id.

use std::sync::{Mutex, MutexGuard, PoisonError};

use openchatml::{
    Channel, Code, Control, Diagnostic, End, Event, Message, ReadOptions, Role, Severity,
};
use openchatml_tokens::TokenStream;
use pyo3::prelude::*;
use pyo3::sync::MutexExt as _;
use pyo3::types::PyString;

use crate::argument::Argument;
use crate::encoding::AnyEncoding;
use crate::error::{Failure, caught, wrong_type, wrong_value};
use crate::message_fields::ids;
use crate::tokenizer::PyTokenizer;

/// What the parser waits for.
#[derive(Clone, Copy, PartialEq)]
enum State {
    ExpectStart,
    Header,
    Content,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::ExpectStart => "ExpectStart",
            Self::Header => "Header",
            Self::Content => "Content",
        }
    }
}

/// A message as `openai_harmony` describes it: role, name, text, channel, recipient, content type.
type Fields =
    (&'static str, Option<String>, String, Option<&'static str>, Option<String>, Option<String>);

/// Reads ids one by one, and remembers what a caller can ask for.
///
/// Threads can share it: a call waits until the call before it is done.
#[pyclass(frozen, subclass, module = "openchatml._openchatml", name = "_HarmonyParser")]
pub(crate) struct PyHarmonyParser {
    parser: Mutex<Parser>,
}

struct Parser {
    /// `None` after the end. In a box, because it is taken for every id.
    stream: Option<Box<TokenStream<AnyEncoding>>>,
    progress: Progress,
    start: u32,
    channel: u32,
}

/// All that the ids told until now.
struct Progress {
    state: State,
    /// Whether an error of the input raises an exception.
    is_strict: bool,
    /// Whether messages of the assistant have the channel that the reader shows them on, and calls
    /// with a guessed part have no recipient.
    is_guarded: bool,
    next_role: Option<Role>,
    header: Option<Message<'static>>,
    /// Whether the header of the open message has a channel.
    has_channel: bool,
    header_tokens: Vec<u32>,
    content_tokens: Vec<u32>,
    tokens: Vec<u32>,
    content: String,
    /// The text that the last id added; empty if it added none.
    delta: String,
    messages: Vec<Fields>,
    /// The first error that has not been raised.
    error: Option<Diagnostic>,
}

impl Progress {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::MessageStart { message, .. } => {
                self.header = Some(message.into_value().into_owned());
                self.header_tokens.clear();
                self.next_role = None;
                self.state = State::Content;
            }
            Event::Delta { text, .. }
            | Event::ReasoningDelta { text, .. }
            | Event::ReasoningSummaryDelta { text, .. }
            | Event::ToolCallDelta { text, .. } => {
                self.content.push_str(&text);
                self.delta.push_str(&text);
            }
            Event::MessageDone { message, .. } => {
                // A header that was cut off is no message.
                if message.end != End::Prompt {
                    let fields = self.fields(&message);
                    self.messages.push(fields);
                }
                self.header = None;
                self.has_channel = false;
                self.content.clear();
                self.content_tokens.clear();
                // A delta belongs to the message that is open.
                self.delta.clear();
                self.state = State::ExpectStart;
            }
            Event::Diagnostic { diagnostic, .. }
                if self.is_strict
                    && self.error.is_none()
                    && diagnostic.severity == Severity::Error =>
            {
                self.error = Some(diagnostic.into_value());
            }
            _ => {}
        }
    }

    fn fields(&self, message: &Message<'_>) -> Fields {
        (
            message.role.as_str(),
            message.name.as_deref().map(str::to_owned),
            message.body.text().into_owned(),
            self.channel(message),
            self.recipient(message),
            content_type(message),
        )
    }

    /// The channel of a message: the one that its header has, and no guess.
    fn channel(&self, message: &Message<'_>) -> Option<&'static str> {
        if self.is_guarded && is_guessed_call(message) {
            return Some(Channel::Analysis.as_str());
        }
        if self.has_channel {
            return message.channel.map(Channel::as_str);
        }
        let is_filled = self.is_guarded && message.role == Role::Assistant;
        is_filled.then(|| message.effective_channel().as_str())
    }

    /// The recipient of a message, unless a program must not run the call.
    fn recipient(&self, message: &Message<'_>) -> Option<String> {
        let is_left_out = self.is_guarded && is_guessed_call(message);
        message.recipient.as_deref().filter(|_| !is_left_out).map(str::to_owned)
    }
}

/// Whether a reader guessed a part of a call.
fn is_guessed_call(message: &Message<'_>) -> bool {
    message.recovered && message.role == Role::Assistant && message.recipient.is_some()
}

fn content_type(message: &Message<'_>) -> Option<String> {
    let kind = message.content_type.as_deref()?;
    Some(if message.constrained { format!("<|constrain|>{kind}") } else { kind.to_owned() })
}

impl Parser {
    /// Reads ids until one makes the input malformed. After a panic the parser has ended.
    fn process(&mut self, ids: &[u32]) -> Result<(), Failure> {
        let Some(mut stream) = self.stream.take() else { return Err(ended()) };
        let stream = caught(|| {
            for id in ids {
                self.step(&mut stream, *id);
                if self.progress.error.is_some() {
                    break;
                }
            }
            stream
        })?;
        self.stream = Some(stream);
        self.raise()
    }

    fn step(&mut self, stream: &mut TokenStream<AnyEncoding>, id: u32) {
        let progress = &mut self.progress;
        let was = progress.state;
        progress.tokens.push(id);
        progress.delta.clear();
        progress.has_channel |= id == self.channel && was == State::Header;
        stream.feed_with(&[id], |event| progress.take(event));
        match progress.state {
            // It also ends a message that has no end token.
            State::ExpectStart if id == self.start => progress.state = State::Header,
            State::Header if was == State::Header => progress.header_tokens.push(id),
            State::Content if was == State::Content => progress.content_tokens.push(id),
            _ => {}
        }
    }

    /// Ends the input.
    fn finish(&mut self) -> Result<(), Failure> {
        let progress = &mut self.progress;
        if progress.is_strict && progress.state == State::Header {
            return Err(Failure::new("HarmonyError", "the ids end inside a header"));
        }
        let Some(stream) = self.stream.take() else { return Ok(()) };
        progress.delta.clear();
        caught(|| stream.finish_with(|event| progress.take(event)))?;
        // `openai_harmony` accepts a message without its end.
        progress.error.take_if(|it| it.code == Code::StreamTruncated);
        self.raise()
    }

    fn raise(&mut self) -> Result<(), Failure> {
        let Some(mut found) = self.progress.error.take() else { return Ok(()) };
        if found.code == Code::ParseHeader {
            // The words of `openai_harmony`, which programs look for.
            let text = &found.message;
            found.message = format!("unexpected tokens remaining in message header: {text}");
        }
        Err(Failure::found("HarmonyError", &found, None))
    }
}

fn ended() -> Failure {
    Failure::new("HarmonyError", "the parser has ended: `process_eos` was called")
}

impl PyHarmonyParser {
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Parser> {
        self.parser.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyHarmonyParser {
    #[new]
    fn create(
        tokenizer: &Bound<'_, PyTokenizer>,
        role: Option<&Bound<'_, PyAny>>,
        strict: bool,
        guard: bool,
    ) -> PyResult<Self> {
        let tokenizer = &tokenizer.get().writer.tokenizer;
        let role = role.map(|it| Argument::new("role", it).word(Role::ALL, Role::as_str));
        let role = role.transpose()?;
        let mut options = ReadOptions::default();
        options.continues = role;
        options.past_stop = role.is_some();
        let control = |control| {
            let id = tokenizer.id(control);
            id.ok_or_else(|| wrong_value("tokenizer", "it has no ids for the tokens of Harmony"))
        };
        let progress = Progress {
            state: if role.is_some() { State::Header } else { State::ExpectStart },
            is_strict: strict,
            is_guarded: guard,
            next_role: role,
            header: None,
            has_channel: false,
            header_tokens: Vec::new(),
            content_tokens: Vec::new(),
            tokens: Vec::new(),
            content: String::new(),
            delta: String::new(),
            messages: Vec::new(),
            error: None,
        };
        let (start, channel) = (control(Control::Start)?, control(Control::Channel)?);
        let stream = Some(Box::new(tokenizer.stream(&options)));
        Ok(Self { parser: Mutex::new(Parser { stream, progress, start, channel }) })
    }

    /// Reads an id.
    fn process<'py>(
        slf: Bound<'py, Self>,
        token: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        let id = token.extract().map_err(|_| wrong_type("token", "a token id", token))?;
        slf.get().lock(slf.py()).process(&[id])?;
        Ok(slf)
    }

    /// Reads ids, and the end of the input.
    fn _process_all(&self, py: Python<'_>, tokens: &Bound<'_, PyAny>) -> PyResult<()> {
        let ids = ids(&Argument::new("tokens", tokens))?;
        let mut guard = self.lock(py);
        let parser = &mut *guard;
        py.detach(|| {
            parser.process(&ids)?;
            parser.finish()
        })?;
        Ok(())
    }

    /// Ends the input.
    fn process_eos<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        slf.get().lock(slf.py()).finish()?;
        Ok(slf)
    }

    /// The text of the open message until now.
    #[getter]
    fn current_content<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, &self.lock(py).progress.content)
    }

    /// The text that the last id added, or `None`.
    #[getter]
    fn last_content_delta(&self, py: Python<'_>) -> Option<String> {
        let parser = self.lock(py);
        (!parser.progress.delta.is_empty()).then(|| parser.progress.delta.clone())
    }

    /// The role of the open message.
    #[getter]
    fn _role(&self, py: Python<'_>) -> Option<&'static str> {
        let parser = self.lock(py);
        let open = parser.progress.header.as_ref().map(|it| it.role);
        open.or(parser.progress.next_role).map(Role::as_str)
    }

    /// The name of the author of the open message.
    #[getter]
    fn _name(&self, py: Python<'_>) -> Option<String> {
        self.lock(py).progress.header.as_ref()?.name.as_deref().map(str::to_owned)
    }

    /// The type of the content of the open message.
    #[getter]
    fn current_content_type(&self, py: Python<'_>) -> Option<String> {
        content_type(self.lock(py).progress.header.as_ref()?)
    }

    /// The recipient of the open message.
    #[getter]
    fn current_recipient(&self, py: Python<'_>) -> Option<String> {
        let parser = self.lock(py);
        parser.progress.recipient(parser.progress.header.as_ref()?)
    }

    /// The channel of the open message.
    #[getter]
    fn current_channel(&self, py: Python<'_>) -> Option<&'static str> {
        let parser = self.lock(py);
        parser.progress.channel(parser.progress.header.as_ref()?)
    }

    /// The ids until now.
    #[getter]
    fn tokens(&self, py: Python<'_>) -> Vec<u32> {
        self.lock(py).progress.tokens.clone()
    }

    /// The fields of the messages until now.
    #[getter]
    fn _fields(&self, py: Python<'_>) -> Vec<Fields> {
        self.lock(py).progress.messages.clone()
    }

    /// The number of messages until now.
    #[getter]
    fn _count(&self, py: Python<'_>) -> usize {
        self.lock(py).progress.messages.len()
    }

    /// What the parser waits for.
    #[getter]
    fn _state(&self, py: Python<'_>) -> &'static str {
        self.lock(py).progress.state.as_str()
    }

    /// The ids of the open header.
    #[getter]
    fn _header_tokens(&self, py: Python<'_>) -> Vec<u32> {
        self.lock(py).progress.header_tokens.clone()
    }

    /// The ids of the text of the open message.
    #[getter]
    fn _content_tokens(&self, py: Python<'_>) -> Vec<u32> {
        self.lock(py).progress.content_tokens.clone()
    }
}
