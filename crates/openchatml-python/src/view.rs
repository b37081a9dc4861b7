//! What a user can see of a conversation.

use openchatml::{Code, Conversation, Policy, Preambles};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::argument::Argument;
use crate::error::{Failure, wrong_type};
use crate::record::record;

/// A message that a user can see.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    role: &'static str,
    text: String,
    is_preamble: bool,
}

/// What a user can see of a conversation. Only `Conversation.user_view` creates it.
///
/// It contains the visible messages: `len` and `for` work.
#[pyclass(frozen, eq, module = "openchatml", name = "UserView")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PyUserView {
    /// One entry for each message of the conversation; `None` is hidden.
    messages: Vec<Option<Seen>>,
}

impl PyUserView {
    pub(crate) fn new(conversation: &Conversation<'_>, policy: Policy) -> Self {
        let view = policy.view(conversation);
        let seen = |at| {
            let message = view.message(at).ok()?;
            let (role, text) = (message.role().as_str(), message.text().to_owned());
            Some(Seen { role, text, is_preamble: message.is_preamble() })
        };
        Self { messages: (0..conversation.messages.len()).map(seen).collect() }
    }
}

impl Seen {
    fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        record(py, "UserMessage")?.call1((self.role, &self.text, self.is_preamble))
    }
}

#[pymethods]
impl PyUserView {
    /// The visible messages.
    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let seen: Vec<_> =
            self.messages.iter().flatten().map(|it| it.object(py)).collect::<PyResult<_>>()?;
        PyTuple::new(py, seen)
    }

    /// Returns the message at this index of the conversation.
    ///
    /// Raises:
    ///     HiddenError: The message is hidden.
    ///     IndexError: There is no such message.
    ///     ArgumentTypeError: The argument is not an `int`.
    ///
    /// >>> view = Conversation([Message.reasoning("Easy."), Message.answer("4.")]).user_view()
    /// >>> view.message(1).text
    /// '4.'
    fn message<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !index.is_instance_of::<pyo3::types::PyInt>() {
            return Err(wrong_type("index", "an `int`", index));
        }
        let at = Argument::new("index", index).number().ok();
        match at.and_then(|at| self.messages.get(at)) {
            Some(Some(seen)) => seen.object(py),
            Some(None) => {
                let found = Code::PermVisibility.at(Default::default(), "the message is hidden");
                Err(Failure::found("HiddenError", &found, None).into())
            }
            None => Err(pyo3::exceptions::PyIndexError::new_err("there is no such message")),
        }
    }

    fn __len__(&self) -> usize {
        self.messages.iter().flatten().count()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.messages(py)?.try_iter()?.into_any())
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<String> {
        Ok(format!("UserView({})", self.messages(py)?.repr()?))
    }

    fn __str__(&self) -> String {
        let seen = self.messages.iter().flatten();
        seen.map(|it| format!("{}: {}\n", it.role, it.text)).collect()
    }
}

/// Whether preambles are shown.
pub(crate) fn preambles(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Preambles> {
    Argument::new(name, value).word(&[Preambles::Show, Preambles::Hide], |it| match it {
        Preambles::Show => "show",
        Preambles::Hide => "hide",
    })
}
