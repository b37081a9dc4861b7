//! Events of streams as objects of Python.

use openchatml::Event;
use pyo3::prelude::*;

use crate::data;
use crate::message::PyMessage;
use crate::record;

/// An event of a stream.
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
}

#[pymethods]
impl PyEvent {
    #[getter]
    fn r#type(&self) -> &'static str {
        self.event.name()
    }

    #[getter]
    fn index(&self) -> Option<usize> {
        match &self.event {
            Event::MessageStart { index, .. }
            | Event::Delta { index, .. }
            | Event::ReasoningDelta { index, .. }
            | Event::ReasoningSummaryDelta { index, .. }
            | Event::ToolCallDelta { index, .. }
            | Event::Flush { index, .. }
            | Event::MessageDone { index, .. } => Some(*index),
            Event::Done { index, .. }
            | Event::Cancel { index }
            | Event::Diagnostic { index, .. }
            | Event::UserDiagnostic { index, .. } => *index,
            _ => None,
        }
    }

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

    #[getter]
    fn is_preamble(&self) -> bool {
        match &self.event {
            Event::Delta { is_preamble, .. } | Event::Flush { is_preamble, .. } => *is_preamble,
            _ => false,
        }
    }

    #[getter]
    fn message(&self) -> Option<PyMessage> {
        match &self.event {
            Event::MessageStart { message, .. } | Event::MessageDone { message, .. } => {
                Some(PyMessage::new((**message).clone().into_owned()))
            }
            _ => None,
        }
    }

    #[getter]
    fn diagnostic<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.event {
            Event::Diagnostic { diagnostic, .. } => {
                record::diagnostic(py, diagnostic, None).map(Some)
            }
            _ => Ok(None),
        }
    }

    #[getter]
    fn code(&self) -> Option<&'static str> {
        match &self.event {
            Event::Diagnostic { diagnostic, .. } => Some(diagnostic.code.as_str()),
            Event::UserDiagnostic { code, .. } => Some(code.as_str()),
            _ => None,
        }
    }

    #[getter]
    fn reason(&self) -> Option<&str> {
        match &self.event {
            Event::Done { reason, .. } => Some(reason.as_str()),
            Event::ToolCancel { reason, .. } => Some(reason),
            _ => None,
        }
    }

    #[getter]
    fn call_id(&self) -> Option<&str> {
        match &self.event {
            Event::ToolCancel { call_id, .. } => Some(call_id),
            _ => None,
        }
    }

    /// The event as the library writes it in streams.
    fn to_json(&self) -> String {
        self.event.to_json()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        data::from_json(py, &self.event.to_json())
    }

    fn __repr__(&self) -> String {
        format!("Event({})", self.event.to_json())
    }
}
