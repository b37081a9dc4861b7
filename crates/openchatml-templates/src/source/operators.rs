//! Counts the operators of tags.

use std::ops::Range;

use super::scan::{TemplatePart, Token, TokenKind, scan_all};

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
    let crowded = |tokens: &[Token]| {
        let count = tokens.iter().filter(is_operator).count();
        let (first, last) = (tokens.first()?, tokens.last()?);
        (count > most).then_some(first.span.start..last.span.end)
    };
    let (parts, unclosed) = scan_all(source);
    let mut tags = parts.iter().filter_map(|part| match part {
        TemplatePart::Tag(tag) => Some(&*tag.tokens),
        TemplatePart::Text(_) => None,
    });
    // The engine may end a tag elsewhere.
    tags.find_map(crowded).or_else(|| crowded(&unclosed))
}
