//! Counts the operators of tags.

use std::ops::Range;

use super::scan::{Tag, TemplatePart, Token, TokenKind, scan};

/// Words that are operators.
const WORDS: &[&str] = &["and", "else", "if", "in", "is", "not", "or"];

/// Signs that are none: they separate items, or end what another sign began.
const SEPARATORS: &[&str] = &[",", ":", "=", ")", "]", "}"];

/// Returns the place of the first tag with more than `most` operators.
pub(crate) fn crowded_tag(source: &str, most: usize) -> Option<Range<usize>> {
    let is_operator = |token: &&Token| match token.kind {
        TokenKind::Name => WORDS.contains(&token.text(source)),
        TokenKind::Sign => !SEPARATORS.contains(&token.text(source)),
        TokenKind::String | TokenKind::Number => false,
    };
    let crowded = |Tag { tokens, .. }: Tag| {
        let count = tokens.iter().filter(is_operator).count();
        let (first, last) = (tokens.first()?, tokens.last()?);
        (count > most).then_some(first.span.start..last.span.end)
    };
    scan(source).into_iter().find_map(|part| match part {
        TemplatePart::Tag(tag) => crowded(tag),
        TemplatePart::Text(_) => None,
    })
}
