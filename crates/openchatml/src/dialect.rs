//! What is known of a dialect: one table, which everything else asks.

use std::fmt;

use crate::Control;
use crate::check::Book;
use crate::declare::ToolPlace;
use crate::diagnostic::FormatError;
use crate::lex::{Mode, TokenTable};
use crate::model::{Conversation, Document, FormId, Role};
use crate::options::{Profile, ReadOptions, RenderOptions};
use crate::reading::{Keep, Parsed, Reader};
use crate::rules::{Carries, Completion, Composer, ContentRules, History, Opening, PromptEnd};
use crate::signs::{JsonSigns, TextSigns};
use crate::writing::{RenderError, Sink, TextSink};

/// A chat-markup dialect.
///
/// ```
/// use openchatml::dialects;
///
/// let dialect = dialects::ALL.iter().find(|dialect| dialect.id == "im").unwrap();
/// assert_eq!(dialect.controls.entries().len(), 2);
/// ```
#[derive(Debug)]
pub struct Dialect {
    /// Its name, as in [`Format`].
    pub id: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Its control tokens.
    pub controls: &'static TokenTable,
    /// What it can say.
    pub carries: &'static Carries,
    /// Where it declares tools.
    pub tools: ToolPlace,
    /// What prompts begin with where options ask for it.
    pub(crate) opening: Option<&'static Opening>,
    pub(crate) text: Option<&'static TextForm>,
    pub(crate) json: Option<JsonForm>,
}

/// How a dialect is read and written as text.
pub(crate) struct TextForm {
    /// The name of its dialect.
    pub(crate) id: FormId,
    pub(crate) controls: &'static TokenTable,
    /// What a minimal header is, where the format has headers.
    pub(crate) header: Option<&'static str>,
    /// The form in which older transcripts may be written instead.
    pub(crate) legacy: Option<&'static TextForm>,
    /// Where the text of a completion begins.
    pub(crate) completion: Mode,
    /// What its conversations are checked by.
    pub(crate) book: &'static Book,
    pub(crate) reader: MakeReader,
    pub(crate) write: WriteText,
    /// Which chat template the dialect is written by, if there is one.
    pub(crate) composer: Option<FindComposer>,
    /// What text is known by.
    pub(crate) signs: TextSigns,
    /// Which messages a prompt has.
    pub(crate) history: fn(Profile) -> History,
    /// The tokens that end a completion, though a transcript may go on after them.
    pub(crate) stops: &'static [Control],
    /// How completions are framed, if grammars can be made of them.
    pub(crate) framing: Option<Completion>,
}

/// Makes a reader of a family with the rules of a dialect.
pub(crate) type MakeReader =
    for<'a> fn(&'static TextForm, &ReadOptions, Keep<'a>) -> Box<dyn Reader<'a> + Send + Sync + 'a>;

/// Finds what a conversation has to become before it is written, if anything.
pub(crate) type FindComposer = fn(&Conversation<'_>, &RenderOptions) -> Option<&'static Composer>;

/// Writes a document to a sink.
pub(crate) type WriteText =
    fn(&'static TextForm, &Document<'_>, &RenderOptions, &mut dyn Sink) -> Result<(), RenderError>;

/// How a dialect is read and written as JSON.
#[derive(Debug)]
pub(crate) struct JsonForm {
    /// The name of its format.
    pub(crate) id: FormId,
    pub(crate) read: for<'a> fn(&'a str, &ReadOptions) -> Parsed<'a>,
    pub(crate) write: fn(&Document<'_>, &RenderOptions) -> Result<String, RenderError>,
    /// What the JSON form can say, where that differs from the text form.
    pub(crate) carries: &'static Carries,
    pub(crate) composer: Option<FindComposer>,
    /// What documents are known by.
    pub(crate) signs: &'static JsonSigns,
    /// What becomes of content that says more than a text, if the form keeps any.
    pub(crate) contents: Option<ContentRules>,
}

impl fmt::Debug for TextForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextForm").finish_non_exhaustive()
    }
}

/// What a dialect is written in.
///
/// ```
/// use openchatml::{Carrier, Format};
///
/// let name = |name: &str| name.parse().map(|format: Format| format.carrier().as_str());
/// assert_eq!(name("chatml")?, "text");
/// assert_eq!(name("chatml:json")?, "json");
/// assert!(name("im:json").is_err());
/// # Ok::<(), openchatml::UnknownName>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Carrier {
    /// Text with control tokens in it.
    Text,
    /// JSON.
    Json,
}

impl Carrier {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// A dialect and a carrier: `openchatml-2.2`, `chatml:json`.
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
    /// The carriers that the dialect has, the default one first.
    ///
    /// ```
    /// use openchatml::{Carrier, dialects};
    ///
    /// assert!(dialects::CHATML.carriers().eq([Carrier::Text, Carrier::Json]));
    /// assert!(dialects::IM.carriers().eq([Carrier::Text]));
    /// ```
    pub fn carriers(&'static self) -> impl Iterator<Item = Carrier> {
        let text = self.text.map(|_| Carrier::Text);
        let json = self.json.as_ref().map(|_| Carrier::Json);
        text.into_iter().chain(json)
    }
}

impl Format {
    /// The format of a dialect on a carrier.
    ///
    /// # Errors
    ///
    /// The dialect has no such carrier.
    ///
    /// ```
    /// use openchatml::{Carrier, Format, dialects};
    ///
    /// assert_eq!(Format::new(&dialects::CHATML, Carrier::Json)?.to_string(), "chatml:json");
    /// let error = Format::new(&dialects::IM, Carrier::Json).unwrap_err();
    /// assert_eq!(error.to_string(), "`im` has no JSON form");
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

    /// The dialect.
    pub const fn dialect(self) -> &'static Dialect {
        self.dialect
    }

    /// The carrier, one that the dialect has.
    pub const fn carrier(self) -> Carrier {
        self.carrier
    }

    /// What the format can say.
    ///
    /// ```
    /// use openchatml::Format;
    ///
    /// // The formats that a call can be written in without a loss of its id.
    /// let with_ids = Format::all().filter(|format| format.carries().call_ids);
    /// let names: Vec<_> = with_ids.map(|format| format.to_string()).collect();
    /// assert_eq!(names[..2], ["openchatml-2.2", "openchatml-2.2:json"]);
    /// let others = ["openchatml-2.0:json", "apertus:json", "json", "openai", "responses"];
    /// assert_eq!(names[2..], others);
    /// ```
    pub fn carries(self) -> &'static Carries {
        match (self.carrier, &self.dialect.json) {
            (Carrier::Json, Some(json)) => json.carries,
            _ => self.dialect.carries,
        }
    }
}

impl Format {
    /// Writes a document that the format can carry as it is.
    pub(crate) fn write(
        self,
        document: &Document<'_>,
        options: &RenderOptions,
    ) -> Result<String, RenderError> {
        match (self.carrier, self.dialect.text, &self.dialect.json) {
            (Carrier::Json, _, Some(json)) => (json.write)(document, options),
            (_, Some(form), _) => {
                let mut out = String::with_capacity(estimate(document));
                let mut sink = TextSink::new(form.controls, &mut out);
                (form.write)(form, document, options, &mut sink)?;
                sink.finish()?;
                Ok(out)
            }
            // A `Format` is only made for carriers that the dialect has.
            _ => Err(RenderError::not_a_conversation(self.dialect.id)),
        }
    }
}

impl Dialect {
    /// The form in whose name its layout is kept.
    pub(crate) const fn form(&self) -> FormId {
        FormId::new(self.id)
    }

    /// How its completions are framed, if grammars can be made of them: see
    /// [`TextFormat::completion`](crate::TextFormat::completion).
    ///
    /// ```
    /// use openchatml::dialects;
    ///
    /// assert!(dialects::CHATML.completion().is_some() && dialects::OPENAI.completion().is_none());
    /// ```
    pub fn completion(&self) -> Option<Completion> {
        self.text?.framing
    }

    /// Whether a generation prompt behind a message of `last` ends inside of reasoning, so that a
    /// completion [begins there](ReadOptions::in_reasoning).
    ///
    /// ```
    /// use openchatml::{RenderOptions, Role, dialects};
    ///
    /// let mut options = RenderOptions::default();
    /// options.thinking = Some(true);
    /// assert!(!dialects::QWEN3.prompts_in_reasoning(Some(Role::User), &options));
    /// ```
    pub fn prompts_in_reasoning(&self, last: Option<Role>, options: &RenderOptions) -> bool {
        match self.completion() {
            Some(Completion::Sections(sections)) => {
                sections.prompts.end(last, options.thinking) == PromptEnd::Open
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

/// About how long the text will be.
fn estimate(document: &Document<'_>) -> usize {
    const FRAME: usize = 96;
    match document {
        Document::Conversation(conversation) => {
            FRAME + conversation.messages.iter().map(|m| m.body.len() + FRAME).sum::<usize>()
        }
        _ => FRAME,
    }
}
