//! Messages as objects of Python.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use openchatml::{
    Channel, Conversation, Data, Document, Intent, Limits, Message, Policy, ReadOptions, Role,
    Segment, Value, Visibility, Weight, parse,
};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use crate::argument::{Argument, json_format};
use crate::consent::converted;
use crate::data;
use crate::describe::repr;
use crate::error::{Failure, wrong_type};
use crate::message_fields::{body, body_or_data, change};
use crate::pickle::{pickled, restored};

/// A message: one role, at most one channel, one text.
///
/// It is immutable, so threads can share it. Two messages are equal if their content is equal. Messages
/// can be pickled and hashed.
///
/// Args:
///     role: `"system"`, `"developer"`, `"user"`, `"assistant"` or `"tool"`.
///     text: The text, or segments as pairs: `("text", …)`, `("literal", …)`, `("marker", …)`.
///     name: The name of the speaker; for a reply, the tool.
///     recipient: The tool of a call, or `"assistant"` for a reply.
///     channel: `"analysis"`, `"commentary"`, `"final"` or `None`.
///     call_id: The id that pairs a call with its reply.
///     intent: `"preamble"`, `"status"`, `"debug"` or `None`.
///     content_type: The type of the text, such as `"json"`.
///     constrained: Whether the type is a constraint on the text.
///     end: `"end"`, `"call"`, `"return"`, `"open"` or `"prompt"`.
///     weight: The weight in training, 0 or more.
///     ids: The token ids that the message was sampled or read as.
///     recovered: Whether a reader guessed a part of the message.
///     foreign: Whether a completion wrote the message for another role, or after its stop token.
///     unread: The unknown words of its header.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
///
/// >>> Message("user", "Hi!", name="Eric")
/// Message('user', 'Hi!', name='Eric')
#[pyclass(frozen, eq, module = "openchatml", name = "Message")]
#[derive(Clone)]
pub(crate) struct PyMessage {
    document: Arc<Document<'static>>,
    at: usize,
}

impl PartialEq for PyMessage {
    fn eq(&self, other: &Self) -> bool {
        self.message() == other.message()
    }
}

impl PyMessage {
    /// The message at this index of a conversation.
    pub(crate) fn of(document: &Arc<Document<'static>>, at: usize) -> Self {
        Self { document: Arc::clone(document), at }
    }

    /// A message of its own.
    pub(crate) fn new(message: Message<'static>) -> Self {
        let document = Document::from(Conversation::from_messages([message]));
        Self { document: Arc::new(document), at: 0 }
    }

    pub(crate) fn message(&self) -> &Message<'static> {
        let messages = self.document.as_conversation().map(|it| &it.messages);
        messages.and_then(|it| it.get(self.at)).expect("it was created for this index")
    }

    /// The document of which this is the only message.
    pub(crate) fn alone(&self) -> Document<'static> {
        Conversation::from_messages([self.message().clone()]).into()
    }
}

#[pymethods]
impl PyMessage {
    #[new]
    #[pyo3(
        signature = (role, text, **fields),
        text_signature = "(role, text, *, name=None, recipient=None, channel=None, call_id=None, intent=None, content_type=None, constrained=False, end='end', weight=None, ids=None, recovered=False, foreign=False, unread=None)"
    )]
    fn create(
        role: &Bound<'_, PyAny>,
        text: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let role = Argument::new("role", role).word(Role::ALL, Role::as_str)?;
        let mut message = Message::new(role, body("text", text)?);
        change(&mut message, fields)?;
        Ok(Self::new(message))
    }

    /// Creates a message of the user.
    ///
    /// >>> Message.user("Hi!").role
    /// 'user'
    #[classmethod]
    #[pyo3(signature = (text, **fields), text_signature = "($cls, text, **fields)")]
    fn user(
        _class: &Bound<'_, PyType>,
        text: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        made(Message::user(body("text", text)?), fields)
    }

    /// Creates a message of the system.
    ///
    /// >>> Message.system("Be brief.").role
    /// 'system'
    #[classmethod]
    #[pyo3(signature = (text, **fields), text_signature = "($cls, text, **fields)")]
    fn system(
        _class: &Bound<'_, PyType>,
        text: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        made(Message::system(body("text", text)?), fields)
    }

    /// Creates a message of the developer.
    ///
    /// >>> Message.developer("Be brief.").role
    /// 'developer'
    #[classmethod]
    #[pyo3(signature = (text, **fields), text_signature = "($cls, text, **fields)")]
    fn developer(
        _class: &Bound<'_, PyType>,
        text: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        made(Message::developer(body("text", text)?), fields)
    }

    /// Creates an answer of the assistant.
    ///
    /// >>> Message.answer("4.").channel
    /// 'final'
    #[classmethod]
    #[pyo3(signature = (text, **fields), text_signature = "($cls, text, **fields)")]
    fn answer(
        _class: &Bound<'_, PyType>,
        text: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        made(Message::answer(body("text", text)?), fields)
    }

    /// Creates a message with reasoning of the assistant.
    ///
    /// >>> Message.reasoning("Easy.").is_hidden
    /// True
    #[classmethod]
    #[pyo3(signature = (text, **fields), text_signature = "($cls, text, **fields)")]
    fn reasoning(
        _class: &Bound<'_, PyType>,
        text: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        made(Message::reasoning(body("text", text)?), fields)
    }

    /// Creates a call of a tool.
    ///
    /// Args:
    ///     tool: The name of the function.
    ///     arguments: The arguments as a dict, or the text of the call.
    ///     **fields: More fields, as in the constructor.
    ///
    /// >>> Message.call("weather", {"city": "Paris"}, call_id="c1").json()
    /// {'city': 'Paris'}
    #[classmethod]
    #[pyo3(signature = (tool, arguments, **fields), text_signature = "($cls, tool, arguments, **fields)")]
    fn call(
        _class: &Bound<'_, PyType>,
        tool: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let tool = Argument::new("tool", tool).text()?;
        made(Message::call(tool, body_or_data("arguments", arguments)?), fields)
    }

    /// Creates the reply of a tool.
    ///
    /// Args:
    ///     tool: The name of the function.
    ///     content: The text, or data that is written as JSON.
    ///     **fields: More fields, as in the constructor.
    ///
    /// >>> Message.reply("weather", {"degrees": 20}).text
    /// '{"degrees":20}'
    #[classmethod]
    #[pyo3(signature = (tool, content, **fields), text_signature = "($cls, tool, content, **fields)")]
    fn reply(
        _class: &Bound<'_, PyType>,
        tool: &Bound<'_, PyAny>,
        content: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let tool = Argument::new("tool", tool).text()?;
        made(Message::reply(tool, body_or_data("content", content)?), fields)
    }

    /// The role.
    #[getter]
    fn role(&self) -> &'static str {
        self.message().role.as_str()
    }

    /// The text, without markers.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, &self.message().body.text())
    }

    /// The text and the markers as pairs `(kind, text)`.
    #[getter]
    fn segments(&self) -> Vec<(&'static str, String)> {
        let segment = |segment: Segment<'_>| match segment {
            Segment::Text(text) => ("text", text.into_owned()),
            Segment::Literal(text) => ("literal", text.into_owned()),
            Segment::Marker(marker) => ("marker", marker.as_str().to_owned()),
        };
        self.message().body.segments().map(segment).collect()
    }

    /// The name of the speaker; for a reply, the tool.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.message().name.as_deref()
    }

    /// The tool of a call, or `"assistant"` for a reply.
    #[getter]
    fn recipient(&self) -> Option<&str> {
        self.message().recipient.as_deref()
    }

    /// The declared channel, or `None`.
    #[getter]
    fn channel(&self) -> Option<&'static str> {
        self.message().channel.map(Channel::as_str)
    }

    /// The channel; without a declared one, `"final"`.
    #[getter]
    fn effective_channel(&self) -> &'static str {
        self.message().effective_channel().as_str()
    }

    /// The id that pairs a call with its reply.
    #[getter]
    fn call_id(&self) -> Option<&str> {
        self.message().call_id.as_deref()
    }

    /// The purpose, in addition to the channel.
    #[getter]
    fn intent(&self) -> Option<&'static str> {
        self.message().intent.map(Intent::as_str)
    }

    /// The type of the text, such as `"json"`.
    #[getter]
    fn content_type(&self) -> Option<&str> {
        self.message().content_type.as_deref()
    }

    /// Whether the type is a constraint on the text.
    #[getter]
    fn constrained(&self) -> bool {
        self.message().constrained
    }

    /// How the message ends: `"end"`, `"call"`, `"return"`, `"open"` or `"prompt"`.
    #[getter]
    fn end(&self) -> &'static str {
        self.message().end.as_str()
    }

    /// The weight in training.
    #[getter]
    fn weight(&self) -> Option<f64> {
        self.message().weight.map(Weight::get)
    }

    /// The token ids that the message was sampled or read as, or `None`.
    #[getter]
    fn ids(&self) -> Option<Vec<u32>> {
        self.message().ids().map(<[u32]>::to_vec)
    }

    /// Whether a reader guessed a part of the message. Such a call is never run.
    #[getter]
    fn recovered(&self) -> bool {
        self.message().recovered
    }

    /// Whether a completion wrote the message for another role, or after its stop token.
    #[getter]
    fn foreign(&self) -> bool {
        self.message().foreign
    }

    /// The unknown words of its header.
    #[getter]
    fn unread(&self) -> Option<&str> {
        self.message().unread.as_deref()
    }

    /// The place in the input: the first byte, and the byte after the last one, of its UTF-8 text.
    #[getter]
    fn span(&self) -> (usize, usize) {
        let span = self.message().span;
        (span.start, span.end)
    }

    /// Whether this is an answer to the user.
    #[getter]
    fn is_answer(&self) -> bool {
        self.message().is_answer()
    }

    /// Whether this is a call of a tool.
    #[getter]
    fn is_call(&self) -> bool {
        self.message().is_call()
    }

    /// Whether this is reasoning.
    #[getter]
    fn is_reasoning(&self) -> bool {
        self.message().is_reasoning()
    }

    /// Whether a user cannot see it.
    #[getter]
    fn is_hidden(&self) -> bool {
        Policy::default().visibility(self.message()) == Visibility::Hidden
    }

    /// The function of a call or of a reply, without its namespace; otherwise `None`.
    #[getter]
    fn tool(&self) -> Option<&str> {
        let message = self.message();
        let name = match message.role {
            Role::Tool => message.name.as_deref(),
            _ if message.is_call() => message.recipient.as_deref(),
            _ => None,
        };
        name.map(|name| openchatml::function_name(name).unwrap_or(name))
    }

    /// Parses the text as JSON: the arguments of a call, or a reply.
    ///
    /// Raises:
    ///     ParseError: The text is not JSON, or has a number that Python cannot represent.
    ///
    /// >>> Message.call("weather", '{"city": "Paris"}').json()
    /// {'city': 'Paris'}
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        data::from_json(py, &self.message().body.text())
    }

    /// Returns a copy with other fields.
    ///
    /// >>> Message.user("Hi!").replace(name="Eric")
    /// Message('user', 'Hi!', name='Eric')
    #[pyo3(
        signature = (**fields),
        text_signature = "($self, *, role=..., text=..., name=..., recipient=..., channel=..., call_id=..., intent=..., content_type=..., constrained=..., end=..., weight=..., ids=..., recovered=..., foreign=..., unread=...)"
    )]
    fn replace(&self, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        made(self.message().clone(), fields)
    }

    #[pyo3(signature = (**fields), text_signature = "($self, **fields)")]
    fn __replace__(&self, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        self.replace(fields)
    }

    /// Reads data of a JSON format that is one message.
    ///
    /// Raises:
    ///     ArgumentTypeError, ArgumentValueError: An argument is invalid, or JSON cannot express the data.
    ///     FormatError: The format is unknown, or is not JSON.
    ///     ParseError: The data is invalid in the format, or not exactly one message.
    ///
    /// >>> Message.from_dict({"role": "user", "content": "Hi!"})
    /// Message('user', 'Hi!')
    #[classmethod]
    #[pyo3(signature = (data, format = None), text_signature = "($cls, data, format='openai')")]
    fn from_dict(
        _class: &Bound<'_, PyType>,
        data: &Bound<'_, PyAny>,
        format: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let format = json_format(format)?;
        let list = Data::List(vec![data::read("data", data)?]);
        let json = Value::from(list).to_json();
        let strict = parse(&json, format, &ReadOptions::default()).strict();
        let document = strict.map_err(|found| Failure::found("ParseError", &found, None))?;
        let document = Arc::new(document.into_owned());
        match document.as_conversation().map_or(0, |it| it.messages.len()) {
            1 => Ok(Self { document, at: 0 }),
            count => {
                let text = format!("the data is {count} messages; use `Conversation.from_dict`");
                Err(Failure::new("ParseError", text).into())
            }
        }
    }

    /// Writes the message as data of a JSON format.
    ///
    /// Raises:
    ///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
    ///     FormatError: The format is unknown, or is not JSON.
    ///     LossError: The format does not express everything, and the loss is not allowed.
    ///     RenderError: The format has no message like this.
    ///
    /// >>> Message.answer("4.").to_dict()
    /// {'role': 'assistant', 'content': '4.'}
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
        let json = converted(py, &self.alone(), format, allow_loss)?;
        let value = Value::from_json(&json, &Limits::default());
        let value = value.map_err(|found| Failure::found("RenderError", &found, None))?;
        match only_item(&value) {
            Some(item) => data::write(py, item),
            None => {
                let text =
                    format!("`{format}` has no message like this; use `Conversation.to_dict`");
                Err(Failure::new("RenderError", text).into())
            }
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let restore = py.import("openchatml._openchatml")?.getattr("_restore_message")?;
        let data = pickled(&slf.get().alone())?.into_bound_py_any(py)?;
        PyTuple::new(py, [restore, data])
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.message().role.as_str().hash(&mut hasher);
        self.message().body.text().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        repr(self.message())
    }
}

/// The only item of the only list in the output for one message.
fn only_item<'v>(value: &'v Value<'v>) -> Option<&'v Value<'v>> {
    let list = match &value.data {
        Data::List(items) => items,
        Data::Map(entries) => match entries.as_slice() {
            [(_, one)] => one.as_list()?,
            _ => return None,
        },
        _ => return None,
    };
    if let [item] = list { Some(item) } else { None }
}

/// Creates a message with further fields.
fn made(mut message: Message<'static>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<PyMessage> {
    change(&mut message, fields)?;
    Ok(PyMessage::new(message))
}

/// Reads the messages of an argument.
pub(crate) fn messages(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<Message<'static>>> {
    if value.is_instance_of::<PyDict>() {
        return Err(of_dicts(name));
    }
    let message = |item: &Bound<'_, PyAny>| match item.cast::<PyMessage>() {
        Ok(message) => Ok(message.get().message().clone()),
        Err(_) if item.is_instance_of::<PyDict>() => Err(of_dicts(name)),
        Err(_) => Err(wrong_type(name, "an iterable of `Message`", item)),
    };
    Argument::new(name, value).items()?.iter().map(message).collect()
}

fn of_dicts(name: &str) -> PyErr {
    let text = format!("argument `{name}`: expected `Message`, not `dict`");
    Failure::new("ArgumentTypeError", text)
        .help("use `Conversation.from_dict(data, format)` for dicts")
        .into()
}

/// Restores a pickled message.
#[pyfunction]
#[pyo3(name = "_restore_message")]
pub(crate) fn restore_message(
    format: &Bound<'_, PyAny>,
    text: &Bound<'_, PyAny>,
) -> PyResult<PyMessage> {
    let format = Argument::new("format", format).format()?;
    let document = Arc::new(restored(format, Argument::new("text", text).text()?));
    match document.as_conversation().map_or(0, |it| it.messages.len()) {
        1 => Ok(PyMessage { document, at: 0 }),
        _ => Err(Failure::new("ParseError", "the pickled data is malformed").into()),
    }
}
