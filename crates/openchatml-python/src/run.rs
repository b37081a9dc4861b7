//! The loop: a model, its tools, and a conversation.

use std::pin::pin;
use std::sync::Arc;

use openchatml::{Format, TextFormat};
use openchatml_tools::{
    CancellationToken, Completions, CompletionsOptions, Engine, Model, Session, SessionError,
    SessionEvent, SessionOptions, StopReason,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::argument::{Argument, keywords};
use crate::cancellation::{PyCancellation, SIGNALS};
use crate::consent::consent_to_drops;
use crate::conversation::PyConversation;
use crate::data;
use crate::document::source;
use crate::error::{Failure, detached, wrong_type, wrong_value};
use crate::python_call::{PythonRuntime, block_on};
use crate::record::{losses, record};
use crate::router::{PyRouter, seconds};
use crate::tokenizer::PyTokenizer;
use crate::upstream::PythonModel;
use crate::write::{PromptOptions, conversation_of};

/// What runs, from the arguments.
struct Settings {
    session: SessionOptions,
    format: Option<TextFormat>,
    engine: CompletionsOptions,
    on_event: Option<Py<PyAny>>,
    token: CancellationToken,
}

impl Settings {
    /// Sets an option. Returns whether there is an option of this name.
    fn set(&mut self, argument: &Argument<'_, '_>) -> PyResult<bool> {
        let session = &mut self.session;
        let is_given = !argument.value.is_none();
        match argument.name {
            "format" if is_given => self.format = Some(argument.text_format()?),
            "max_steps" if is_given => session.most_steps = argument.number()?,
            "max_calls" => session.most_calls = argument.optional_number()?,
            "max_tokens" => {
                session.most_tokens = argument.optional_number()?.map(|it| it as u64);
            }
            "max_time" if is_given => session.most_time = Some(seconds(argument)?),
            "engine" if is_given => {
                self.engine.engine = Some(argument.word(Engine::ALL, Engine::as_str)?);
            }
            "model_name" => self.engine.model = argument.optional_text()?.map(str::to_owned),
            "api_key" => self.engine.api_key = argument.optional_text()?.map(str::to_owned),
            "sampling" if is_given => self.engine.sampling = sampling(argument)?,
            "on_event" if is_given => {
                if !argument.value.is_callable() {
                    return Err(wrong_type(argument.name, "a function", argument.value));
                }
                self.on_event = Some(argument.value.clone().unbind());
            }
            "cancellation" if is_given => {
                let Ok(it) = argument.value.cast::<PyCancellation>() else {
                    return Err(wrong_type(argument.name, "a `Cancellation`", argument.value));
                };
                self.token = it.get().token.clone();
            }
            "format" | "max_steps" | "max_time" | "engine" | "sampling" | "on_event"
            | "cancellation" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Parameters of sampling: a dict.
fn sampling(argument: &Argument<'_, '_>) -> PyResult<serde_json::Map<String, serde_json::Value>> {
    let value = data::read(argument.name, argument.value)?;
    match serde_json::Value::try_from(&value) {
        Ok(serde_json::Value::Object(map)) => Ok(map),
        Ok(_) => Err(wrong_type(argument.name, "a `dict`", argument.value)),
        Err(found) => Err(wrong_value(argument.name, &found.message)),
    }
}

/// Runs a model with tools until it answers: asks it, runs its calls, and asks it again.
///
/// Args:
///     conversation: The conversation until now, or data of a JSON format.
///     model: The address of a server with `/v1/completions` (vLLM, SGLang, llama.cpp, Ollama); or
///         a function from a prompt to a completion. The prompt is a text, or token ids if there is
///         a `tokenizer`. The completion is a text, token ids, or an iterable of them; the function
///         and the iterable may be asynchronous.
///     tools: A `Router`, or functions of Python.
///     format: The name of the format of the model. The default is that of the tokenizer, or
///         `"harmony"`.
///     tokenizer: Writes prompts as token ids, and reads completions that are token ids.
///     max_steps: The maximum number of requests to the model.
///     max_calls: The maximum number of calls of tools.
///     max_tokens: The maximum number of generated tokens, if the server reports them.
///     max_time: The maximum time, in seconds.
///     on_event: A function that gets each event as a dict.
///     engine: The kind of the server: `"vllm"`, `"sglang"`, `"llama.cpp"`, `"ollama"` or
///         `"openai"`. The default is to ask it.
///     model_name: The name of the model, for a server.
///     api_key: The key for a server.
///     sampling: Parameters of sampling for a server, such as `{"temperature": 0.5}`.
///
/// The other arguments are those of `prompt`.
///
/// Returns:
///     The conversation with all new messages, why the run stopped, and what prompts lost.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
///     ModelError: The model failed. Its `conversation` has what came before, with the replies of tools.
///     RenderError: The format cannot express a prompt.
///     ToolError: A tool cannot be declared.
///
/// >>> def weather(city: str) -> str:
/// ...     '''The weather of a city.'''
/// ...     return "Sunny."
/// >>> def model(prompt):
/// ...     if "Sunny." in prompt:
/// ...         return "<|channel|>final<|message|>It is sunny.<|return|>"
/// ...     return ('<|channel|>commentary to=functions.weather <|constrain|>json<|message|>'
/// ...             '{"city": "Paris"}<|call|>')
/// >>> result = run([{"role": "user", "content": "How is the weather?"}], model, [weather])
/// >>> result.stop_reason, result.conversation[-1].text
/// ('answered', 'It is sunny.')
#[pyfunction]
#[pyo3(
    signature = (conversation, model, tools = None, **options),
    text_signature = "(conversation, model, tools=None, *, format=None, tokenizer=None, max_steps=None, max_calls=None, max_tokens=None, max_time=None, on_event=None, engine=None, model_name=None, api_key=None, sampling=None, keep_reasoning=False, bare=False, enable_thinking=None, profile='default', date=None, reasoning_effort=None, model_identity=None, builtin_tools=(), response_format=None, sanitize=False)"
)]
pub(crate) fn run<'py>(
    py: Python<'py>,
    conversation: &Bound<'py, PyAny>,
    model: &Bound<'py, PyAny>,
    tools: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut settings = Settings {
        session: SessionOptions::default(),
        format: None,
        engine: CompletionsOptions::default(),
        on_event: None,
        token: CancellationToken::new(),
    };
    let (mut runtime, mut tokenizer) = (None, None);
    let others = PyDict::new(py);
    keywords(options, |argument| {
        match argument.name {
            "runtime" => runtime = Some(argument.value.clone()),
            "tokenizer" if argument.value.is_none() => {}
            "tokenizer" => match argument.value.cast::<PyTokenizer>() {
                Ok(it) => tokenizer = Some(it.get().clone()),
                Err(_) => return Err(wrong_type("tokenizer", "a `Tokenizer`", argument.value)),
            },
            "tools" | "allow_loss" | "add_generation_prompt" | "continue_final_message" => {
                return Ok(false);
            }
            name if !settings.set(argument)? => others.set_item(name, argument.value)?,
            _ => {}
        }
        Ok(true)
    })?;
    let format = settings.format.or(tokenizer.as_ref().map(|it| it.writer.tokenizer.format()));
    let format = format.unwrap_or(TextFormat::HARMONY);
    let prompt = PromptOptions::read(py, format.into(), Some(&others))?;
    let source = source(&Argument::new("conversation", conversation))?;
    consent_to_drops(py, source.parsed.as_deref(), prompt.consent)?;
    let chat = conversation_of(&source.document)?;
    let router = router(py, tools)?;
    let router = router.get();
    let runtime = PythonRuntime::new(py, runtime.as_ref())?;
    let toolbox = router.toolbox(&runtime)?;
    let session = Session::new(chat, Format::JSON, router.router(toolbox.clone(), &runtime)?);
    let mut model = self::model(model, format, settings.engine.clone(), &runtime)?;
    model = model.with_options(prompt.options);
    if let Some(tokenizer) = tokenizer {
        model = model.with_encoding(Arc::clone(tokenizer.writer.tokenizer.encoding()));
    }
    let session = session.declare(&toolbox).with_model(model);
    let session = session.with_options(settings.session.clone());
    let ended = detached(py, || block_on(drive(session, &settings)))?;
    runtime.close(py)?;
    let (session, stopped) = ended??;
    let chat = PyConversation::new(session.conversation().clone());
    let mut all = session.losses().to_vec();
    all.extend_from_slice(session.prompt_losses());
    record(py, "RunResult")?.call1((chat, reason(stopped), losses(py, &all)?))
}

/// The router of a run: a `Router`, or one for functions.
fn router<'py>(
    py: Python<'py>,
    tools: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyRouter>> {
    let Some(tools) = tools.filter(|it| !it.is_none()) else {
        let nothing = PyList::empty(py).into_any();
        return Bound::new(py, PyRouter::of(&Argument::new("tools", &nothing), None)?);
    };
    match tools.cast::<PyRouter>() {
        Ok(router) => Ok(router.clone()),
        Err(_) => Bound::new(py, PyRouter::of(&Argument::new("tools", tools), None)?),
    }
}

/// Runs a session, and looks for signals such as Ctrl-C.
///
/// # Errors
///
/// The session fails, a signal raises an exception, or the function for events does.
async fn drive(mut session: Session, settings: &Settings) -> PyResult<(Session, StopReason)> {
    let mut raised = None;
    let mut interrupted = None;
    let result = {
        let (token, on_event, raised) = (&settings.token, &settings.on_event, &mut raised);
        let tell = |event: SessionEvent<'_>| {
            let Some(function) = on_event.as_ref().filter(|_| raised.is_none()) else { return };
            let told = Python::attach(|py| {
                let event = data::from_json(py, &event.to_json())?;
                function.bind(py).call1((event,)).map(|_| ())
            });
            if let Err(error) = told {
                *raised = Some(error);
                token.cancel();
            }
        };
        let mut run = pin!(session.run(token, tell));
        loop {
            if let Ok(result) = tokio::time::timeout(SIGNALS, &mut run).await {
                break result;
            }
            if let Err(error) = Python::attach(|py| py.check_signals()) {
                interrupted = Some(error);
                token.cancel();
            }
        }
    };
    if let Some(error) = interrupted.or(raised) {
        return Err(error);
    }
    let stopped = result.map_err(|error| match error {
        SessionError::Prompt(error) | SessionError::Transcript(error) => {
            Failure::render(&error, Some(session.conversation()))
        }
        error => Failure::new("ModelError", error.to_string()),
    });
    let stopped = match stopped {
        Ok(stopped) => stopped,
        Err(failure) => {
            // What the tools did is done, whatever becomes of the model.
            return Python::attach(|py| {
                let error = PyErr::from(failure);
                let chat = PyConversation::new(session.conversation().clone());
                error.value(py).setattr("conversation", chat)?;
                Err(error)
            });
        }
    };
    Ok((session, stopped))
}

/// A model: a server, or a function.
fn model(
    model: &Bound<'_, PyAny>,
    format: TextFormat,
    engine: CompletionsOptions,
    runtime: &Arc<PythonRuntime>,
) -> PyResult<Model> {
    if model.is_instance_of::<PyString>() {
        let url = Argument::new("model", model).text()?;
        let server = Completions::new(url, engine);
        let server = server.map_err(|error| wrong_value("model", &error.to_string()))?;
        return Ok(Model::new(server, format));
    }
    if !model.is_callable() {
        return Err(wrong_type("model", "an address or a function", model));
    }
    let (function, runtime) = (model.clone().unbind(), Arc::clone(runtime));
    Ok(Model::new(PythonModel { function, runtime }, format))
}

/// The word for the end of a run.
fn reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Answered => "answered",
        StopReason::CallLimit => "call_limit",
        StopReason::Cancelled => "cancelled",
        StopReason::CutOff => "cut_off",
        StopReason::NoMessage => "no_message",
        StopReason::StepLimit => "step_limit",
        StopReason::TimeLimit => "time_limit",
        StopReason::TokenLimit => "token_limit",
        _ => "replied",
    }
}
