//! Text formats, which streams, token ids, completions and grammars require.

use std::fmt;

use crate::diagnostic::FormatError;
use crate::dialect::{Carrier, Dialect, Format, TextForm};
use crate::lex::{TokenTable, begins_completion};
use crate::rules::Completion;
use crate::{Control, Section};

/// A format that is text with control tokens.
///
/// Streams, token ids, prompts of raw completions and grammars require one. Convert a [`Format`]
/// with `TryFrom`, or get the text form of its dialect with [`Format::text`].
///
/// ```
/// use openchatml::{Format, FormatError, TextFormat};
///
/// assert_eq!(TextFormat::try_from(Format::HARMONY)?, TextFormat::HARMONY);
/// assert_eq!("harmony".parse::<TextFormat>()?, TextFormat::HARMONY);
///
/// let json: Format = "chatml-wire".parse()?;
/// assert_eq!(TextFormat::try_from(json).unwrap_err().to_string(), "`chatml-wire` has no text form");
/// assert_eq!(json.text()?, TextFormat::CHATML_WIRE);
/// # Ok::<(), FormatError>(())
/// ```
#[derive(Clone, Copy)]
pub struct TextFormat {
    dialect: &'static Dialect,
    form: &'static TextForm,
}

impl TextFormat {
    /// Returns the text format of a dialect. A constant of a dialect without a text form does not
    /// compile.
    pub(crate) const fn of(dialect: &'static Dialect) -> Self {
        match dialect.text {
            Some(form) => Self { dialect, form },
            None => panic!("the dialect has a text form"),
        }
    }

    /// Returns the same format as a [`Format`].
    ///
    /// ```
    /// use openchatml::{Format, TextFormat};
    ///
    /// assert_eq!(TextFormat::HARMONY.format(), Format::HARMONY);
    /// ```
    pub const fn format(self) -> Format {
        Format { dialect: self.dialect, carrier: Carrier::Text }
    }

    /// Returns the dialect.
    pub const fn dialect(self) -> &'static Dialect {
        self.dialect
    }

    /// Returns the control tokens of the dialect and their spellings.
    pub const fn controls(self) -> &'static TokenTable {
        self.form.controls
    }

    /// Returns the stop tokens: those that end a completion, although a transcript can continue
    /// after them. Configure a server to stop at these tokens.
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

    /// Returns how completions are framed, for grammars.
    ///
    /// # Errors
    ///
    /// The library cannot make a grammar of completions in this format.
    ///
    /// ```
    /// use openchatml::{FormatError, TextFormat};
    ///
    /// assert!(TextFormat::CHATML_WIRE.completion().is_ok());
    /// let none = TextFormat::all().find_map(|format| format.completion().err());
    /// assert!(none.is_none_or(|error| matches!(error, FormatError::NoGrammar(_))));
    /// ```
    pub fn completion(self) -> Result<Completion, FormatError> {
        self.form.framing.ok_or_else(|| FormatError::NoGrammar(self.to_string()))
    }

    /// Whether a text is a raw completion of the assistant, because it begins inside of a message or
    /// of a turn. Read it with [`ReadOptions::completion`](crate::ReadOptions::completion). `None`
    /// if this depends on text that has not arrived yet.
    ///
    /// ```
    /// use openchatml::TextFormat;
    ///
    /// let is_completion = |text| TextFormat::HARMONY.is_completion(text);
    /// assert_eq!(is_completion("<|channel|>final<|message|>Hi.<|return|>"), Some(true));
    /// assert_eq!(is_completion(" to=functions.f<|channel|>commentary<|message|>{}"), Some(true));
    /// assert_eq!(is_completion("<|start|>assistant<|channel|>final<|message|>Hi."), Some(false));
    /// assert_eq!(is_completion("<|chan"), None);
    /// // Text without a control token at its beginning can be anything.
    /// assert_eq!(TextFormat::CHATML.is_completion("Hi.<|im_end|>"), Some(false));
    /// ```
    pub fn is_completion(self, text: &str) -> Option<bool> {
        let controls = self.form.controls;
        if let Some((at, control, _)) = controls.find(text) {
            return begins_completion(&text.as_bytes()[..at], Some(control));
        }
        let begun = text.trim_ascii_start();
        let is_cut_off = controls.entries().iter().any(|(_, spelling)| spelling.starts_with(begun));
        if is_cut_off { None } else { begins_completion(text.as_bytes(), None) }
    }

    /// Whether a text is a completion that begins inside of reasoning, because its first control
    /// token ends reasoning: the prompt ended with `<think>`. Read it with
    /// [`ReadOptions::in_reasoning`](crate::ReadOptions::in_reasoning).
    ///
    /// ```
    /// use openchatml::TextFormat;
    ///
    /// let begins = |text| TextFormat::QWEN3.begins_in_reasoning(text);
    /// assert!(begins("Easy.\n</think>\n\n4.<|im_end|>"));
    /// assert!(!begins("<think>\nEasy.\n</think>\n\n4.<|im_end|>") && !begins("4.<|im_end|>"));
    /// // Quoted, it is text.
    /// assert!(!begins("Write `</think>` at the end.<|im_end|>"));
    /// ```
    pub fn begins_in_reasoning(self, text: &str) -> bool {
        self.form.controls.find(text).is_some_and(|(at, control, _)| {
            let closes = control == Control::CloseSection(Section::Reasoning);
            let before = &text[..at];
            let line = before.rsplit('\n').next().unwrap_or_default();
            let is_code =
                line.starts_with("    ") || line.trim_start_matches(' ').starts_with('\t');
            closes && !before.trim_ascii().is_empty() && !before.ends_with('`') && !is_code
        })
    }

    pub(crate) const fn form(self) -> &'static TextForm {
        self.form
    }
}

impl Format {
    /// Returns the text form of the format's dialect.
    ///
    /// # Errors
    ///
    /// The dialect has no text form.
    ///
    /// ```
    /// use openchatml::{Format, TextFormat};
    ///
    /// assert_eq!(Format::CHATML.text()?, TextFormat::CHATML);
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
