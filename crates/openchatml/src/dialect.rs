//! The table of a dialect. Code outside of `dialects` asks this table.

use std::fmt;

use crate::Control;
use crate::Span;
use crate::check::CheckRules;
use crate::declare::ToolPlace;
use crate::diagnostic::FormatError;
use crate::document::write_pair;
use crate::lex::{Mode, TokenTable};
use crate::limits::Limits;
use crate::model::{Document, FormId, Pair, Role};
use crate::options::{Profile, ReadOptions, RenderOptions};
use crate::reading::{Parsed, Reader};
use crate::rules::{Carries, Completion, Composing, ContentRules, History, Opening, PromptEnd};
use crate::signs::{JsonSigns, TextSigns};
use crate::writing::{RenderError, Sink, TextSink};

/// A chat-markup dialect.
///
/// ```
/// use openchatml::dialects;
///
/// let dialect = dialects::ALL.iter().find(|dialect| dialect.id == "chatml").unwrap();
/// assert_eq!(dialect.controls.entries().len(), 2);
/// ```
#[derive(Debug)]
pub struct Dialect {
    /// The name of the dialect, as in [`Format`].
    pub id: &'static str,
    /// Further names of the dialect, which are read but not written.
    pub aliases: &'static [&'static str],
    /// What it is called, for people.
    pub title: &'static str,
    /// Where it is used: models, services, kinds of data.
    pub used_by: &'static str,
    /// The carrier of the format whose name is the [id](Self::id) alone.
    pub carrier: Carrier,
    /// The control tokens.
    pub controls: &'static TokenTable,
    /// What the dialect can express.
    pub carries: &'static Carries,
    /// Where the dialect declares tools.
    pub tools: ToolPlace,
    /// Whether its models expect a system message with the current date at the beginning of each
    /// prompt: see [`RenderOptions::date`].
    pub dated: bool,
    /// The beginning of a prompt that options can add.
    pub(crate) opening: Option<&'static Opening>,
    pub(crate) text: Option<&'static TextForm>,
    pub(crate) json: Option<JsonForm>,
}

/// How to read and write a dialect as text.
pub(crate) struct TextForm {
    /// The name of this form.
    pub(crate) id: FormId,
    pub(crate) controls: &'static TokenTable,
    /// The minimal header, in formats with a header.
    pub(crate) header: Option<&'static str>,
    /// The form of older transcripts, which this reader also accepts.
    pub(crate) legacy: Option<&'static TextForm>,
    /// The state of the lexer at the start of a completion.
    pub(crate) completion: Mode,
    /// The rules that conversations are checked by.
    pub(crate) checks: CheckRules,
    pub(crate) grammar: &'static dyn Grammar,
    /// The chat template that the dialect follows, if any.
    pub(crate) composer: Composing,
    /// The evidence for this format in text.
    pub(crate) signs: TextSigns,
    /// How to read completions from which a server has removed the control tokens.
    pub(crate) stripped: Option<&'static Stripped>,
    /// Which messages a prompt contains.
    pub(crate) history: fn(Profile) -> History,
    /// The stop tokens, which end a completion, although a transcript can continue after them.
    pub(crate) stops: &'static [Control],
    /// How completions are framed, if the library can make grammars of them.
    pub(crate) framing: Option<Completion>,
}

/// How to read completions from which a server has removed the control tokens.
pub(crate) struct Stripped {
    /// What such a completion is called, and what helps.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// Reads a text, if it is such a completion.
    pub(crate) read: for<'a> fn(&'a str, &ReadOptions) -> Option<Parsed<'a>>,
}

/// A family of dialects, with the rules of one of them.
pub(crate) trait Grammar: Sync {
    /// Creates a reader.
    fn reader<'a>(&'static self, options: &ReadOptions) -> Box<dyn Reader<'a> + Send + Sync + 'a>;

    /// Writes a document to a sink.
    fn write(
        &'static self,
        document: &Document<'_>,
        options: &RenderOptions,
        sink: &mut dyn Sink,
    ) -> Result<(), RenderError>;
}

impl TextForm {
    /// Creates a form without a header, without a chat template, and without evidence: a dialect
    /// changes what differs.
    pub(crate) const fn new(
        id: FormId,
        controls: &'static TokenTable,
        grammar: &'static dyn Grammar,
    ) -> Self {
        Self {
            id,
            controls,
            header: None,
            legacy: None,
            completion: Mode::Body,
            checks: CheckRules::by_order(controls),
            grammar,
            composer: Composing::Never,
            signs: TextSigns::NONE,
            stripped: None,
            history: |_| History::All,
            stops: &[],
            framing: None,
        }
    }
}

/// How to read and write a dialect as JSON.
#[derive(Debug)]
pub(crate) struct JsonForm {
    /// The name of this form.
    pub(crate) id: FormId,
    pub(crate) read: for<'a> fn(&'a str, &ReadOptions) -> Parsed<'a>,
    pub(crate) write: fn(&Document<'_>, &RenderOptions) -> Result<String, RenderError>,
    /// Its own form of preference pairs, if there is one.
    pub(crate) pair: Option<&'static PairForm>,
    /// Returns the number of messages at the beginning of the written document that are only context,
    /// on which a model is not trained.
    pub(crate) context: Option<fn(&Document<'_>) -> usize>,
    /// What the JSON form can express, if that differs from the text form.
    pub(crate) carries: &'static Carries,
    pub(crate) composer: Composing,
    /// The evidence for this format in documents.
    pub(crate) signs: &'static JsonSigns,
    /// How to convert content that is more than text, if the form keeps any.
    pub(crate) contents: Option<ContentRules>,
    /// How to recognize the captured events of a stream, if the form reads them.
    pub(crate) streamed: Option<FindEvents>,
}

/// A format's own form of preference pairs. All formats also have an object with both documents.
pub(crate) struct PairForm {
    /// Whether a text is an object with both documents, which begins with one of them.
    pub(crate) is_of_documents: fn(&str, &Limits) -> bool,
    /// Writes a pair in its own form, or returns `None` if it is written as an object with both
    /// documents.
    pub(crate) write: fn(&Pair<'_>, &RenderOptions) -> Result<Option<String>, RenderError>,
}

/// Returns the type of the first event and its place, if a text is a stream of events.
pub(crate) type FindEvents = fn(&str) -> Option<(String, Span)>;

impl fmt::Debug for PairForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairForm").finish_non_exhaustive()
    }
}

impl fmt::Debug for TextForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextForm").finish_non_exhaustive()
    }
}

/// How a dialect is encoded.
///
/// ```
/// use openchatml::{Carrier, Format};
///
/// let name = |name: &str| name.parse().map(|format: Format| format.carrier().as_str());
/// assert_eq!(name("openchatml-2.0")?, "text");
/// assert_eq!(name("openchatml-2.0:json")?, "json");
/// assert!(name("chatml:json").is_err());
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Carrier {
    /// Text with control tokens.
    Text,
    /// JSON.
    Json,
}

impl Dialect {
    /// Whether options can add the beginning of a prompt: the identity of the model, the reasoning
    /// effort, the built-in tools, and the form of the answer.
    ///
    /// ```
    /// use openchatml::dialects;
    ///
    /// assert!(dialects::HARMONY.has_opening());
    /// assert!(!dialects::QWEN3.has_opening());
    /// ```
    pub fn has_opening(&self) -> bool {
        self.opening.is_some()
    }
}

impl Carrier {
    /// Returns the word for the carrier.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// A dialect and a carrier, such as `openchatml-2.2` or `openchatml-2.2:json`.
///
/// ```
/// use openchatml::{Carrier, Format};
///
/// let format: Format = "openchatml-2.0:json".parse()?;
/// assert_eq!(format.dialect().id, "openchatml-2.0");
/// assert_eq!(format.carrier(), Carrier::Json);
/// assert_eq!(format.to_string(), "openchatml-2.0:json");
/// assert!("openchatml-7".parse::<Format>().is_err());
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub(crate) dialect: &'static Dialect,
    pub(crate) carrier: Carrier,
}

impl Dialect {
    /// Returns the carriers of the dialect, the default one first.
    ///
    /// ```
    /// use openchatml::{Carrier, dialects};
    ///
    /// assert!(dialects::HARMONY.carriers().eq([Carrier::Text, Carrier::Json]));
    /// assert!(dialects::CHATML_WIRE.carriers().eq([Carrier::Json, Carrier::Text]));
    /// assert!(dialects::CHATML.carriers().eq([Carrier::Text]));
    /// ```
    pub fn carriers(&'static self) -> impl Iterator<Item = Carrier> {
        let order = match self.carrier {
            Carrier::Text => [Carrier::Text, Carrier::Json],
            Carrier::Json => [Carrier::Json, Carrier::Text],
        };
        order.into_iter().filter(|carrier| match carrier {
            Carrier::Text => self.text.is_some(),
            Carrier::Json => self.json.is_some(),
        })
    }

    /// Whether this is the id of the dialect or an alias.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.id == name || self.aliases.contains(&name)
    }
}

impl Format {
    /// Creates the format of a dialect with a carrier.
    ///
    /// # Errors
    ///
    /// The dialect does not have this carrier.
    ///
    /// ```
    /// use openchatml::{Carrier, Format, dialects};
    ///
    /// assert_eq!(Format::new(&dialects::HARMONY, Carrier::Json)?.to_string(), "harmony:json");
    /// let error = Format::new(&dialects::CHATML, Carrier::Json).unwrap_err();
    /// assert_eq!(error.to_string(), "`chatml` has no JSON form");
    /// # Ok::<(), openchatml::FormatError>(())
    /// ```
    pub fn new(dialect: &'static Dialect, carrier: Carrier) -> Result<Self, FormatError> {
        if dialect.carriers().any(|one| one == carrier) {
            return Ok(Self { dialect, carrier });
        }
        let name = dialect.id.to_owned();
        Err(match carrier {
            Carrier::Text => FormatError::NoText(name),
            Carrier::Json => FormatError::NoJson(name),
        })
    }

    /// Returns the dialect.
    pub const fn dialect(self) -> &'static Dialect {
        self.dialect
    }

    /// Returns the carrier.
    pub const fn carrier(self) -> Carrier {
        self.carrier
    }

    /// The key of the list of messages in the objects of this format, for a list that is written
    /// without its object. `None` for formats whose documents are only lists, or text.
    ///
    /// ```
    /// use openchatml::Format;
    ///
    /// assert_eq!(Format::OPENAI.messages_key(), Some("messages"));
    /// assert_eq!("sharegpt".parse::<Format>()?.messages_key(), Some("conversations"));
    /// assert_eq!(Format::HARMONY.messages_key(), None);
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub fn messages_key(self) -> Option<&'static str> {
        let form = self.dialect.json.as_ref().filter(|_| self.carrier == Carrier::Json)?;
        form.signs.holders.first().copied()
    }

    /// Returns what the format can express.
    ///
    /// ```
    /// use openchatml::Format;
    ///
    /// // The formats that a call can be written in without a loss of its id.
    /// let with_ids = Format::all().filter(|format| format.carries().call_ids);
    /// let names: Vec<_> = with_ids.map(|format| format.to_string()).collect();
    /// assert_eq!(names[..2], ["openchatml-2.2", "openchatml-2.2:json"]);
    /// assert!(names.ends_with(&["openai", "responses", "anthropic", "gemini", "records"].map(Into::into)));
    /// ```
    pub fn carries(self) -> &'static Carries {
        match (self.carrier, &self.dialect.json) {
            (Carrier::Json, Some(json)) => json.carries,
            _ => self.dialect.carries,
        }
    }
}

impl Format {
    /// Writes a document that the format can express unchanged.
    pub(crate) fn write(
        self,
        document: &Document<'_>,
        options: &RenderOptions,
    ) -> Result<String, RenderError> {
        match (self.carrier, self.dialect.text, &self.dialect.json) {
            (Carrier::Json, _, Some(json)) => match document {
                Document::Pair(pair) => {
                    let own = json.pair.map(|form| (form.write)(pair, options)).transpose()?;
                    match own.flatten() {
                        Some(written) => Ok(written),
                        None => write_pair(pair, json.write, options),
                    }
                }
                _ => (json.write)(document, options),
            },
            (_, Some(form), _) => {
                let mut out = String::with_capacity(estimate(document));
                let mut sink = TextSink::new(form.controls, &mut out);
                form.grammar.write(document, options, &mut sink)?;
                sink.finish()?;
                Ok(out)
            }
            // A `Format` exists only for carriers that the dialect has.
            _ => Err(RenderError::not_a_conversation(self.dialect.id)),
        }
    }
}

impl Dialect {
    /// Returns the form that owns the layout of this format.
    pub(crate) const fn form(&self) -> FormId {
        FormId::new(self.id)
    }

    /// Returns how completions are framed, if the library can make grammars of them: see
    /// [`TextFormat::completion`](crate::TextFormat::completion).
    ///
    /// ```
    /// use openchatml::dialects;
    ///
    /// assert!(dialects::CHATML_WIRE.completion().is_some() && dialects::OPENAI.completion().is_none());
    /// ```
    pub fn completion(&self) -> Option<Completion> {
        self.text?.framing
    }

    /// Whether a generation prompt after a message of `last` ends inside reasoning, so that the
    /// completion [begins there](ReadOptions::in_reasoning).
    ///
    /// ```
    /// use openchatml::{RenderOptions, Role, dialects};
    ///
    /// let mut options = RenderOptions::default();
    /// options.thinking = Some(true);
    /// assert!(!dialects::QWEN3.prompts_in_reasoning(Some(Role::User), &options));
    /// options.open_reasoning = true;
    /// assert!(dialects::QWEN3.prompts_in_reasoning(Some(Role::User), &options));
    /// ```
    pub fn prompts_in_reasoning(&self, last: Option<Role>, options: &RenderOptions) -> bool {
        match self.completion() {
            Some(Completion::Sections(sections)) => {
                sections.prompts.end(last, options) == PromptEnd::Open
            }
            _ => false,
        }
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.dialect, other.dialect) && self.carrier == other.carrier
    }
}

impl Eq for Format {}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dialect.carriers().next() == Some(self.carrier) {
            return f.pad(self.dialect.id);
        }
        f.pad(&format!("{}:{}", self.dialect.id, self.carrier.as_str()))
    }
}

/// Estimates the length of the text.
fn estimate(document: &Document<'_>) -> usize {
    const FRAME: usize = 96;
    match document {
        Document::Conversation(conversation) => {
            FRAME + conversation.messages.iter().map(|m| m.body.len() + FRAME).sum::<usize>()
        }
        _ => FRAME,
    }
}
