//! Events of streams as objects of Python.

use openchatml::Event;
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::argument::Argument;
use crate::data;
use crate::message::PyMessage;
use crate::pickle::{malformed, restorer};
use crate::record;
use crate::state::{event, event_state};

/// An event of a stream. Two events are equal if their JSON is equal.
///
/// >>> stream = Stream("harmony", completion=True)
/// >>> [event.type for event in stream.feed("<|channel|>final<|message|>4.")]
/// ['message.start', 'response.delta']
#[pyclass(frozen, eq, module = "openchatml", name = "Event")]
#[derive(Clone)]
pub(crate) struct PyEvent {
    event: Event<'static>,
}

/// Two events are equal if they have the same JSON.
impl PartialEq for PyEvent {
    fn eq(&self, other: &Self) -> bool {
        self.event.to_json() == other.event.to_json()
    }
}

impl PyEvent {
    pub(crate) fn new(event: Event<'static>) -> Self {
        Self { event }
    }

    pub(crate) fn event(&self) -> &Event<'static> {
        &self.event
    }
}

#[pymethods]
impl PyEvent {
    /// Creates the event that a runtime sends when it cancels a call.
    ///
    /// >>> Event.tool_cancel("c1", "timeout").type
    /// 'tool.cancel'
    #[staticmethod]
    fn tool_cancel(call_id: &Bound<'_, PyAny>, reason: &Bound<'_, PyAny>) -> PyResult<Self> {
        let call_id = Argument::new("call_id", call_id).text()?.to_owned().into();
        let reason = Argument::new("reason", reason).text()?.to_owned().into();
        Ok(Self::new(Event::ToolCancel { call_id, reason }))
    }

    /// The type: `"message.start"`, `"message.done"`, `"message.hidden"`, `"response.delta"`,
    /// `"response.reasoning_text.delta"`, `"response.reasoning_summary_text.delta"`,
    /// `"response.tool_call.delta"`, `"response.delta.flush"`, `"response.done"`, `"response.cancel"`,
    /// `"tool.cancel"` or `"diagnostic"`.
    #[getter]
    fn r#type(&self) -> &'static str {
        self.event.name()
    }

    /// The index of the message, from 0.
    #[getter]
    fn index(&self) -> Option<usize> {
        match &self.event {
            Event::MessageStart { index, .. }
            | Event::Delta { index, .. }
            | Event::ReasoningDelta { index, .. }
            | Event::ReasoningSummaryDelta { index, .. }
            | Event::ToolCallDelta { index, .. }
            | Event::Flush { index, .. }
            | Event::MessageDone { index, .. }
            | Event::MessageHidden { index } => Some(*index),
            Event::Done { index, .. }
            | Event::Cancel { index }
            | Event::Diagnostic { index, .. }
            | Event::UserDiagnostic { index, .. } => *index,
            _ => None,
        }
    }

    /// The text of a delta; otherwise `None`.
    #[getter]
    fn text(&self) -> Option<&str> {
        match &self.event {
            Event::Delta { text, .. }
            | Event::ReasoningDelta { text, .. }
            | Event::ReasoningSummaryDelta { text, .. }
            | Event::ToolCallDelta { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether a delta is commentary for the user before the answer.
    #[getter]
    fn is_preamble(&self) -> bool {
        match &self.event {
            Event::Delta { is_preamble, .. } | Event::Flush { is_preamble, .. } => *is_preamble,
            _ => false,
        }
    }

    /// The message of `"message.start"` (without its text) and `"message.done"`.
    #[getter]
    fn message(&self) -> Option<PyMessage> {
        match &self.event {
            Event::MessageStart { message, .. } | Event::MessageDone { message, .. } => {
                Some(PyMessage::new((**message).clone().into_owned()))
            }
            _ => None,
        }
    }

    /// The diagnostic. `None` for a user: see `code`.
    #[getter]
    fn diagnostic<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.event {
            Event::Diagnostic { diagnostic, .. } => {
                record::diagnostic(py, diagnostic, None).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The code of a diagnostic.
    #[getter]
    fn code(&self) -> Option<&'static str> {
        match &self.event {
            Event::Diagnostic { diagnostic, .. } => Some(diagnostic.code.as_str()),
            Event::UserDiagnostic { code, .. } => Some(code.as_str()),
            _ => None,
        }
    }

    /// Why the response is done (`"return"`, `"call"` or `"end"`), or why a call is cancelled.
    #[getter]
    fn reason(&self) -> Option<&str> {
        match &self.event {
            Event::Done { reason, .. } => Some(reason.as_str()),
            Event::ToolCancel { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// The cancelled call.
    #[getter]
    fn call_id(&self) -> Option<&str> {
        match &self.event {
            Event::ToolCancel { call_id, .. } => Some(call_id),
            _ => None,
        }
    }

    /// Returns the event as JSON, as OpenChatML 2.2 has it.
    fn to_json(&self) -> String {
        self.event.to_json()
    }

    /// Returns the event as a dict, as OpenChatML 2.2 has it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        data::from_json(py, &self.event.to_json())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (state, message) = event_state(&self.event);
        let message = message.map(|it| PyMessage::new(it.clone()));
        let fields = (state, message).into_bound_py_any(py)?;
        PyTuple::new(py, [restorer(py, "_restore_event")?, fields])
    }

    fn __repr__(&self) -> String {
        format!("Event({})", self.event.to_json())
    }
}

/// Restores a pickled event.
#[pyfunction]
#[pyo3(name = "_restore_event", signature = (state, message))]
pub(crate) fn restore_event(
    state: &Bound<'_, PyAny>,
    message: Option<&Bound<'_, PyMessage>>,
) -> PyResult<PyEvent> {
    let state = state.extract().map_err(|_| malformed())?;
    let message = message.map(|it| it.get().message().clone());
    event(state, message).map(PyEvent::new).ok_or_else(malformed)
}
