//! Calls in the syntax of Python: `[weather(city='Bern', days=3), now()]`.
//!
//! A call has only keyword arguments, and their values are literals. Nothing is evaluated. The words
//! of JSON (`true`, `false`, `null`) are read, too, because models write them.

mod reader;
mod strings;
mod words;
mod write;

pub(crate) use self::reader::{Around, PythonCalls};
pub(crate) use self::write::{arguments, respelled};

/// The text is not a call in the syntax of Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotPython;

/// Whether a text can be the name of a tool.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(begins_name) && text.chars().all(is_of_name) && !text.ends_with('.')
}

/// Whether a character can begin the name of a tool or a keyword.
fn begins_name(char: char) -> bool {
    char == '_' || char.is_alphabetic()
}

/// Whether a character can continue a keyword.
fn is_of_keyword(char: char) -> bool {
    char == '_' || char.is_alphanumeric()
}

/// Whether a character can continue the name of a tool. Many tools have a hyphen in their name,
/// although Python has none in names.
fn is_of_name(char: char) -> bool {
    is_of_keyword(char) || char == '.' || char == '-'
}

/// Whether Python skips a character between words.
fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\n' | '\r' | '\t')
}
