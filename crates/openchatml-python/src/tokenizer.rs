//! Token ids of conversations: writing and reading them.

use std::sync::Arc;

use openchatml::{Control, Conversation, ReadOptions, RenderOptions, TextFormat};
use openchatml_tokens::{Encoding as _, MaskPolicy, Token, Tokenizer, TruncateError, Truncation};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::argument::{Argument, keywords};
use crate::consent::{Consent, consent_to_drops, consent_to_losses};
use crate::conversation::PyConversation;
use crate::document::{PyParsed, source};
use crate::encoding::{O200K_HARMONY, encoding};
use crate::error::{Failure, class, detached, wrong_value};
use crate::id_writer::{IdWriter, SPELL};
use crate::input::Read;
use crate::message_fields::ids;
use crate::options::{self, Writing};
use crate::pickle::restorer;
use crate::record::record;
use crate::rendered::PyRendered;
use crate::training;
use crate::write::{PromptOptions, conversation_of};

/// An encoding, bound to a text format: writes conversations as token ids, and reads them back.
///
/// Text of a message is always encoded as ordinary text, so no content can become a control token.
///
/// Args:
///     format: The name of the text format.
///     encoding: `"o200k_harmony"` (gpt-oss, built in); the path of a `tokenizer.json`, of a rank file,
///         or of a folder with a `tokenizer.json`; the content of such a file as `bytes`; or a
///         tokenizer of `transformers`, `tokenizers` or `tiktoken`. `"bytes"` has one id for each byte.
///     spell_control_tokens: Writes control tokens without an id as ordinary text, and reads them from
///         ordinary text. A model that was trained with the tokens reads their spelling as text.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid, or the file cannot be read.
///     EncodingError: The file is malformed, or has no ids for control tokens of the format.
///     FormatError: The format is unknown, or has no text form.
///
/// >>> tokenizer = Tokenizer("harmony")
/// >>> tokenizer.encode("Hello<|end|>")
/// [13225, 27, 91, 419, 91, 29]
#[pyclass(frozen, module = "openchatml", name = "Tokenizer")]
#[derive(Clone)]
pub(crate) struct PyTokenizer {
    pub(crate) writer: IdWriter,
    /// The argument that the encoding was made of, to pickle the object.
    source: Arc<Py<PyAny>>,
}

/// Whether every conversation requires a control token. Others are checked when they are written.
fn is_needed(control: Control) -> bool {
    !matches!(
        control,
        Control::Literal
            | Control::EndLiteral
            | Control::Marker(_)
            | Control::FimPrefix
            | Control::FimMiddle
            | Control::FimSuffix
            | Control::FileSeparator
    )
}

#[pymethods]
impl PyTokenizer {
    #[new]
    #[pyo3(
        signature = (format, encoding = None, *, spell_control_tokens = None),
        text_signature = "(format, encoding='o200k_harmony', *, spell_control_tokens=False)"
    )]
    fn create(
        py: Python<'_>,
        format: &Bound<'_, PyAny>,
        encoding: Option<&Bound<'_, PyAny>>,
        spell_control_tokens: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let format = Argument::new("format", format).text_format()?;
        let flag = |it| Argument::new("spell_control_tokens", it).flag();
        let may_spell = spell_control_tokens.map(flag).transpose()?.unwrap_or(false);
        let default = pyo3::types::PyString::new(py, O200K_HARMONY).into_any();
        let source = encoding.unwrap_or(&default).clone();
        let (encoding, name) = self::encoding(&Argument::new("encoding", &source))?;
        let controls = format.controls().entries();
        let lacks =
            controls.iter().filter(|it| is_needed(it.0) && encoding.control(it.1).is_none());
        let lacks: Vec<_> = lacks.map(|it| it.1).collect();
        if !may_spell && !lacks.is_empty() {
            let (list, dialect) = (lacks.join(" "), format.dialect().id);
            let text = format!("the encoding `{name}` has no ids for {list} of `{dialect}`");
            return Err(Failure::new("EncodingError", text).help(SPELL).into());
        }
        let tokenizer = Tokenizer::new(format, encoding);
        let source = Arc::new(source.unbind());
        Ok(Self { writer: IdWriter { tokenizer, name: name.into(), may_spell }, source })
    }

    /// The name of the format.
    #[getter]
    fn format(&self) -> String {
        self.writer.tokenizer.format().format().to_string()
    }

    /// The ids that end a completion.
    #[getter]
    fn stop_ids(&self) -> Vec<u32> {
        let stops = self.writer.tokenizer.format().stops().iter();
        stops.filter_map(|it| self.writer.tokenizer.id(*it)).collect()
    }

    /// The control tokens of the encoding, and their ids.
    #[getter]
    fn control_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (spelling, id) in self.writer.tokenizer.encoding().controls() {
            dict.set_item(spelling, id)?;
        }
        Ok(dict)
    }

    /// Returns the ids of ordinary text, even if it spells a control token.
    ///
    /// >>> Tokenizer("harmony").encode("Hello")
    /// [13225]
    fn encode(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        let text = Argument::new("text", text).text()?;
        detached(py, || {
            let mut ids = Vec::new();
            self.writer.tokenizer.encoding().encode(text, &mut ids);
            ids
        })
    }

    /// Returns the text of ids, with the spellings of control tokens.
    ///
    /// >>> Tokenizer("harmony").decode([200006, 1428, 200008])
    /// '<|start|>user<|message|>'
    fn decode(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<String> {
        let ids = self::ids(&Argument::new("ids", ids))?;
        detached(py, || {
            self.writer.tokenizer.parse(&ids, &ReadOptions::default()).text().to_owned()
        })
    }

    /// Returns the bytes of ids, with the spellings of control tokens. The bytes of ordinary text may
    /// begin or end inside a character.
    ///
    /// Raises:
    ///     ArgumentTypeError: The argument is not ids.
    ///     ArgumentValueError: An id is not in the vocabulary.
    ///
    /// >>> Tokenizer("harmony").decode_bytes([200006, 13225])
    /// b'<|start|>Hello'
    fn decode_bytes<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let ids = self::ids(&Argument::new("ids", ids))?;
        let mut bytes = Vec::new();
        for id in ids {
            match self.writer.tokenizer.encoding().token(id) {
                Some(Token::Text(text) | Token::Control(text)) => bytes.extend(text.as_bytes()),
                Some(Token::Bytes(token)) => bytes.extend(token),
                None => {
                    let why = format!("the id {id} is not in the vocabulary");
                    return Err(wrong_value("ids", &why));
                }
            }
        }
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes a document as token ids. The format must express all of it.
    ///
    /// The arguments are those of the function `render`.
    ///
    /// Raises:
    ///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
    ///     EncodingError: A control token has no id.
    ///     RenderError: The format does not express all of the document.
    ///
    /// >>> Tokenizer("harmony").render(Conversation([Message.user("Hello")])).tolist()
    /// [200006, 1428, 200008, 13225, 200007]
    #[pyo3(
        signature = (document, **options),
        text_signature = "($self, document, *, add_generation_prompt=False, continue_final_message=False, enable_thinking=None, profile='default', date=None, reasoning_effort=None, model_identity=None, builtin_tools=(), response_format=None, layout='keep', sanitize=False, compact=False, infill_order=None)"
    )]
    fn render(
        &self,
        py: Python<'_>,
        document: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyRendered> {
        let mut writing = Writing::default();
        keywords(options, |argument| match argument.name {
            "keep_reasoning" | "bare" | "ids" => Ok(false),
            _ => writing.set(argument),
        })?;
        let options = writing.finish()?;
        let source = source(&Argument::new("document", document))?;
        consent_to_drops(py, source.parsed.as_deref(), Consent::default())?;
        let written = detached(py, || self.writer.write(&source.document, &options))?;
        Ok(written?.into())
    }

    /// Writes the next prompt of a model as token ids.
    ///
    /// Args:
    ///     conversation: A conversation, or data of a JSON format.
    ///     allow_loss, tools, keep_reasoning, bare: As in `prompt`.
    ///
    /// The other arguments are those of `prompt`.
    ///
    /// Raises:
    ///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
    ///     EncodingError: A control token has no id.
    ///     LossError: Something would be lost that is not allowed.
    ///     RenderError: The format cannot express the prompt.
    ///
    /// >>> Tokenizer("harmony").prompt([{"role": "user", "content": "Hello"}], bare=True).tolist()
    /// [200006, 1428, 200008, 13225, 200007, 200006, 173781]
    #[pyo3(
        signature = (conversation, **options),
        text_signature = "($self, conversation, *, allow_loss='losses', tools=None, keep_reasoning=False, bare=False, add_generation_prompt=True, continue_final_message=False, enable_thinking=None, profile='default', date=None, reasoning_effort=None, model_identity=None, builtin_tools=(), response_format=None, sanitize=False)"
    )]
    fn prompt(
        &self,
        py: Python<'_>,
        conversation: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyRendered> {
        let PromptOptions { consent, declared, options } =
            PromptOptions::read(py, self.writer.tokenizer.format().into(), options)?;
        let source = source(&Argument::new("conversation", conversation))?;
        consent_to_drops(py, source.parsed.as_deref(), consent)?;
        let written = detached(py, || {
            let mut chat = conversation_of(&source.document)?;
            chat.tools = declared.unwrap_or(chat.tools);
            self.writer.write_prompt(&chat, &options, |it| {
                self.writer.tokenizer.render_prepared(it, &options)
            })
        })??;
        consent_to_losses(py, &written.losses, consent)?;
        Ok(written.into())
    }

    /// Writes a training sample as token ids, with the mask of the trained ids.
    ///
    /// It keeps all reasoning, and its last answer ends with the token that ends a completion.
    ///
    /// Args:
    ///     conversation: A conversation, or data of a JSON format.
    ///     train: The messages of the assistant that are trained: `"all"`, `"no-reasoning"`, `"answers"`.
    ///     turns: `"all"`, or only the `"last"` one. A message of the user begins a turn.
    ///     headers: The part of their headers that is trained: `"sampled"` (what the model generates),
    ///         `"after-role"` or `"nothing"`.
    ///     train_messages: Indices of messages that are trained, whatever their role.
    ///     skip_messages: Indices of messages that are not trained.
    ///     as_is: Writes the conversation as it is: adds no system message, and keeps its ends.
    ///     allow_loss, tools, bare: As in `prompt`.
    ///
    /// The other arguments are those of `prompt`.
    ///
    /// Raises:
    ///     ArgumentTypeError, ArgumentValueError: An argument is invalid; a message does not exist.
    ///     EncodingError: A control token has no id.
    ///     LossError: Something would be lost that is not allowed.
    ///     RenderError: The format cannot express the conversation.
    ///
    /// >>> tokenizer = Tokenizer("harmony")
    /// >>> sample = tokenizer.sample([{"role": "user", "content": "2 + 2?"},
    /// ...                            {"role": "assistant", "content": "4."}], bare=True)
    /// >>> tokenizer.decode(sample.ids[sample.mask])
    /// '<|channel|>final<|message|>4.<|return|>'
    #[pyo3(
        signature = (conversation, **options),
        text_signature = "($self, conversation, *, train='all', turns='all', headers='sampled', train_messages=(), skip_messages=(), as_is=False, allow_loss='losses', tools=None, bare=False, enable_thinking=None, profile='default', date=None, reasoning_effort=None, model_identity=None, builtin_tools=(), response_format=None, sanitize=False)"
    )]
    fn sample(
        &self,
        py: Python<'_>,
        conversation: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyRendered> {
        let (policy, as_is, PromptOptions { consent, declared, options }) =
            sample_options(py, self.writer.tokenizer.format(), options)?;
        let source = source(&Argument::new("conversation", conversation))?;
        consent_to_drops(py, source.parsed.as_deref(), consent)?;
        let written = detached(py, || {
            let mut chat = conversation_of(&source.document)?;
            chat.tools = declared.unwrap_or(chat.tools);
            self.writer.write_sample(&chat, &options, &policy, as_is)
        })??;
        consent_to_losses(py, &written.losses, consent)?;
        Ok(written.into())
    }

    /// Returns the number of ids of a document, as `render` writes it.
    ///
    /// >>> Tokenizer("harmony").count(Conversation([Message.user("Hello")]))
    /// 5
    #[pyo3(signature = (document), text_signature = "($self, document)")]
    fn count(&self, py: Python<'_>, document: &Bound<'_, PyAny>) -> PyResult<usize> {
        let source = source(&Argument::new("document", document))?;
        consent_to_drops(py, source.parsed.as_deref(), Consent::default())?;
        let document = &source.document;
        let counted =
            detached(py, || self.writer.tokenizer.count(document, &RenderOptions::default()))?;
        let counted =
            counted.map_err(|error| Failure::render(&error, document.as_conversation()))?;
        self.writer.spelled(&counted.spelled)?;
        Ok(counted.ids)
    }

    /// Parses token ids.
    ///
    /// Args:
    ///     ids: The ids: an iterable, or an array of NumPy.
    ///     keep_ids: Stores the ids of each message in it, so that it is written as the same ids again.
    ///
    /// The other arguments are those of the function `parse`.
    ///
    /// Raises:
    ///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
    ///
    /// >>> Tokenizer("harmony").parse([200006, 1428, 200008, 13225, 200007]).conversation
    /// Conversation([Message('user', 'Hello')])
    #[pyo3(
        signature = (ids, **options),
        text_signature = "($self, ids, *, keep_ids=False, completion=False, continues=None, in_reasoning=False, repair=None, past_stop=False, open_prompt=False, mode='lenient', recover='keep', tools=None, limits=None)"
    )]
    fn parse(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyParsed> {
        let ids = self::ids(&Argument::new("ids", ids))?;
        let (mut read, mut keeps_ids) = (ReadOptions::default(), false);
        keywords(options, |argument| {
            if argument.name == "keep_ids" {
                keeps_ids = argument.flag()?;
                return Ok(true);
            }
            options::read(&mut read, argument)
        })?;
        let parsed = detached(py, || {
            let mut parsed = self.writer.tokenizer.parse(&ids, &read);
            if keeps_ids {
                parsed = parsed.with_ids(&ids);
            }
            let text = (!parsed.diagnostics().is_empty()).then(|| parsed.text().to_owned());
            let parsed = parsed.into_parsed();
            Read {
                document: Arc::new(parsed.document),
                diagnostics: parsed.diagnostics,
                format: self.writer.tokenizer.format().into(),
                text,
            }
        })?;
        Ok(PyParsed { read: Arc::new(parsed) })
    }

    /// Shortens a conversation to a number of token ids.
    ///
    /// Cuts messages that are too long, and then drops the oldest exchanges until the rest fits. It keeps
    /// messages of the system and the developer, and the last message of the user. A call and its replies
    /// stay or go together.
    ///
    /// Args:
    ///     conversation: A conversation, or data of a JSON format.
    ///     budget: The maximum number of ids.
    ///     message: The maximum number of ids of the text of one message, or `None`.
    ///
    /// The other arguments are those of the function `render`.
    ///
    /// Raises:
    ///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
    ///     TruncateError: What must stay is too long.
    ///
    /// >>> chat = Conversation([Message.user("Hello"), Message.answer("Hi!"), Message.user("Bye")])
    /// >>> Tokenizer("harmony").truncate(chat, 6).conversation
    /// Conversation([Message('user', 'Bye')])
    #[pyo3(
        signature = (conversation, budget, *, message = None, **options),
        text_signature = "($self, conversation, budget, *, message=2048, add_generation_prompt=False, continue_final_message=False, enable_thinking=None, profile='default', date=None, reasoning_effort=None, model_identity=None, builtin_tools=(), response_format=None, sanitize=False)"
    )]
    fn truncate<'py>(
        &self,
        py: Python<'py>,
        conversation: &Bound<'py, PyAny>,
        budget: &Bound<'py, PyAny>,
        message: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut truncation = Truncation::new(Argument::new("budget", budget).number()?);
        if let Some(most) = message {
            truncation.message = Argument::new("message", most).optional_number()?;
        }
        let mut writing = Writing::default();
        keywords(options, |argument| match argument.name {
            "keep_reasoning" | "bare" | "ids" | "layout" | "compact" | "infill_order" => Ok(false),
            _ => writing.set(argument),
        })?;
        let options = writing.finish()?;
        let source = source(&Argument::new("conversation", conversation))?;
        consent_to_drops(py, source.parsed.as_deref(), Consent::default())?;
        let chat = conversation_of(&source.document)?;
        let truncated =
            detached(py, || truncation.truncate(&self.writer.tokenizer, &chat, &options))?;
        let truncated = truncated.map_err(|error| truncate_error(py, &error, &chat))?;
        self.writer.spelled(&truncated.spelled)?;
        let cut = truncated.cut.iter().map(|it| (it.message, it.ids, it.left));
        let (cut, dropped) = (PyTuple::new(py, cut)?, PyTuple::new(py, truncated.dropped)?);
        let left = PyConversation::new(truncated.conversation.into_owned());
        record(py, "Truncated")?.call1((left, dropped, cut, truncated.ids))
    }

    /// Returns whether ids are a completion, and not a whole conversation; `None` if unknown.
    fn is_completion(&self, ids: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
        Ok(self.writer.tokenizer.is_completion(&self::ids(&Argument::new("ids", ids))?))
    }

    /// Pickles the argument that the encoding was made of: a name, a path, or a tokenizer.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let this = slf.get();
        let fields = (this.format(), this.source.bind(py), this.writer.may_spell);
        PyTuple::new(py, [restorer(py, "_restore_tokenizer")?, fields.into_bound_py_any(py)?])
    }

    fn __repr__(&self) -> String {
        format!("Tokenizer('{}', '{}')", self.format(), self.writer.name)
    }
}

/// Restores a pickled tokenizer.
#[pyfunction]
#[pyo3(name = "_restore_tokenizer")]
pub(crate) fn restore_tokenizer(
    py: Python<'_>,
    format: &Bound<'_, PyAny>,
    encoding: &Bound<'_, PyAny>,
    spell_control_tokens: &Bound<'_, PyAny>,
) -> PyResult<PyTokenizer> {
    PyTokenizer::create(py, format, Some(encoding), Some(spell_control_tokens))
}

/// The options of a sample: those of the mask, and those of a prompt with all reasoning.
fn sample_options(
    py: Python<'_>,
    format: TextFormat,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<(MaskPolicy, bool, PromptOptions)> {
    let mut policy = MaskPolicy::default();
    let mut as_is = false;
    let others = PyDict::new(py);
    keywords(options, |argument| {
        let name = argument.name;
        if ["keep_reasoning", "add_generation_prompt", "continue_final_message"].contains(&name) {
            return Err(wrong_value(name, "a training sample decides this itself"));
        }
        if name == "as_is" {
            as_is = argument.flag()?;
        } else if !training::set(&mut policy, argument)? {
            others.set_item(name, argument.value)?;
        }
        Ok(true)
    })?;
    others.set_item("add_generation_prompt", false)?;
    if as_is && !others.contains("bare")? {
        others.set_item("bare", true)?;
    }
    let mut prompt = PromptOptions::read(py, format.into(), Some(&others))?;
    prompt.options.keep_reasoning = true;
    Ok((policy, as_is, prompt))
}

fn truncate_error(py: Python<'_>, error: &TruncateError, chat: &Conversation<'_>) -> PyErr {
    match error {
        TruncateError::Render(error) => Failure::render(error, Some(chat)).into(),
        error => {
            let least = match error {
                TruncateError::TooLong { least, .. } => Some(*least),
                _ => None,
            };
            let made = class(py, "TruncateError")
                .and_then(|class| class.call1((error.to_string(), least)));
            made.map_or_else(|error| error, PyErr::from_value)
        }
    }
}
