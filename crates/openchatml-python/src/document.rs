//! Documents of any kind, to and from objects of Python.

use std::borrow::Cow;
use std::sync::Arc;

use openchatml::{
    Content, Conversation, Document, Format, Infill, InfillOrder, Pair, Part, ReadOptions,
};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::argument::Argument;
use crate::conversation::PyConversation;
use crate::data;
use crate::error::{Failure, wrong_type, wrong_value};
use crate::input::{Keep, Read};
use crate::message::PyMessage;
use crate::pickle::{malformed, pickled, restored, restorer};
use crate::record::record;
use crate::state::{DiagnosticState, diagnostic, diagnostic_state};

/// Converts a document to the object for it.
pub(crate) fn object<'py>(
    py: Python<'py>,
    document: &Arc<Document<'static>>,
) -> PyResult<Bound<'py, PyAny>> {
    match document.as_ref() {
        Document::Infill(infill) => infill_object(py, infill),
        Document::Files(parts) => {
            let parts = parts.iter().map(|part| part_object(py, part));
            let parts = PyTuple::new(py, parts.collect::<PyResult<Vec<_>>>()?)?;
            record(py, "Files")?.call1((parts,))
        }
        Document::Pair(pair) => {
            let side = |it: &Conversation<'static>| PyConversation::new(it.clone());
            record(py, "Pair")?.call1((side(&pair.chosen), side(&pair.rejected)))
        }
        _ => match PyConversation::of(Arc::clone(document)) {
            Some(conversation) => conversation.into_bound_py_any(py),
            None => Err(Failure::new("ParseError", "the kind of the document is unknown").into()),
        },
    }
}

fn infill_object<'py>(py: Python<'py>, infill: &Infill<'_>) -> PyResult<Bound<'py, PyAny>> {
    let Infill { prefix, suffix, middle, order, .. } = infill;
    record(py, "Infill")?.call1((&**prefix, &**suffix, middle.as_deref(), order.as_str()))
}

fn part_object<'py>(py: Python<'py>, part: &Part<'static>) -> PyResult<Bound<'py, PyAny>> {
    match &part.content {
        Content::Infill(infill) => infill_object(py, infill),
        Content::Conversation(it) => PyConversation::new(it.clone()).into_bound_py_any(py),
        Content::Text(text) => text.as_ref().into_bound_py_any(py),
        _ => Err(Failure::new("ParseError", "the kind of a file is unknown").into()),
    }
}

/// What can be written: a document, with the diagnostics and the format of its input.
pub(crate) struct Source {
    pub(crate) document: Arc<Document<'static>>,
    pub(crate) parsed: Option<Arc<Read>>,
}

/// A text, from `str` or from `bytes` in UTF-8.
pub(crate) fn text<'a>(argument: &Argument<'a, '_>) -> PyResult<&'a str> {
    let Ok(bytes) = argument.value.cast::<PyBytes>() else { return argument.text() };
    std::str::from_utf8(bytes.as_bytes()).map_err(|error| {
        let why = format!("the bytes are not UTF-8 (at byte {})", error.valid_up_to());
        wrong_value(argument.name, &why)
    })
}

/// Reads an argument that is a document: an object of this package, or data of a JSON format.
pub(crate) fn source(argument: &Argument<'_, '_>) -> PyResult<Source> {
    let py = argument.value.py();
    let only = |document: Document<'static>| Source { document: Arc::new(document), parsed: None };
    if let Ok(conversation) = argument.value.cast::<PyConversation>() {
        return Ok(Source { document: Arc::clone(&conversation.get().document), parsed: None });
    }
    if let Ok(parsed) = argument.value.cast::<PyParsed>() {
        let read = Arc::clone(&parsed.get().read);
        return Ok(Source { document: Arc::clone(&read.document), parsed: Some(read) });
    }
    if let Ok(message) = argument.value.cast::<PyMessage>() {
        return Ok(only(message.get().alone()));
    }
    let value = argument.value;
    let is = |name: &str| record(py, name).and_then(|class| value.is_instance(&class));
    if is("Infill")? {
        return Ok(only(Document::Infill(infill(argument)?)));
    }
    if is("Files")? {
        let parts = value.getattr("parts")?;
        let parts = Argument::new("parts", &parts).items()?;
        return Ok(only(Document::Files(parts.iter().map(part).collect::<PyResult<_>>()?)));
    }
    if is("Pair")? {
        let [chosen, rejected] = [side(value, "chosen")?, side(value, "rejected")?];
        return Ok(only(Document::Pair(Box::new(Pair::new(chosen, rejected)))));
    }
    if is_data(value) {
        let first = value.get_item(0).ok();
        if first.is_some_and(|it| it.is_instance_of::<PyMessage>()) {
            let messages = crate::message::messages(argument.name, value)?;
            return Ok(only(Conversation::from_messages(messages).into()));
        }
        let json = data::read(argument.name, value)?.to_json();
        let read = Arc::new(Read::text(py, &json, None, &ReadOptions::default(), Keep::IfFound)?);
        return Ok(Source { document: Arc::clone(&read.document), parsed: Some(read) });
    }
    let expected = "a `Conversation`, another document, or data of a JSON format";
    Err(wrong_type(argument.name, expected, value))
}

/// As [`source`], and also reads texts.
pub(crate) fn source_or_text(
    argument: &Argument<'_, '_>,
    format: Option<Format>,
    options: &ReadOptions,
    keep: Keep,
) -> PyResult<Source> {
    let value = argument.value;
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        let read = Arc::new(Read::text(value.py(), text(argument)?, format, options, keep)?);
        return Ok(Source { document: Arc::clone(&read.document), parsed: Some(read) });
    }
    match format {
        Some(format) if is_data(value) => {
            let json = data::read(argument.name, value)?.to_json();
            let read = Arc::new(Read::text(value.py(), &json, Some(format), options, keep)?);
            Ok(Source { document: Arc::clone(&read.document), parsed: Some(read) })
        }
        _ => source(argument),
    }
}

/// Whether this is data of a JSON format, or a list of messages.
fn is_data(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyDict>()
        || value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
}

fn side(pair: &Bound<'_, PyAny>, name: &str) -> PyResult<Conversation<'static>> {
    let side = pair.getattr(name)?;
    match side.cast::<PyConversation>() {
        Ok(side) => Ok(side.get().conversation().clone()),
        Err(_) => Err(wrong_type(name, "a `Conversation`", &side)),
    }
}

fn infill(argument: &Argument<'_, '_>) -> PyResult<Infill<'static>> {
    let field = |name: &str| argument.value.getattr(name);
    let text = |name: &'static str| -> PyResult<Option<Cow<'static, str>>> {
        let value = field(name)?;
        Ok(Argument::new(name, &value).optional_text()?.map(|it| it.to_owned().into()))
    };
    let order = field("order")?;
    let order = Argument::new("order", &order).word(InfillOrder::ALL, InfillOrder::as_str)?;
    let mut infill =
        Infill::new(text("prefix")?.unwrap_or_default(), text("suffix")?.unwrap_or_default());
    infill.middle = text("middle")?;
    infill.order = order;
    Ok(infill)
}

fn part(item: &Bound<'_, PyAny>) -> PyResult<Part<'static>> {
    let content = match item.cast::<PyConversation>() {
        Ok(conversation) => Content::Conversation(conversation.get().conversation().clone()),
        Err(_) if item.is_instance(&record(item.py(), "Infill")?)? => {
            Content::Infill(infill(&Argument::new("parts", item))?)
        }
        Err(_) => Content::Text(Argument::new("parts", item).text()?.to_owned().into()),
    };
    Ok(Part::from(content))
}

/// The result of `parse`: a document with its diagnostics.
#[pyclass(frozen, module = "openchatml", name = "Parsed")]
pub(crate) struct PyParsed {
    pub(crate) read: Arc<Read>,
}

#[pymethods]
impl PyParsed {
    /// The conversation.
    ///
    /// Raises:
    ///     ParseError: The document is something else; see `document`.
    #[getter]
    fn conversation(&self) -> PyResult<PyConversation> {
        PyConversation::of(Arc::clone(&self.read.document)).ok_or_else(|| {
            let text = "the document is not a conversation; see `document`";
            Failure::new("ParseError", text).into()
        })
    }

    /// The document: a `Conversation`, `Pair`, `Infill` or `Files`.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, &self.read.document)
    }

    /// What is malformed, in the order of the places.
    #[getter]
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        crate::record::diagnostics(py, &self.read.diagnostics, self.read.text.as_deref())
    }

    /// The name of the format.
    #[getter]
    fn format(&self) -> String {
        self.read.format.to_string()
    }

    /// Whether there is an error among the diagnostics.
    #[getter]
    fn has_errors(&self) -> bool {
        self.read.diagnostics.iter().any(|it| it.severity == openchatml::Severity::Error)
    }

    /// Returns the document if there are no errors.
    ///
    /// Raises:
    ///     ParseError: The first error.
    ///
    /// >>> parse("<|im_start|>user\nHi!<|im_end|>\n", "chatml").strict()
    /// Conversation([Message('user', 'Hi!')])
    fn strict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let errors = self.read.diagnostics.iter();
        match errors.into_iter().find(|it| it.severity == openchatml::Severity::Error) {
            None => self.document(py),
            Some(found) => Err(Failure::found("ParseError", found, self.read.locate(found)).into()),
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Read { document, diagnostics, format, text } = self.read.as_ref();
        let (carrier, content) = pickled(document)?;
        let found: Vec<_> = diagnostics.iter().map(diagnostic_state).collect();
        let fields = (carrier, content, found, format.to_string(), text.as_deref());
        PyTuple::new(py, [restorer(py, "_restore_parsed")?, fields.into_bound_py_any(py)?])
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<String> {
        let document = self.document(py)?.repr()?.to_string();
        let count = self.read.diagnostics.len();
        Ok(format!("Parsed({document}, format='{}', diagnostics=<{count}>)", self.read.format))
    }
}

/// Restores a pickled result.
#[pyfunction]
#[pyo3(name = "_restore_parsed", signature = (carrier, content, diagnostics, format, text))]
pub(crate) fn restore_parsed(
    carrier: &Bound<'_, PyAny>,
    content: &Bound<'_, PyAny>,
    diagnostics: &Bound<'_, PyAny>,
    format: &Bound<'_, PyAny>,
    text: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyParsed> {
    let carrier = Argument::new("carrier", carrier).format()?;
    let content = Argument::new("content", content).text()?;
    let found: Vec<DiagnosticState> = diagnostics.extract().map_err(|_| malformed())?;
    let diagnostics = found.into_iter().map(diagnostic).collect::<Option<Vec<_>>>();
    let text = text.map(|it| Argument::new("text", it).text()).transpose()?;
    let read = Read {
        document: Arc::new(restored(carrier, content)),
        diagnostics: diagnostics.ok_or_else(malformed)?,
        format: Argument::new("format", format).format()?,
        text: text.map(str::to_owned),
    };
    Ok(PyParsed { read: Arc::new(read) })
}

/// The name of the default format of an argument.
pub(crate) fn format_or_auto(
    name: &str,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Format>> {
    value.map_or(Ok(None), |value| Argument::new(name, value).format_or_auto())
}
