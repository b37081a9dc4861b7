//! Formats that are text: what streams, token ids, completions and their grammars need.

use std::fmt;
use std::str::FromStr;

use crate::Control;
use crate::diagnostic::FormatError;
use crate::dialect::{Carrier, Dialect, Format, TextForm};
use crate::dialects::{self, ALL};
use crate::lex::Controls;
use crate::rules::Completion;

/// A format that is text with control tokens.
///
/// Streams, token ids, prompts of raw completions and grammars need one. Convert from a [`Format`]
/// with `TryFrom`, or take the text form of its dialect with [`Format::text`].
///
/// ```
/// use openchatml::{Format, FormatError, TextFormat};
///
/// assert_eq!(TextFormat::try_from(Format::HARMONY)?, TextFormat::HARMONY);
/// assert_eq!("harmony".parse::<TextFormat>()?, TextFormat::HARMONY);
///
/// let json: Format = "chatml:json".parse()?;
/// assert_eq!(TextFormat::try_from(json).unwrap_err().to_string(), "`chatml:json` has no text form");
/// assert_eq!(json.text()?, TextFormat::CHATML);
/// # Ok::<(), FormatError>(())
/// ```
#[derive(Clone, Copy)]
pub struct TextFormat {
    dialect: &'static Dialect,
    form: &'static TextForm,
}

impl TextFormat {
    /// OpenChatML 2.2.
    pub const OPENCHATML_2_2: Self = Self::of(&dialects::OPENCHATML_2_2);

    /// OpenChatML 2.0.
    pub const OPENCHATML_2_0: Self = Self::of(&dialects::OPENCHATML_2_0);

    /// OpenChatML 0.1.
    pub const OPENCHATML_0_1: Self = Self::of(&dialects::OPENCHATML_0_1);

    /// OpenAI's ChatML.
    pub const CHATML: Self = Self::of(&dialects::CHATML);

    /// Harmony, the format of the gpt-oss models.
    pub const HARMONY: Self = Self::of(&dialects::HARMONY);

    /// Apertus.
    pub const APERTUS: Self = Self::of(&dialects::APERTUS);

    /// The `<|im_start|>` framing.
    pub const IM: Self = Self::of(&dialects::IM);

    /// The constants are of dialects that have a text form: any other does not compile.
    const fn of(dialect: &'static Dialect) -> Self {
        match dialect.text {
            Some(form) => Self { dialect, form },
            None => panic!("the dialect has a text form"),
        }
    }

    /// Every text format.
    ///
    /// ```
    /// use openchatml::TextFormat;
    ///
    /// let names: Vec<_> = TextFormat::all().map(|format| format.to_string()).collect();
    /// assert_eq!(names[..3], ["openchatml-2.2", "openchatml-2.0", "openchatml-0.1"]);
    /// assert_eq!(names[3..], ["chatml", "harmony", "apertus", "im"]);
    /// ```
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().filter_map(|dialect| Some(Self { dialect, form: dialect.text? }))
    }

    /// The same format, where any format will do.
    ///
    /// ```
    /// use openchatml::{Format, TextFormat};
    ///
    /// assert_eq!(TextFormat::HARMONY.format(), Format::HARMONY);
    /// ```
    pub const fn format(self) -> Format {
        Format { dialect: self.dialect, carrier: Carrier::Text }
    }

    /// The dialect.
    pub const fn dialect(self) -> &'static Dialect {
        self.dialect
    }

    /// The control tokens of the dialect, and how they are spelled.
    pub const fn controls(self) -> &'static Controls {
        self.form.controls
    }

    /// The tokens that end a completion, though a transcript may go on after them. A server is told
    /// to stop there.
    ///
    /// ```
    /// use openchatml::{Control, TextFormat};
    ///
    /// assert_eq!(TextFormat::HARMONY.stops(), [Control::Return, Control::Call]);
    /// assert_eq!(TextFormat::OPENCHATML_2_2.stops(), [Control::Return]);
    /// ```
    pub const fn stops(self) -> &'static [Control] {
        self.form.stops
    }

    /// How completions are framed, for grammars of them.
    ///
    /// # Errors
    ///
    /// No grammar can be made of completions in this format.
    ///
    /// ```
    /// use openchatml::{FormatError, TextFormat};
    ///
    /// assert!(TextFormat::CHATML.completion().is_ok());
    /// let none = TextFormat::all().find_map(|format| format.completion().err());
    /// assert!(none.is_none_or(|error| matches!(error, FormatError::NoGrammar(_))));
    /// ```
    pub fn completion(self) -> Result<Completion, FormatError> {
        self.form.framing.ok_or_else(|| FormatError::NoGrammar(self.to_string()))
    }

    pub(crate) const fn form(self) -> &'static TextForm {
        self.form
    }
}

impl Format {
    /// The text form of the format's dialect.
    ///
    /// # Errors
    ///
    /// The dialect has no text form.
    ///
    /// ```
    /// use openchatml::{Format, TextFormat};
    ///
    /// assert_eq!(Format::IM.text()?, TextFormat::IM);
    /// assert_eq!("harmony:json".parse::<Format>()?.text()?, TextFormat::HARMONY);
    /// assert!(Format::SHAREGPT.text().is_err());
    /// # Ok::<(), openchatml::FormatError>(())
    /// ```
    pub fn text(self) -> Result<TextFormat, FormatError> {
        let dialect = self.dialect;
        match dialect.text {
            Some(form) => Ok(TextFormat { dialect, form }),
            None => Err(FormatError::NoText(self.to_string())),
        }
    }
}

impl TryFrom<Format> for TextFormat {
    type Error = FormatError;

    fn try_from(format: Format) -> Result<Self, FormatError> {
        match format.carrier {
            Carrier::Text => format.text(),
            Carrier::Json => Err(FormatError::NoText(format.to_string())),
        }
    }
}

impl From<TextFormat> for Format {
    fn from(format: TextFormat) -> Self {
        format.format()
    }
}

impl FromStr for TextFormat {
    type Err = FormatError;

    fn from_str(name: &str) -> Result<Self, FormatError> {
        Self::try_from(name.parse::<Format>()?)
    }
}

impl PartialEq for TextFormat {
    fn eq(&self, other: &Self) -> bool {
        self.format() == other.format()
    }
}

impl Eq for TextFormat {}

impl fmt::Debug for TextFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TextFormat").field(&self.dialect.id).finish()
    }
}

impl fmt::Display for TextFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.format().fmt(f)
    }
}
