//! Splits the source of a template into text and tags, and tags into tokens.
//!
//! Nothing is checked here: the engine reports malformed templates.

use std::ops::Range;

/// A part of a template. Comments are omitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TemplatePart {
    /// Text that is written unchanged, except for white space at its ends.
    Text(Range<usize>),
    /// `{{ … }}` or `{% … %}`.
    Tag(Tag),
}

/// `{{ … }}` or `{% … %}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    /// Whether it is a statement.
    pub(crate) is_block: bool,
    /// The tokens between its delimiters.
    pub(crate) tokens: Vec<Token>,
}

/// A token in a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The kind of the token.
    pub(crate) kind: TokenKind,
    /// The range in the source.
    pub(crate) span: Range<usize>,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or a key word.
    Name,
    /// A string, with its quotes.
    String,
    /// A number.
    Number,
    /// An operator or a bracket.
    Sign,
}

impl Token {
    /// Returns the spelling.
    pub(crate) fn text<'s>(&self, source: &'s str) -> &'s str {
        &source[self.span.clone()]
    }
}

/// Returns the parts of a template. The text after an unclosed tag is omitted.
pub(crate) fn scan(source: &str) -> Vec<TemplatePart> {
    scan_all(source).0
}

/// Returns the parts of a template, and the tokens of an unclosed tag.
pub(crate) fn scan_all(source: &str) -> (Vec<TemplatePart>, Vec<Token>) {
    let (mut parts, mut unclosed) = (Vec::new(), Vec::new());
    let (mut at, mut text) = (0, 0);
    while let Some(found) = source[at..].find('{') {
        let open = at + found;
        let kind = source.as_bytes().get(open + 1).copied();
        if !matches!(kind, Some(b'{' | b'%' | b'#')) {
            at = open + 1;
            continue;
        }
        push_text(&mut parts, text..open);
        let end = match kind {
            Some(b'#') => source[open + 2..].find("#}").map(|found| open + 2 + found + 2),
            _ => match raw(source, open) {
                Some((inner, end)) => {
                    push_text(&mut parts, inner);
                    Some(end)
                }
                None => tag(source, open, kind == Some(b'%'), &mut unclosed).map(|(tag, end)| {
                    parts.push(TemplatePart::Tag(tag));
                    end
                }),
            },
        };
        let Some(end) = end else { return (parts, unclosed) };
        (at, text) = (end, end);
    }
    push_text(&mut parts, text..source.len());
    (parts, unclosed)
}

fn push_text(parts: &mut Vec<TemplatePart>, range: Range<usize>) {
    if !range.is_empty() {
        parts.push(TemplatePart::Text(range));
    }
}

/// Parses `{% raw %}…{% endraw %}` at `open`. Returns the range of its text, and its end.
fn raw(source: &str, open: usize) -> Option<(Range<usize>, usize)> {
    let start = word_tag(source, open, "raw")?;
    let mut at = start;
    loop {
        let close = at + source[at..].find("{%")?;
        match word_tag(source, close, "endraw") {
            Some(end) => return Some((start..close, end)),
            None => at = close + 2,
        }
    }
}

/// Returns the end of a tag that contains only this word, at `open`.
fn word_tag(source: &str, open: usize, word: &str) -> Option<usize> {
    let rest = source[open..].strip_prefix("{%")?;
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest).trim_start();
    let rest = rest.strip_prefix(word)?.trim_start();
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest).strip_prefix("%}")?;
    Some(source.len() - rest.len())
}

/// Parses the tag at `open`. Returns it with its end. `tokens` are empty, and get the tokens of an
/// unclosed tag.
fn tag(source: &str, open: usize, is_block: bool, tokens: &mut Vec<Token>) -> Option<(Tag, usize)> {
    let bytes = source.as_bytes();
    let end: &[u8] = if is_block { b"%}" } else { b"}}" };
    let mut at = open + 2;
    if matches!(bytes.get(at), Some(b'-' | b'+')) {
        at += 1;
    }
    let mut depth = 0usize;
    loop {
        let rest = &bytes[at..];
        let first = *rest.first()?;
        if first.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if depth == 0 && rest.starts_with(end) {
            return Some((Tag { is_block, tokens: std::mem::take(tokens) }, at + 2));
        }
        if depth == 0 && matches!(first, b'-' | b'+') && rest[1..].starts_with(end) {
            return Some((Tag { is_block, tokens: std::mem::take(tokens) }, at + 3));
        }
        match first {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let (kind, len) = word(&source[at..])?;
        tokens.push(Token { kind, span: at..at + len });
        at += len;
    }
}

/// Returns the kind and the length of the first token of a text.
fn word(text: &str) -> Option<(TokenKind, usize)> {
    let first = text.chars().next()?;
    let while_of = |is: fn(char) -> bool| text.find(|c| !is(c)).unwrap_or(text.len());
    Some(match first {
        '\'' | '"' => (TokenKind::String, string(text)?),
        '0'..='9' => (TokenKind::Number, number(text)),
        c if is_letter(c) => (TokenKind::Name, while_of(|c| is_letter(c) || c.is_ascii_digit())),
        c => {
            let is_pair =
                ["==", "!=", "<=", ">=", "//", "**"].iter().any(|two| text.starts_with(two));
            (TokenKind::Sign, if is_pair { 2 } else { c.len_utf8() })
        }
    })
}

fn is_letter(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

/// Returns the length of a number. A point belongs to it if a digit follows.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut len = 0;
    while let Some(byte) = bytes.get(len) {
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let goes_on = match byte {
            b'.' => is_digit(len + 1),
            b'+' | b'-' => matches!(bytes[len - 1], b'e' | b'E') && is_digit(len + 1),
            byte => byte.is_ascii_alphanumeric() || *byte == b'_',
        };
        if !goes_on {
            break;
        }
        len += 1;
    }
    len
}

/// Returns the length of a string with its quotes.
fn string(text: &str) -> Option<usize> {
    let quote = text.as_bytes()[0];
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            byte if byte == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{TemplatePart, scan};

    fn scanned(source: &str) -> Vec<String> {
        let scanned = |part: &TemplatePart| match part {
            TemplatePart::Text(range) => source[range.clone()].to_owned(),
            TemplatePart::Tag(tag) => {
                let words: Vec<_> = tag.tokens.iter().map(|token| token.text(source)).collect();
                format!("<{}>", words.join(" "))
            }
        };
        scan(source).iter().map(scanned).collect()
    }

    #[test]
    fn tags_end_outside_of_strings_and_brackets() {
        assert_eq!(scanned("a{{ '}}' + x }}b"), ["a", "<'}}' + x>", "b"]);
        assert_eq!(scanned("{{ {'a': {}} }}"), ["<{ 'a' : { } }>"]);
        assert_eq!(scanned(r"{%- if a == 'it\'s %}' -%}x"), [r"<if a == 'it\'s %}'>", "x"]);
        assert_eq!(scanned("{{ 1.5e-3 ~ x[1:-1] }}"), ["<1.5e-3 ~ x [ 1 : - 1 ]>"]);
    }

    #[test]
    fn comments_and_raw_text_have_no_tags() {
        assert_eq!(scanned("a{# {% generation %} #}b"), ["a", "b"]);
        let raw = "{% raw %}{% generation %}{%- endraw +%}c";
        assert_eq!(scanned(raw), ["{% generation %}", "c"]);
        assert_eq!(scanned("a { b {"), ["a { b {"]);
    }

    #[test]
    fn an_unclosed_tag_ends_the_parts() {
        assert_eq!(scanned("a{{ 'b }} c"), ["a"]);
        assert_eq!(scanned("a{# b"), ["a"]);
        assert_eq!(scanned("a{% raw %} b"), ["a", "<raw>", " b"]);
    }
}
