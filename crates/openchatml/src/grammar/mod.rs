//! The families of dialects. What differs between the dialects of a family is data in the
//! dialect's folder; what is common is here.

pub(crate) mod frame;
pub(crate) mod turn;

use crate::Span;

/// The words of a text with their spans.
pub(crate) fn words(text: &str, at: usize) -> impl Iterator<Item = (&str, Span)> {
    let mut rest = text;
    let mut at = at;
    std::iter::from_fn(move || {
        let trimmed = rest.trim_ascii_start();
        at += rest.len() - trimmed.len();
        let bytes = trimmed.as_bytes();
        // Most bytes are told apart from white space by one comparison.
        let is_space = |byte: &u8| *byte <= b' ' && byte.is_ascii_whitespace();
        let len = bytes.iter().position(is_space).unwrap_or(bytes.len());
        let (word, after) = trimmed.split_at(len);
        let span = Span::new(at, at + len);
        rest = after;
        at += len;
        (len > 0).then_some((word, span))
    })
}
