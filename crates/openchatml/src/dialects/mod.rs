//! The dialects: one folder each, and this registry.
//!
//! A dialect is data and a few functions. Adding one adds a folder and a line to [`ALL`].

mod apertus;
mod canonical;
pub(crate) mod chatml;
pub(crate) mod harmony;
mod im;
mod openai;
mod openchatml_0_1;
pub(crate) mod openchatml_2_0;
pub(crate) mod openchatml_2_2;
pub(crate) mod python;
mod responses;
mod sharegpt;

pub use self::apertus::DIALECT as APERTUS;
pub use self::canonical::DIALECT as JSON;
pub use self::chatml::DIALECT as CHATML;
pub use self::harmony::DIALECT as HARMONY;
pub use self::im::DIALECT as IM;
pub use self::openai::DIALECT as OPENAI;
pub use self::openchatml_0_1::DIALECT as OPENCHATML_0_1;
pub use self::openchatml_2_0::DIALECT as OPENCHATML_2_0;
pub use self::openchatml_2_2::DIALECT as OPENCHATML_2_2;
pub use self::responses::DIALECT as RESPONSES;
pub use self::sharegpt::DIALECT as SHAREGPT;

pub(crate) use self::canonical::{
    write_function, write_header, write_message, write_string_field, write_tool,
};
pub(crate) use self::harmony::{Contents, ask, declares_tools, kept_by_reference, left_out, open};

pub(crate) use self::openai::parts;

use std::fmt;
use std::str::FromStr;

use crate::check::Book;
use crate::convert::{Carries, Composer, Loss};
use crate::detect::{JsonSigns, TextSigns};
use crate::lex::{Controls, Mode};
use crate::model::{Conversation, Document, Message, Value};
use crate::read::{Keep, Parsed, ReadOptions, Reader};
use crate::render::{RenderError, RenderOptions, Sink};

/// Every dialect, the newest of a family first.
///
/// ```
/// use openchatml::dialects;
///
/// let names: Vec<_> = dialects::ALL.iter().map(|dialect| dialect.id).collect();
/// assert_eq!(names[..3], ["openchatml-2.2", "openchatml-2.0", "openchatml-0.1"]);
/// assert_eq!(names[3..7], ["chatml", "harmony", "apertus", "im"]);
/// assert_eq!(names[7..], ["json", "openai", "responses", "sharegpt"]);
/// ```
pub static ALL: &[&Dialect] = &[
    &OPENCHATML_2_2,
    &OPENCHATML_2_0,
    &OPENCHATML_0_1,
    &CHATML,
    &HARMONY,
    &APERTUS,
    &IM,
    &JSON,
    &OPENAI,
    &RESPONSES,
    &SHAREGPT,
];

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
    pub controls: &'static Controls,
    /// What it can say.
    pub carries: &'static Carries,
    pub(crate) text: Option<&'static TextForm>,
    pub(crate) json: Option<JsonForm>,
}

/// How a dialect is read and written as text.
pub(crate) struct TextForm {
    /// The name of its dialect.
    pub(crate) name: &'static str,
    pub(crate) controls: &'static Controls,
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
}

/// Makes a reader of a family with the rules of a dialect.
pub(crate) type MakeReader =
    for<'a> fn(&'static TextForm, &ReadOptions, Keep<'a>) -> Box<dyn Reader<'a> + Send + 'a>;

/// Finds what a conversation has to become before it is written, if anything.
pub(crate) type FindComposer = fn(&Conversation<'_>, &RenderOptions) -> Option<&'static Composer>;

/// Writes a document to a sink.
pub(crate) type WriteText =
    fn(&'static TextForm, &Document<'_>, &RenderOptions, &mut dyn Sink) -> Result<(), RenderError>;

/// How a dialect is read and written as JSON.
#[derive(Debug)]
pub(crate) struct JsonForm {
    /// The name of its format.
    pub(crate) name: &'static str,
    pub(crate) read: for<'a> fn(&'a str, &ReadOptions) -> Parsed<'a>,
    pub(crate) write: fn(&Document<'_>, &RenderOptions) -> Result<String, RenderError>,
    /// What the JSON form can say, where that differs from the text form.
    pub(crate) carries: &'static Carries,
    pub(crate) composer: Option<FindComposer>,
    /// What documents are known by.
    pub(crate) signs: &'static JsonSigns,
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

/// What the form of this name can say, if there is one.
pub(crate) fn carried_by(form: &str) -> Option<&'static Carries> {
    ALL.iter().find_map(|dialect| {
        let text = dialect.text.filter(|it| it.name == form).map(|_| dialect.carries);
        let json = || dialect.json.as_ref().filter(|it| it.name == form).map(|it| it.carries);
        text.or_else(json)
    })
}

/// Whether the content that a message was read from still says what the message says.
pub(crate) fn says_the_same(message: &Message<'_>, contents: &Contents) -> bool {
    let dialect = message.layout.as_deref().map_or("", |layout| layout.dialect);
    if dialect == HARMONY.id {
        return contents.unchanged(message).is_some();
    }
    let between = responses::between_parts(dialect == RESPONSES.id && message.is_reasoning());
    openai::content_of(message, dialect, between).is_some()
}

/// Reports what is lost where content of this dialect becomes a text.
pub(crate) fn lost_of_content(dialect: &str, content: &Value<'_>, losses: &mut Vec<Loss>) {
    match dialect == HARMONY.id {
        true => harmony::lost_of_content(content, losses),
        false => openai::parts::lost(content, losses),
    }
}

impl Format {
    /// Canonical JSON: it can say whatever a conversation holds.
    ///
    /// ```
    /// use openchatml::Format;
    ///
    /// assert_eq!(Format::JSON, "json".parse()?);
    /// # Ok::<(), openchatml::UnknownName>(())
    /// ```
    pub const JSON: Self = Self { dialect: &JSON, carrier: Carrier::Json };

    /// The format of a dialect on a carrier. `None` if the dialect has no such carrier.
    ///
    /// ```
    /// use openchatml::{Carrier, Format, dialects};
    ///
    /// let format = Format::new(&dialects::CHATML, Carrier::Json).map(|it| it.to_string());
    /// assert_eq!(format.as_deref(), Some("chatml:json"));
    /// assert_eq!(Format::new(&dialects::IM, Carrier::Json), None);
    /// ```
    pub fn new(dialect: &'static Dialect, carrier: Carrier) -> Option<Self> {
        dialect.carriers().any(|one| one == carrier).then_some(Self { dialect, carrier })
    }

    /// The dialect.
    pub const fn dialect(self) -> &'static Dialect {
        self.dialect
    }

    /// The carrier, one that the dialect has.
    pub const fn carrier(self) -> Carrier {
        self.carrier
    }

    /// Every format.
    ///
    /// ```
    /// use openchatml::Format;
    ///
    /// let chatml = Format::all().filter(|format| format.dialect().id == "chatml");
    /// let names: Vec<_> = chatml.map(|format| format.to_string()).collect();
    /// assert_eq!(names, ["chatml", "chatml:json"]);
    /// ```
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().flat_map(|dialect| dialect.carriers().map(|carrier| Self { dialect, carrier }))
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

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.dialect.id == other.dialect.id && self.carrier == other.carrier
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

impl FromStr for Format {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let (id, carrier) = match name.split_once(':') {
            Some((id, carrier)) => (id, Some(carrier)),
            None => (name, None),
        };
        let dialect = ALL.iter().find(|dialect| dialect.id == id);
        let dialect = dialect.ok_or_else(|| UnknownName::new("format", name))?;
        let mut carriers = dialect.carriers();
        let found = match carrier {
            Some(word) => carriers.find(|carrier| carrier.as_str() == word),
            None => carriers.next(),
        };
        let carrier = found.ok_or_else(|| UnknownName::new("format", name))?;
        Ok(Self { dialect, carrier })
    }
}

/// A name that stands for nothing.
///
/// ```
/// use openchatml::Format;
///
/// let error = "openchatml-7".parse::<Format>().unwrap_err();
/// assert_eq!(error.to_string(), "no format is called `openchatml-7`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    name: String,
}

impl UnknownName {
    pub(crate) fn new(what: &'static str, name: &str) -> Self {
        Self { what, name: name.to_owned() }
    }

    /// The name, as it was given.
    ///
    /// ```
    /// use openchatml::Format;
    ///
    /// let error = "openchatml-7".parse::<Format>().unwrap_err();
    /// assert_eq!(error.name(), "openchatml-7");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {} is called {}", self.what, crate::diagnostic::quote(&self.name))
    }
}

impl std::error::Error for UnknownName {}
