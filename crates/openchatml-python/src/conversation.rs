//! Conversations as objects of Python.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use openchatml::{
    Conversation, Data, Document, Format, Header, Message, Negotiation, Policy, Preambles,
    ReadOptions, Settings, history, parse,
};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyTuple, PyType};

use crate::argument::{Argument, json_format, keywords};
use crate::consent::converted;
use crate::data;
use crate::describe::repr;
use crate::error::{Failure, detached, wrong_type, wrong_value};
use crate::html;
use crate::message::{PyMessage, messages};
use crate::options;
use crate::pickle::{pickled, restored};
use crate::record::record;
use crate::tool_list::tools;
use crate::view::{PyUserView, preambles};

/// A conversation: its messages, tools and header.
///
/// It is immutable, so threads can share it. It is a sequence of its messages: `len`, indices, slices
/// and `for` work, and `+` adds messages. Two conversations are equal if their content is equal; white
/// space and other layout of the input do not count. Conversations can be pickled and hashed.
///
/// Args:
///     messages: The messages.
///     tools: The tools: declarations as OpenAI's API has them, or functions of Python.
///     header: The header of OpenChatML 2.x, by key.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
///     ToolError: A function cannot be declared.
///
/// >>> chat = Conversation([Message.user("2 + 2?")])
/// >>> chat = chat + Message.answer("4.")
/// >>> len(chat), chat[-1].text
/// (2, '4.')
#[pyclass(frozen, eq, module = "openchatml", name = "Conversation")]
#[derive(Clone, PartialEq)]
pub(crate) struct PyConversation {
    pub(crate) document: Arc<Document<'static>>,
}

impl PyConversation {
    /// The object for a document that is a conversation.
    pub(crate) fn of(document: Arc<Document<'static>>) -> Option<Self> {
        document.as_conversation().is_some().then_some(Self { document })
    }

    pub(crate) fn new(conversation: Conversation<'static>) -> Self {
        Self { document: Arc::new(conversation.into()) }
    }

    pub(crate) fn conversation(&self) -> &Conversation<'static> {
        self.document.as_conversation().expect("it was created for a conversation")
    }

    /// The tools as data of Python.
    pub(crate) fn tools_of<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.conversation().tools.is_empty() {
            return Ok(PyList::empty(py).into_any());
        }
        let mut only = Conversation::default();
        only.tools.clone_from(&self.conversation().tools);
        let json = openchatml::render(&only.into(), Format::JSON, &Default::default());
        let json = json.map_err(|error| Failure::render(&error, None))?;
        let written = data::from_json(py, &json)?;
        written.get_item("tools")
    }

    fn messages_of(&self) -> &[Message<'static>] {
        &self.conversation().messages
    }
}

#[pymethods]
impl PyConversation {
    #[new]
    #[pyo3(
        signature = (messages = None, **parts),
        text_signature = "(messages=None, *, tools=None, header=None)"
    )]
    fn create(
        messages: Option<&Bound<'_, PyAny>>,
        parts: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut conversation = Conversation::default();
        if let Some(list) = messages {
            conversation.messages = self::messages("messages", list)?;
        }
        change(&mut conversation, parts)?;
        Ok(Self::new(conversation))
    }

    /// Reads data of a JSON format.
    ///
    /// Args:
    ///     data: The data: dicts, lists, texts, numbers, `True`, `False` and `None`.
    ///     format: The name of the JSON format.
    ///
    /// The other arguments are those of `parse`.
    ///
    /// Raises:
    ///     ArgumentTypeError, ArgumentValueError: An argument is invalid, or JSON cannot express the data.
    ///     FormatError: The format is unknown, or is not JSON.
    ///     ParseError: The data is invalid in the format, or not a conversation.
    ///
    /// >>> Conversation.from_dict({"messages": [{"role": "user", "content": "Hi!"}]})
    /// Conversation([Message('user', 'Hi!')])
    #[classmethod]
    #[pyo3(
        signature = (data, format = None, **options),
        text_signature = "($cls, data, format='openai', *, completion=False, continues=None, in_reasoning=False, split_reasoning=False, repair=None, past_stop=False, open_prompt=False, mode='lenient', recover='keep', tools=None, limits=None)"
    )]
    fn from_dict(
        class: &Bound<'_, PyType>,
        data: &Bound<'_, PyAny>,
        format: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let format = json_format(format)?;
        let json = data::read("data", data)?.to_json();
        let mut read = ReadOptions::default();
        keywords(options, |argument| options::read(&mut read, argument))?;
        let strict = detached(class.py(), || {
            let parsed = parse(&json, format, &read);
            parsed.strict().map(Document::into_owned)
        })?;
        let document = strict.map_err(|found| Failure::found("ParseError", &found, None))?;
        Self::of(Arc::new(document)).ok_or_else(|| {
            let text = "the data is not a conversation; use `parse` for other documents";
            Failure::new("ParseError", text).into()
        })
    }

    /// Writes the conversation as data of a JSON format.
    ///
    /// Args:
    ///     format: The name of the JSON format.
    ///     allow_loss: As in `convert`.
    ///
    /// Raises:
    ///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
    ///     FormatError: The format is unknown, or is not JSON.
    ///     LossError: The format does not express everything, and the loss is not allowed.
    ///
    /// >>> Conversation([Message.user("Hi!")]).to_dict("anthropic")
    /// {'messages': [{'role': 'user', 'content': 'Hi!'}]}
    #[pyo3(
        signature = (format = None, *, allow_loss = None),
        text_signature = "($self, format='openai', *, allow_loss=())"
    )]
    fn to_dict<'py>(
        &self,
        py: Python<'py>,
        format: Option<&Bound<'py, PyAny>>,
        allow_loss: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let format = json_format(format)?;
        data::from_json(py, &converted(py, &self.document, format, allow_loss)?)
    }

    /// The messages.
    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let count = self.messages_of().len();
        PyTuple::new(py, (0..count).map(|at| PyMessage::of(&self.document, at)))
    }

    /// The declared tools, as OpenAI's API has them. Changing the list has no effect.
    #[getter]
    fn tools<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.tools_of(py)
    }

    /// The header of OpenChatML 2.x, or `None`. Changing the dict has no effect.
    #[getter]
    fn header<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(header) = &self.conversation().header else { return Ok(None) };
        let dict = PyDict::new(py);
        for (key, value) in header.fields() {
            dict.set_item(key.as_ref(), data::write(py, value)?)?;
        }
        Ok(Some(dict))
    }

    /// For each message, the index of the call that it answers, or `None`.
    #[getter]
    fn answers(&self) -> Vec<Option<usize>> {
        history::answers(self.messages_of())
    }

    /// Returns the conversation without the messages that the next prompt does not contain, such as
    /// reasoning before earlier answers.
    fn next_prompt(&self) -> Self {
        Self::new(history::next_prompt(self.conversation()))
    }

    /// Compares the capabilities in the header with those of another side.
    ///
    /// Raises:
    ///     ArgumentValueError: One of the headers has no capabilities.
    fn negotiate<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, Self>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let [own, theirs] = [self, other.get()].map(|side| {
            let header = side.conversation().header.as_ref();
            header.and_then(|header| Settings::read(header).0.capabilities)
        });
        let (Some(own), Some(theirs)) = (own, theirs) else {
            return Err(wrong_value("other", "one of the headers has no `capabilities`"));
        };
        let Negotiation { common, missing, unused, .. } = own.negotiate(&theirs);
        let lists = [
            ("roles", common.roles),
            ("channels", common.channels),
            ("tokens", common.tokens),
            ("streaming", common.streaming),
        ];
        let dict = PyDict::new(py);
        for (name, list) in lists {
            if let Some(list) = list {
                dict.set_item(name, list)?;
            }
        }
        let fields = (dict, PyTuple::new(py, missing)?, PyTuple::new(py, unused)?);
        record(py, "Negotiation")?.call1(fields)
    }

    /// Returns what a user can see.
    ///
    /// Args:
    ///     preambles: Whether commentary for the user is shown: `"show"` or `"hide"`.
    ///
    /// Raises:
    ///     ArgumentTypeError, ArgumentValueError: The argument is invalid.
    ///
    /// >>> chat = Conversation([Message.reasoning("Easy."), Message.answer("4.")])
    /// >>> [message.text for message in chat.user_view()]
    /// ['4.']
    #[pyo3(signature = (*, preambles = None), text_signature = "($self, *, preambles='show')")]
    fn user_view(&self, preambles: Option<&Bound<'_, PyAny>>) -> PyResult<PyUserView> {
        let policy = match preambles {
            Some(value) => Policy::new(self::preambles("preambles", value)?),
            None => Policy::new(Preambles::Show),
        };
        Ok(PyUserView::new(self.conversation(), policy))
    }

    /// Returns a copy with other messages, tools or header.
    ///
    /// >>> Conversation([Message.user("Hi!")]).replace(messages=[])
    /// Conversation([])
    #[pyo3(
        signature = (**parts),
        text_signature = "($self, *, messages=..., tools=..., header=...)"
    )]
    fn replace(&self, parts: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut conversation = self.conversation().clone();
        change(&mut conversation, parts)?;
        Ok(Self::new(conversation))
    }

    #[pyo3(signature = (**parts), text_signature = "($self, **parts)")]
    fn __replace__(&self, parts: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        self.replace(parts)
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut conversation = self.conversation().clone();
        if let Ok(message) = other.cast::<PyMessage>() {
            conversation.messages.push(message.get().message().clone());
        } else {
            conversation.messages.extend(messages("other", other)?);
        }
        Ok(Self::new(conversation))
    }

    fn __len__(&self) -> usize {
        self.messages_of().len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if index.is_instance_of::<PySlice>() {
            return self.messages(py)?.into_any().get_item(index);
        }
        let count = self.messages_of().len();
        let Ok(at) = index.extract::<isize>() else {
            return Err(wrong_type("index", "an `int` or a slice", index));
        };
        let at = if at < 0 { at.checked_add_unsigned(count) } else { Some(at) };
        match at.and_then(|at| usize::try_from(at).ok()).filter(|at| *at < count) {
            Some(at) => PyMessage::of(&self.document, at).into_bound_py_any(py),
            None => Err(pyo3::exceptions::PyIndexError::new_err("there is no such message")),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.messages(py)?.try_iter()?.into_any())
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for message in self.messages_of() {
            message.role.as_str().hash(&mut hasher);
            message.body.text().hash(&mut hasher);
        }
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let Conversation { messages, tools, header, .. } = self.conversation();
        let mut out = String::from("Conversation([");
        for (at, message) in messages.iter().enumerate() {
            let between = if at > 0 { ", " } else { "" };
            if at == SHOWN {
                out.push_str(&format!("{between}… {} more", messages.len() - SHOWN));
                break;
            }
            out.push_str(between);
            out.push_str(&repr(message));
        }
        out.push(']');
        if !tools.is_empty() {
            let names: Vec<_> = tools.iter().map(|tool| format!("'{}'", tool.name)).collect();
            out.push_str(&format!(", tools=<{}>", names.join(", ")));
        }
        if header.is_some() {
            out.push_str(", header=<…>");
        }
        out + ")"
    }

    fn _repr_html_(&self) -> String {
        html::conversation(self.conversation())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let restore = py.import("openchatml._openchatml")?.getattr("_restore")?;
        let (format, text) = pickled(&slf.get().document)?;
        PyTuple::new(py, [restore, (format, text).into_bound_py_any(py)?])
    }
}

/// The number of messages that a short description shows.
const SHOWN: usize = 8;

/// Changes parts of a conversation.
fn change(
    conversation: &mut Conversation<'static>,
    parts: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    keywords(parts, |argument| {
        match argument.name {
            "messages" => conversation.messages = messages(argument.name, argument.value)?,
            "tools" => conversation.tools = tools(argument)?,
            "header" => conversation.header = header(argument)?,
            _ => return Ok(false),
        }
        Ok(true)
    })
}

fn header(argument: &Argument<'_, '_>) -> PyResult<Option<Header<'static>>> {
    match data::read(argument.name, argument.value)?.data {
        Data::Null => Ok(None),
        Data::Map(mut fields) => {
            // The version of a header is text: `2.2`, not a number.
            for (key, value) in &mut fields {
                if key == "version"
                    && let Data::Number(spelling) = &value.data
                {
                    value.data = Data::String(spelling.clone());
                }
            }
            Ok(Some(Header::from_fields(fields)))
        }
        _ => Err(wrong_type(argument.name, "a `dict`", argument.value)),
    }
}

/// Restores a pickled conversation.
#[pyfunction]
#[pyo3(name = "_restore")]
pub(crate) fn restore(
    format: &Bound<'_, PyAny>,
    text: &Bound<'_, PyAny>,
) -> PyResult<PyConversation> {
    let format = Argument::new("format", format).format()?;
    let text = Argument::new("text", text).text()?;
    PyConversation::of(Arc::new(restored(format, text)))
        .ok_or_else(|| Failure::new("ParseError", "the pickled data is malformed").into())
}
