//! JSON: a small pull reader with exact places, and a writer.
//!
//! `hifijson` reads numbers and escapes. Places, depth and duplicate keys are handled here, because
//! diagnostics need them.

mod almost;
mod keys;
pub(crate) mod python;
mod reader;
mod strings;
mod value;
mod writer;

pub(crate) use self::almost::repair;
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

/// The result of checking a JSON body.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// The error, if the body is not exactly one JSON value.
    pub(crate) error: Option<JsonError>,
    /// The duplicate keys.
    pub(crate) duplicates: Vec<(String, Span)>,
}

/// Checks that `text` is exactly one JSON value, and finds duplicate keys.
pub(crate) fn check(text: &str, limits: &Limits) -> Checked {
    let mut json = Json::new(text, limits).passing_halves();
    let error = json.skip().and_then(|()| json.end()).err();
    Checked { error, duplicates: json.take_duplicates() }
}
