//! Chat templates of models.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use openchatml::{Conversation, Data, Document, End, Limits as ReadLimits, Value};
use openchatml_templates::{Arguments, Date, Options, Rendered, Template, TemplateFile, losses};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::argument::{Argument, cut};
use crate::consent::{Consent, consent_to_drops, consent_to_losses};
use crate::data;
use crate::document::source;
use crate::error::{Failure, detached, wrong_type, wrong_value};
use crate::pickle::{malformed, restorer};
use crate::rendered::{PyRendered, Written};
use crate::tokenizer::PyTokenizer;
use crate::tool_list::tools;
use crate::write::conversation_of;

/// The chat template of a model: a Jinja template that writes prompts. It runs in a sandbox.
///
/// The result is that of `transformers`, except that text of a message never becomes a control token.
///
/// Args:
///     source: The template; the content of a `tokenizer_config.json`; the path of a file or of the
///         folder of a model (`pathlib.Path`); or a tokenizer of `transformers`.
///     name: The name of the template, if there are several.
///     special_tokens: Special tokens by name, such as `{"bos_token": "<s>"}`.
///
/// Raises:
///     ArgumentTypeError, ArgumentValueError: An argument is invalid, or a file cannot be read.
///     TemplateError: The template is invalid, or there is none of this name.
///
/// >>> template = ChatTemplate("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}")
/// >>> template.render([{"role": "user", "content": "Hi!"}])
/// '<|user|>Hi!'
#[pyclass(frozen, module = "openchatml", name = "ChatTemplate")]
pub(crate) struct PyChatTemplate {
    /// The templates for conversations without tools and with tools, each with its options.
    templates: [(Template, Options<'static>); 2],
}

/// The files of a model with a template or with special tokens, the template first.
const FILES: &[&str] =
    &["chat_template.jinja", "chat_template.json", "tokenizer_config.json", "tokenizer.json"];

impl PyChatTemplate {
    /// Creates the template of these texts: the first one has the template, all have special tokens.
    fn of(
        texts: &[String],
        name: Option<&str>,
        tokens: &[(String, String)],
    ) -> Result<Self, Failure> {
        let read = |text: &String| {
            TemplateFile::read(text).map_err(|it| Failure::found("TemplateError", &it, None))
        };
        let files: Vec<_> = texts.iter().map(read).collect::<Result<_, _>>()?;
        let load = |has_tools| {
            let first =
                files.first().ok_or_else(|| Failure::new("TemplateError", "no template"))?;
            let source = first.choose(name, has_tools);
            let source = source.map_err(|why| Failure::new("TemplateError", why))?;
            let template = Template::new(source, &Default::default())
                .map_err(|error| Failure::template(&error, &Conversation::default()))?;
            let mut options = Options::default();
            files.iter().for_each(|file| file.add_to(&template, &mut options));
            for (key, token) in tokens {
                options.special_tokens.retain(|it| it.0 != *key);
                options.special_tokens.push((key.clone().into(), token.clone().into()));
            }
            Ok::<_, Failure>((template, options))
        };
        Ok(Self { templates: [load(false)?, load(true)?] })
    }
}

/// What is rendered: the conversation, the options of the template, and what may be lost.
struct Job {
    conversation: Conversation<'static>,
    options: Options<'static>,
    continues: bool,
    has_tools: bool,
}

impl PyChatTemplate {
    /// Reads the arguments.
    fn job(
        &self,
        conversation: &Bound<'_, PyAny>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Job> {
        let py = conversation.py();
        let mut consent = Consent::LOSSES;
        let mut declared = None;
        let mut set = Options::default();
        let mut continues = false;
        crate::argument::keywords(keywords, |argument| {
            match argument.name {
                "allow_loss" => consent = Consent::read(argument)?,
                "tools" if argument.value.is_none() => {}
                "tools" => declared = Some(tools(argument)?),
                "add_generation_prompt" => set.generation_prompt = argument.flag()?,
                "continue_final_message" => continues = argument.flag()?,
                "enable_thinking" => set.thinking = argument.optional_flag()?,
                "date" => set.date = date(argument)?,
                "arguments" => set.arguments = argument.word(ARGUMENTS, arguments)?,
                name => {
                    let value = data::read(name, argument.value)?;
                    set.variables.push((name.to_owned().into(), value));
                }
            }
            Ok(true)
        })?;
        if continues && set.generation_prompt {
            let why = "it cannot be combined with `add_generation_prompt`";
            return Err(wrong_value("continue_final_message", why));
        }
        let source = source(&Argument::new("conversation", conversation))?;
        consent_to_drops(py, source.parsed.as_deref(), consent)?;
        consent_to_losses(py, &losses(&source.document), consent)?;
        let mut conversation = conversation_of(&source.document)?;
        conversation.tools = declared.unwrap_or(conversation.tools);
        let has_tools = !conversation.tools.is_empty();
        let mut options = self.templates[usize::from(has_tools)].1.clone();
        options.generation_prompt = set.generation_prompt;
        options.thinking = set.thinking;
        options.date = set.date;
        options.arguments = set.arguments;
        // A variable replaces the special token of the same name.
        options.special_tokens.retain(|it| set.variables.iter().all(|other| other.0 != it.0));
        options.variables.extend(set.variables);
        Ok(Job { conversation, options, continues, has_tools })
    }

    /// Renders a conversation.
    fn render_job(&self, job: &Job, as_pieces: bool) -> Result<Rendered, Failure> {
        let template = &self.templates[usize::from(job.has_tools)].0;
        let render = |conversation: &Conversation<'_>| {
            let rendered = match as_pieces {
                true => template.render_pieces(conversation, &job.options),
                false => template.render(conversation, &job.options),
            };
            rendered.map_err(|error| Failure::template(&error, conversation))
        };
        if !job.continues {
            return render(&job.conversation);
        }
        let mut marked = job.conversation.clone();
        let last = marked.messages.last_mut();
        let last = last.ok_or_else(|| Failure::new("TemplateError", "there is no last message"))?;
        let text = last.body.text().into_owned();
        last.end = End::End;
        last.body = format!("{text}{TAG} ").into();
        let mut rendered = render(&marked)?;
        let missing =
            "the template does not write the text of the last message, so it cannot be continued";
        let at = rendered.text.rfind(TAG).filter(|_| rendered.text.contains(text.trim()));
        let at = at.ok_or_else(|| Failure::new("TemplateError", missing))?;
        let keeps_space = rendered.text[at + TAG.len()..].starts_with(' ');
        let end = if keeps_space { at } else { rendered.text[..at].trim_end().len() };
        cut_at(&mut rendered, end);
        Ok(rendered)
    }
}

/// Marks the end of the message that is continued. The template may remove the space after it, and
/// then it also removes the space at the end of the message.
const TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG";

/// Cuts the output.
fn cut_at(rendered: &mut Rendered, end: usize) {
    rendered.text.truncate(end);
    rendered.pieces.retain(|piece| piece.span.start < end);
    if let Some(last) = rendered.pieces.last_mut() {
        last.span.end = last.span.end.min(end);
    }
    rendered.generation.retain(|range| range.start < end);
    if let Some(last) = rendered.generation.last_mut() {
        last.end = last.end.min(end);
    }
}

const ARGUMENTS: &[Arguments] = &[Arguments::Parsed, Arguments::Text];

fn arguments(arguments: Arguments) -> &'static str {
    match arguments {
        Arguments::Parsed => "parsed",
        Arguments::Text => "text",
    }
}

fn date(argument: &Argument<'_, '_>) -> PyResult<Option<Date>> {
    let Some(text) = argument.optional_text()? else { return Ok(None) };
    let date = text.parse::<Date>();
    date.map(Some).map_err(|_| wrong_value(argument.name, "write the date as YYYY-MM-DD"))
}

#[pymethods]
impl PyChatTemplate {
    #[new]
    #[pyo3(
        signature = (source, *, name = None, special_tokens = None),
        text_signature = "(source, *, name=None, special_tokens=None)"
    )]
    fn create(
        source: &Bound<'_, PyAny>,
        name: Option<&Bound<'_, PyAny>>,
        special_tokens: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let name = name.map(|it| Argument::new("name", it).optional_text()).transpose()?.flatten();
        let mut tokens = match special_tokens.filter(|it| !it.is_none()) {
            Some(value) => tokens(&Argument::new("special_tokens", value))?,
            None => Vec::new(),
        };
        if source.is_instance_of::<PyString>() {
            let text = Argument::new("source", source).text()?.to_owned();
            return Ok(Self::of(&[text], name, &tokens)?);
        }
        if source.hasattr("__fspath__")? {
            let texts = files(&source.extract::<PathBuf>()?)?;
            return Ok(Self::of(&texts, name, &tokens)?);
        }
        // A tokenizer of `transformers`.
        let template = source.getattr_opt("chat_template")?.filter(|it| !it.is_none());
        let Some(template) = template else {
            let expected = "a template, a path, or a tokenizer of `transformers` with a template";
            return Err(wrong_type("source", expected, source));
        };
        if let Some(map) = source.getattr_opt("special_tokens_map")? {
            let mut own = self::tokens(&Argument::new("source", &map))?;
            own.append(&mut tokens);
            tokens = own;
        }
        let text = match template.cast::<PyString>() {
            Ok(text) => Argument::new("source", text).text()?.to_owned(),
            // Named templates.
            Err(_) => named(&data::read("source", &template)?),
        };
        Ok(Self::of(&[text], name, &tokens)?)
    }

    /// The template for conversations without tools.
    #[getter]
    fn source(&self) -> &str {
        self.templates[0].0.source()
    }

    /// Writes a prompt as text.
    ///
    /// Args:
    ///     conversation: A conversation, or data of a JSON format.
    ///     tools: The tools instead of those of the conversation, as in `prompt`.
    ///     add_generation_prompt: Ends the prompt where the assistant speaks.
    ///     continue_final_message: Ends the prompt in the text of the last message.
    ///     enable_thinking: The variable of this name; `None` leaves it to the template.
    ///     date: The date that `strftime_now` returns: `"YYYY-MM-DD"`.
    ///     arguments: How arguments of calls are passed: `"parsed"` (as data) or `"text"`.
    ///     allow_loss: As in `convert`: what the template does not receive.
    ///     **variables: More variables of the template.
    ///
    /// Raises:
    ///     ArgumentTypeError, ArgumentValueError: An argument is invalid.
    ///     LossError: Something would be lost that is not allowed.
    ///     TemplateError: The template rejects the conversation, or text would become a control token.
    ///
    /// >>> template = ChatTemplate("{{ messages[0].content }}{{ eos_token }}", special_tokens={"eos_token": "</s>"})
    /// >>> template.render([{"role": "user", "content": "Hi!"}])
    /// 'Hi!</s>'
    #[pyo3(
        signature = (conversation, **options),
        text_signature = "($self, conversation, *, tools=None, add_generation_prompt=False, continue_final_message=False, enable_thinking=None, date=None, arguments='parsed', allow_loss='losses', **variables)"
    )]
    fn render(
        &self,
        py: Python<'_>,
        conversation: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let job = self.job(conversation, options)?;
        Ok(detached(py, || self.render_job(&job, false))??.text)
    }

    /// Writes a prompt as token ids. Text of a message is encoded as ordinary text.
    ///
    /// The mask has the ids that the template marks with `{% generation %}`. There are no spans.
    ///
    /// The other arguments and errors are those of `render`.
    ///
    /// Raises:
    ///     EncodingError: The encoding belongs to another model: it has no ids for the control tokens of
    ///         the template. What a model's own encoding lacks is ordinary text to the model.
    #[pyo3(
        signature = (conversation, tokenizer, **options),
        text_signature = "($self, conversation, tokenizer, *, tools=None, add_generation_prompt=False, continue_final_message=False, enable_thinking=None, date=None, arguments='parsed', allow_loss='losses', **variables)"
    )]
    fn ids(
        &self,
        py: Python<'_>,
        conversation: &Bound<'_, PyAny>,
        tokenizer: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyRendered> {
        let Ok(tokenizer) = tokenizer.cast::<PyTokenizer>() else {
            return Err(wrong_type("tokenizer", "a `Tokenizer`", tokenizer));
        };
        let writer = &tokenizer.get().writer;
        let job = self.job(conversation, options)?;
        let written = detached(py, || {
            let ids = self.render_job(&job, true)?.ids(&writer.tokenizer.encoding());
            let is_of_another = &*writer.name == "o200k_harmony" || ids.is_foreign();
            if let Some(token) = ids.spelled.first()
                && !writer.may_spell
                && is_of_another
            {
                let name = &writer.name;
                let text =
                    format!("the encoding `{name}` has no id for the control token `{token}`");
                return Err(Failure::new("EncodingError", text));
            }
            let mut mask = vec![false; ids.ids.len()];
            for range in ids.generation {
                mask[range].fill(true);
            }
            let weights = mask.iter().map(|it| f64::from(u8::from(*it))).collect();
            let mut rendered = openchatml_tokens::Rendered::default();
            rendered.ids = ids.ids;
            Ok(Written {
                rendered,
                numbers: Vec::new(),
                training: Some((mask, weights)),
                losses: losses(&Document::from(job.conversation.clone())),
                spelled: Vec::new(),
            })
        })?;
        Ok(written?.into())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let state =
            slf.get().templates.each_ref().map(|(template, options)| -> State<Cow<'_, str>> {
                let tokens = options.special_tokens.iter();
                let tokens = tokens.map(|(key, text)| (key.as_ref().into(), text.as_ref().into()));
                let controls = options.controls.iter().flatten().map(|it| it.as_ref().into());
                (template.source().into(), tokens.collect(), controls.collect())
            });
        PyTuple::new(py, [restorer(py, "_restore_template")?, (state,).into_bound_py_any(py)?])
    }

    fn __repr__(&self) -> String {
        let mut source = cut(self.source());
        source.truncate(source.len().min(80));
        format!("<ChatTemplate {source}>")
    }
}

/// What is pickled of a template: its source, its special tokens by name, and its other control
/// tokens.
type State<T> = (T, Vec<(T, T)>, Vec<T>);

/// Restores a pickled template.
#[pyfunction]
#[pyo3(name = "_restore_template")]
pub(crate) fn restore_template(state: &Bound<'_, PyAny>) -> PyResult<PyChatTemplate> {
    let state: [State<String>; 2] = state.extract().map_err(|_| malformed())?;
    let restore = |(source, tokens, controls): State<String>| {
        let template = Template::new(&source, &Default::default()).map_err(|_| malformed())?;
        let mut options = Options::default();
        let tokens = tokens.into_iter().map(|(key, text)| (key.into(), text.into()));
        options.special_tokens = tokens.collect();
        let controls = controls.into_iter().map(Cow::from).collect::<Vec<_>>();
        options.controls = Some(controls).filter(|it| !it.is_empty());
        Ok::<_, PyErr>((template, options))
    };
    let [without_tools, with_tools] = state;
    Ok(PyChatTemplate { templates: [restore(without_tools)?, restore(with_tools)?] })
}

/// Special tokens by name: texts, or objects that are texts.
fn tokens(argument: &Argument<'_, '_>) -> PyResult<Vec<(String, String)>> {
    let Ok(dict) = argument.value.cast::<PyDict>() else {
        return Err(wrong_type(argument.name, "a `dict`", argument.value));
    };
    let mut tokens = Vec::new();
    for entry in dict.items() {
        let (key, token) = entry.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        let key = Argument::new(argument.name, &key).text()?.to_owned();
        // Lists of additional tokens have no name in templates.
        if token.is_instance_of::<PyString>() {
            tokens.push((key, Argument::new(argument.name, &token).text()?.to_owned()));
        }
    }
    Ok(tokens)
}

/// Templates by name, as the file that would have them.
fn named(templates: &Value<'_>) -> String {
    let field = |key: &str, value: &str| (key.to_owned().into(), Value::from(value.to_owned()));
    let templates = templates.as_map().unwrap_or_default().iter();
    let list = templates.filter_map(|(name, template)| {
        let template = field("template", template.as_str()?);
        Some(Data::Map(vec![field("name", name), template]).into())
    });
    let list = Value::from(Data::List(list.collect()));
    Value::from(Data::Map(vec![("chat_template".into(), list)])).to_json()
}

/// Reads a file, or the files of a model's folder.
fn files(path: &Path) -> PyResult<Vec<String>> {
    let paths = match path.is_dir() {
        true => FILES.iter().map(|name| path.join(name)).filter(|it| it.is_file()).collect(),
        false => vec![path.to_owned()],
    };
    let most = ReadLimits::default().message_bytes;
    let read = |path: &PathBuf| {
        let shown = cut(&path.display().to_string());
        let text = std::fs::read_to_string(path)
            .map_err(|error| wrong_value("source", &format!("cannot read `{shown}`: {error}")))?;
        if text.len() > most {
            return Err(wrong_value("source", &format!("`{shown}` is larger than {most} bytes")));
        }
        Ok(text)
    };
    if paths.is_empty() {
        return Err(wrong_value("source", "the folder has no template"));
    }
    paths.iter().map(read).collect()
}
