//! Calls whose arguments are parameters with raw values, as data.

use super::{Mark, ParameterAttributes};

/// The form of arguments that are parameters with raw values, such as
/// `<parameter=city>Paris</parameter>`.
///
/// A value ends at its closing tag only if the next parameter or the end of the call follows. A
/// missing closing tag is implied where the next parameter or the end of the call begins a line. A
/// string is written as it is, and every other value as JSON. Whether a value is a string follows
/// from the tag after its name, or from the [declared tools](crate::ReadOptions::tools). Without
/// both, a value is a string unless it is valid JSON.
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml::dialects::{CallPiece, Completion, Tag};
///
/// for format in TextFormat::all() {
///     let Ok(Completion::Sections(sections)) = format.completion() else { continue };
///     for piece in sections.calls.pieces {
///         if let CallPiece::Parameters(parameters) = piece {
///             assert_ne!(parameters.open, Tag::Text(""));
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameters {
    /// The tag before the name of a parameter.
    pub open: Tag,
    /// The tag after the name.
    pub name_end: Tag,
    /// The tags that are written in its place if the tags of a format contain the type of the value:
    /// for a string, and for a value that is JSON. They begin with the same byte.
    pub typed: Option<[Tag; 2]>,
    /// The attributes between `open` and `name_end`, if the name is one of several.
    pub attributes: Option<ParameterAttributes>,
    /// The tag before the value, if it has one of its own.
    pub value: Option<Tag>,
    /// The tag after the value.
    pub close: Tag,
    /// How `true`, `false` and `null` are written as the value of a parameter.
    pub words: Words,
    /// The number of line breaks in place of the parameters of a call that has none.
    pub empty: u8,
}

/// A tag in a call.
///
/// ```
/// use openchatml::dialects::Tag;
///
/// // The line breaks belong to the tag: they are written with it, and read if they are there.
/// let close = Tag::Text("\n</parameter>\n");
/// assert_eq!(close.text(), Some("</parameter>"));
/// assert_eq!(close.breaks(), (1, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tag {
    /// Ordinary text, with line breaks at its ends.
    Text(&'static str),
    /// A control token.
    Token(Mark),
}

/// How `true`, `false` and `null` are written as the value of a parameter. In lists and objects, they
/// are always JSON.
///
/// ```
/// use openchatml::dialects::Words;
///
/// assert_eq!(Words::Python.of("true"), "True");
/// assert_eq!(Words::Json.of("true"), "true");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Words {
    /// As in JSON.
    Json,
    /// As in Python: `True`, `False` and `None`.
    Python,
}

impl Parameters {
    /// Whether the tags of a parameter contain the type of its value.
    pub(crate) fn says_types(&self) -> bool {
        self.typed.is_some() || self.attributes.is_some()
    }
}

impl Tag {
    /// Returns the text without the line breaks, or `None` for a token.
    pub fn text(&self) -> Option<&'static str> {
        match self {
            Self::Text(text) => Some(text.trim_matches('\n')),
            Self::Token(_) => None,
        }
    }

    /// Returns the number of line breaks before and after it.
    pub fn breaks(&self) -> (u8, u8) {
        let count = |len: usize| u8::try_from(len).unwrap_or(u8::MAX);
        match self {
            Self::Text(text) => {
                let before = text.len() - text.trim_start_matches('\n').len();
                (count(before), count(text.len() - text.trim_end_matches('\n').len()))
            }
            Self::Token(mark) => (mark.before, mark.after),
        }
    }
}

/// The words of JSON, and those of Python.
const WORDS: [(&str, &str); 3] = [("true", "True"), ("false", "False"), ("null", "None")];

impl Words {
    /// Returns the value of a parameter as it is written, from a value in JSON that is no string.
    pub fn of(self, json: &str) -> &str {
        let python = WORDS.iter().find(|(word, _)| *word == json).filter(|_| self == Self::Python);
        python.map_or(json, |(_, python)| python)
    }

    /// Returns the JSON of a word of Python.
    pub(crate) fn json_of(python: &str) -> Option<&'static str> {
        WORDS.iter().find(|(_, word)| *word == python).map(|(json, _)| *json)
    }
}
