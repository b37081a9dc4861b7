//! Tools that are functions of Python, and the router that runs them.

use std::sync::Arc;
use std::time::Duration;

use openchatml::{Tool as Declared, history};
use openchatml_tools::{
    Approval, ApprovalFuture, ApprovalPolicy, ApprovalRequest, Approver, Call, Entry, Envelope,
    Failure as ToolFailure, Output, Router, RouterOptions, Tool, ToolFuture, Toolbox, TurnEvent,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple};

use crate::argument::{Argument, keywords};
use crate::cancellation::{PyCancellation, until_cancelled};
use crate::conversation::PyConversation;
use crate::data;
use crate::error::{Failure, detached, wrong_type, wrong_value};
use crate::message::PyMessage;
use crate::python_call::{PythonRuntime, block_on, described};
use crate::tool_list::{declaration, tools};

/// A function of Python as a tool.
struct Function {
    function: Arc<Py<PyAny>>,
    runtime: Arc<PythonRuntime>,
}

impl Tool for Function {
    fn call<'t>(&'t self, call: &'t Call) -> ToolFuture<'t> {
        Box::pin(async move {
            let failed = |error: PyErr| ToolFailure::new(described(&error));
            let arguments = call.parse().map_err(|found| ToolFailure::new(found.message))?;
            let job = Python::attach(|py| {
                let arguments = data::write(py, &arguments)?;
                let Ok(named) = arguments.cast::<PyDict>() else {
                    return Err(wrong_type("arguments", "an object", &arguments));
                };
                self.runtime.job(self.function.bind(py), &[], Some(named))
            });
            let name = call.name().to_owned();
            job.map_err(failed)?.run(Some(name), output).await.map_err(failed)
        })
    }
}

/// The output of a tool: a text, or data.
fn output(result: &Bound<'_, PyAny>) -> PyResult<Output> {
    match result.cast::<PyString>() {
        Ok(_) => Ok(Output::text(Argument::new("result", result).text()?)),
        Err(_) => Ok(Output::json(data::read("result", result)?)),
    }
}

/// A function of Python that approves calls.
struct ApprovingFunction {
    function: Arc<Py<PyAny>>,
    runtime: Arc<PythonRuntime>,
}

impl Approver for ApprovingFunction {
    fn approve<'a>(&'a self, request: ApprovalRequest<'a>) -> ApprovalFuture<'a> {
        Box::pin(async move {
            let refused = |error: PyErr| Approval::No(described(&error));
            let job = Python::attach(|py| {
                let name = PyString::new(py, request.name).into_any();
                let arguments = PyString::new(py, request.arguments).into_any();
                self.runtime.job(self.function.bind(py), &[name, arguments], None)
            });
            match job {
                Ok(job) => job.run(None, approval).await.unwrap_or_else(refused),
                Err(error) => refused(error),
            }
        })
    }
}

/// `True` runs the call; `False` or a reason does not; a dict runs it with other arguments.
fn approval(result: &Bound<'_, PyAny>) -> PyResult<Approval> {
    if let Ok(flag) = result.cast::<PyBool>() {
        return Ok(match flag.is_true() {
            true => Approval::Yes,
            false => Approval::No("no reason was given".to_owned()),
        });
    }
    if result.is_instance_of::<PyString>() {
        return Ok(Approval::No(Argument::new("result", result).text()?.to_owned()));
    }
    match data::read("result", result)? {
        value if value.as_map().is_some() => Ok(Approval::Edited(value.to_json())),
        _ => Err(wrong_type("result", "a `bool`, a reason, or arguments", result)),
    }
}

/// A tool with its declaration.
struct Declaration {
    tool: Declared<'static>,
    function: Arc<Py<PyAny>>,
}

/// Runs the calls of models: functions of Python are the tools.
///
/// It checks the arguments of a call against the schema of its tool, and runs calls concurrently.
/// Each call gets exactly one reply, even if its function raises an exception, hangs, or returns too
/// much. Plain functions run in threads, asynchronous ones in an event loop. An exception is logged
/// (logger `openchatml`); the model gets its type and text.
///
/// Args:
///     tools: The functions. Their type hints and docstrings are the declarations; see
///         `declaration`.
///     timeout: The maximum time of a call, in seconds. A plain function that takes longer goes on
///         in its thread, without effect on the reply.
///     at_once: The number of calls that run concurrently.
///     output_bytes: The maximum size of a reply, in bytes.
///     envelope: `"json"` (a reply of OpenChatML 2.2, which says whether the call succeeded) or
///         `"raw"` (only the output).
///     approve: A function of the name of a tool and of its arguments as JSON. It returns whether
///         the call may run, a reason why not, or other arguments as a dict.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
///     ToolError: A function cannot be declared.
///
/// >>> def weather(city: str) -> str:
/// ...     return f"Sunny in {city}."
/// >>> router = Router([weather], envelope="raw")
/// >>> call = Message.call("weather", {"city": "Paris"}, call_id="c1")
/// >>> router.answer(Conversation([Message.user("?"), call]))
/// (Message('tool', 'Sunny in Paris.', name='functions.weather', recipient='assistant', channel='commentary', call_id='c1'),)
#[pyclass(frozen, module = "openchatml", name = "Router")]
pub(crate) struct PyRouter {
    tools: Vec<Declaration>,
    options: RouterOptions,
    approve: Option<Arc<Py<PyAny>>>,
}

impl PyRouter {
    /// Returns the tools, which run in this runtime.
    ///
    /// # Errors
    ///
    /// The name of a tool is invalid.
    pub(crate) fn toolbox(&self, runtime: &Arc<PythonRuntime>) -> Result<Toolbox, Failure> {
        let mut toolbox = Toolbox::default();
        for Declaration { tool, function } in &self.tools {
            let (function, runtime) = (Arc::clone(function), Arc::clone(runtime));
            let entry = Entry::new(Function { function, runtime }).declared(tool);
            let inserted = toolbox.insert(format!("functions.{}", tool.name), entry);
            inserted.map_err(|error| Failure::new("ToolError", error.to_string()))?;
        }
        Ok(toolbox)
    }

    /// Returns a router for these tools.
    ///
    /// # Errors
    ///
    /// The schema of a tool is invalid.
    pub(crate) fn router(
        &self,
        toolbox: Toolbox,
        runtime: &Arc<PythonRuntime>,
    ) -> Result<Router, Failure> {
        let mut options = self.options.clone();
        if let Some(function) = &self.approve {
            let (function, runtime) = (Arc::clone(function), Arc::clone(runtime));
            options.approve = ApprovalPolicy::Always;
            options.approver = Some(Arc::new(ApprovingFunction { function, runtime }));
        }
        let made = Router::new(toolbox, options);
        made.map_err(|error| Failure::new("ToolError", error.to_string()))
    }

    /// Creates a router of functions.
    pub(crate) fn of(
        functions: &Argument<'_, '_>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let py = functions.value.py();
        let mut list = Vec::new();
        for function in functions.items()? {
            if !function.is_callable() {
                return Err(wrong_type(functions.name, "functions", &function));
            }
            let declared = PyTuple::new(py, [declaration(&function)?])?.into_any();
            let tool = tools(&Argument::new(functions.name, &declared))?.pop();
            let tool = tool.ok_or_else(|| wrong_value(functions.name, "a tool is invalid"))?;
            list.push(Declaration { tool, function: Arc::new(function.unbind()) });
        }
        let (mut options, mut approve) = (RouterOptions::default(), None);
        keywords(settings, |argument| {
            match argument.name {
                "timeout" => options.timeout = seconds(argument)?,
                "at_once" => options.at_once = argument.number()?.max(1),
                "output_bytes" => options.output_bytes = argument.number()?,
                "envelope" => options.envelope = argument.word(ENVELOPES, envelope)?,
                "approve" if argument.value.is_none() => {}
                "approve" if argument.value.is_callable() => {
                    approve = Some(Arc::new(argument.value.clone().unbind()));
                }
                "approve" => return Err(wrong_type("approve", "a function", argument.value)),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        options.longest = options.longest.max(options.timeout);
        Ok(Self { tools: list, options, approve })
    }
}

const ENVELOPES: &[Envelope] = &[Envelope::Json, Envelope::Raw];

fn envelope(envelope: Envelope) -> &'static str {
    match envelope {
        Envelope::Json => "json",
        Envelope::Raw => "raw",
    }
}

/// A time in seconds.
pub(crate) fn seconds(argument: &Argument<'_, '_>) -> PyResult<Duration> {
    let value = argument.value;
    let is_number = value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>();
    let number = value.extract::<f64>().ok().filter(|_| is_number);
    let Some(number) = number else {
        return Err(wrong_type(argument.name, "a number of seconds", value));
    };
    let time = Duration::try_from_secs_f64(number);
    time.map_err(|_| wrong_value(argument.name, "the number is negative or too large"))
}

#[pymethods]
impl PyRouter {
    #[new]
    #[pyo3(
        signature = (tools, **options),
        text_signature = "(tools, *, timeout=30.0, at_once=16, output_bytes=1048576, envelope='json', approve=None)"
    )]
    fn create(tools: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::of(&Argument::new("tools", tools), options)
    }

    /// The declarations of the tools, as OpenAI's API has them.
    #[getter]
    fn declarations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut only = openchatml::Conversation::default();
        only.tools = self.tools.iter().map(|it| it.tool.clone()).collect();
        PyConversation::new(only).tools_of(py)
    }

    /// Runs the calls of a conversation that have no reply, and returns the replies in the order in
    /// which the calls end.
    ///
    /// Asynchronous functions run in an event loop of their own; `answer_async` uses the loop of the
    /// caller.
    ///
    /// Raises:
    ///     ArgumentTypeError: The argument is not a `Conversation`.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        conversation: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        self._answer(py, conversation, None, None)
    }

    #[pyo3(signature = (conversation, runtime = None, cancellation = None))]
    fn _answer<'py>(
        &self,
        py: Python<'py>,
        conversation: &Bound<'py, PyAny>,
        runtime: Option<&Bound<'py, PyAny>>,
        cancellation: Option<&Bound<'py, PyCancellation>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let Ok(conversation) = conversation.cast::<PyConversation>() else {
            return Err(wrong_type("conversation", "a `Conversation`", conversation));
        };
        let runtime = PythonRuntime::new(py, runtime)?;
        let router = self.router(self.toolbox(&runtime)?, &runtime)?;
        let messages = &conversation.get().conversation().messages;
        let answered = history::answers(messages);
        let is_pending = |at: &usize| messages[*at].is_call() && !answered.contains(&Some(*at));
        let pending: Vec<_> = (0..messages.len()).filter(is_pending).collect();
        let token = cancellation.map_or_else(Default::default, |it| it.get().token.clone());
        let replies = detached(py, || {
            block_on(until_cancelled(&token, async {
                let ids = messages.iter().filter(|it| !it.is_call());
                let ids = ids.filter_map(|it| it.call_id.as_deref().map(str::to_owned));
                let mut turn = router.turn(ids);
                let mut replies = Vec::new();
                for at in pending {
                    turn.dispatch(&messages[at]).await;
                }
                while let Some(event) = turn.next().await {
                    if let TurnEvent::Done { reply, .. } = event {
                        replies.push(reply);
                    }
                }
                replies
            }))
        })?;
        runtime.close(py)?;
        PyTuple::new(py, replies??.into_iter().map(PyMessage::new))
    }

    fn __repr__(&self) -> String {
        let names: Vec<_> = self.tools.iter().map(|it| it.tool.name.as_ref()).collect();
        format!("<Router of {}>", names.join(", "))
    }
}
