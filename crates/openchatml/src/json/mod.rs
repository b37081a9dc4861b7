//! JSON: a small pull reader that knows where everything stands, and a writer of strings.
//!
//! Numbers and escapes are `hifijson`'s; places, depth and repeated keys are ours, since
//! diagnostics need them.

mod keys;
pub(crate) mod python;
mod reader;
mod strings;
mod value;
mod writer;

pub(crate) use self::keys::Keys;
pub(crate) use self::reader::{Json, JsonError, Repair, Result};
pub use self::value::{Data, Value};
pub(crate) use self::writer::{write_ascii_string, write_number, write_string, write_value};

use crate::Span;
use crate::limits::Limits;

/// Whether `text` is a JSON number (RFC 8259 §6).
pub(crate) fn is_number(text: &str) -> bool {
    use hifijson::num::LexWrite as _;
    let mut lexer = hifijson::SliceLexer::new(text.as_bytes());
    let starts = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    starts && lexer.num_string().validated().is_ok() && lexer.as_slice().is_empty()
}

/// What a body that claims to be JSON turned out to be.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// Why and where it is not one JSON value.
    pub(crate) error: Option<JsonError>,
    /// The keys that are given twice in an object.
    pub(crate) duplicates: Vec<(String, Span)>,
}

/// Checks that `text` is one JSON value and no more, with its keys unique.
pub(crate) fn check(text: &str, limits: &Limits) -> Checked {
    let mut json = Json::new(text, limits).passing_halves();
    let error = json.skip().and_then(|()| json.end()).err();
    Checked { error, duplicates: json.take_duplicates() }
}
