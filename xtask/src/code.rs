//! Rust source as tokens, without comments and without tests.
//!
//! A scanner, not a parser: it is enough to find names, paths and texts with their lines.

/// A token of Rust source. Lifetimes, characters and comments are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    /// A name, a keyword or a number.
    Word(&'t str),
    /// What a string literal contains, with its escapes as they are written.
    Text(&'t str),
    /// `::`.
    Path,
    /// Any other character.
    Sign(char),
}

/// A token and its line, from 1 on.
pub(crate) type Placed<'t> = (Token<'t>, usize);

/// Returns the tokens of a source file, without items that only tests use.
pub(crate) fn tokens(text: &str) -> Vec<Placed<'_>> {
    without_tests(&scan(text))
}

/// Returns the word of a token.
pub(crate) fn word<'t>(token: Token<'t>) -> Option<&'t str> {
    match token {
        Token::Word(word) => Some(word),
        _ => None,
    }
}

/// Returns the index of the bracket that closes the one at `open`, or the end if there is none.
pub(crate) fn closing(tokens: &[Placed<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, (token, _)) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

/// Drops the items with `#[cfg(test)]`, `#[cfg(doctest)]` or `#[test]`, and everything if the file itself has it.
fn without_tests<'t>(tokens: &[Placed<'t>]) -> Vec<Placed<'t>> {
    let sign = |at: usize, sign| tokens.get(at).is_some_and(|it| it.0 == Token::Sign(sign));
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(placed) = tokens.get(at) {
        let of_file = sign(at + 1, '!');
        let open = at + 1 + usize::from(of_file);
        let end = closing(tokens, open);
        let is_test = sign(at, '#') && sign(open, '[') && is_test(&tokens[open..end]);
        if is_test && of_file {
            return Vec::new();
        }
        if is_test {
            at = after_item(tokens, end + 1);
        } else {
            kept.push(*placed);
            at += 1;
        }
    }
    kept
}

/// Whether an attribute limits an item to tests.
fn is_test(attribute: &[Placed<'_>]) -> bool {
    let words: Vec<_> = attribute.iter().filter_map(|placed| word(placed.0)).collect();
    match words[..] {
        ["test"] | ["cfg", "test" | "doctest"] => true,
        ["cfg", "all", ..] => words.contains(&"test") && !words.contains(&"not"),
        _ => false,
    }
}

/// Returns the index after the item at `start`, which may begin with more attributes.
fn after_item(tokens: &[Placed<'_>], start: usize) -> usize {
    let mut at = start;
    while let Some((token, _)) = tokens.get(at) {
        match token {
            Token::Sign(';') => return at + 1,
            Token::Sign('{') => return closing(tokens, at) + 1,
            Token::Sign('(' | '[') => at = closing(tokens, at) + 1,
            // The item ends with the surrounding brackets.
            Token::Sign(')' | ']' | '}') => return at,
            _ => at += 1,
        }
    }
    at
}

fn scan(text: &str) -> Vec<Placed<'_>> {
    let mut scanner = Scanner { rest: text, line: 1 };
    let mut tokens = Vec::new();
    while let Some(first) = scanner.rest.chars().next() {
        let line = scanner.line;
        if let Some(token) = scanner.next(first) {
            tokens.push((token, line));
        }
    }
    tokens
}

struct Scanner<'t> {
    rest: &'t str,
    line: usize,
}

impl<'t> Scanner<'t> {
    /// Reads the token that starts with `first`, or skips something that is not a token.
    fn next(&mut self, first: char) -> Option<Token<'t>> {
        if let Some(len) = comment(self.rest) {
            self.take(len);
            return None;
        }
        if let Some((start, end, len)) = string(self.rest) {
            return Some(Token::Text(&self.take(len)[start..end]));
        }
        if self.rest.starts_with("::") {
            self.take(2);
            return Some(Token::Path);
        }
        if first == '\'' {
            self.take(character(self.rest));
            return None;
        }
        if is_of_word(first) {
            if self.rest.strip_prefix("r#").is_some_and(|name| name.starts_with(is_of_word)) {
                self.take(2);
            }
            let len = self.rest.find(|c| !is_of_word(c)).unwrap_or(self.rest.len());
            return Some(Token::Word(self.take(len)));
        }
        self.take(first.len_utf8());
        (!first.is_whitespace()).then_some(Token::Sign(first))
    }

    fn take(&mut self, len: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(len);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of the comment at the beginning of a text.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let mut depth = 0;
    let mut at = 0;
    while let Some(next) = text[at..].find(['/', '*']) {
        at += next;
        let (change, len) = match text.get(at..at + 2) {
            Some("/*") => (1, 2),
            Some("*/") => (-1, 2),
            _ => (0, 1),
        };
        depth += change;
        at += len;
        if depth == 0 {
            return Some(at);
        }
    }
    Some(text.len())
}

/// Returns the string literal at the beginning of a text: the start and the end of its content, and
/// its length.
fn string(text: &str) -> Option<(usize, usize, usize)> {
    let unprefixed = text.strip_prefix(['b', 'c']).unwrap_or(text);
    let prefix = text.len() - unprefixed.len();
    if let Some(raw) = unprefixed.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let content = raw[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let start = prefix + 2 + hashes;
        let end = start + content.find(&close).unwrap_or(content.len());
        return Some((start, end, (end + close.len()).min(text.len())));
    }
    let content = unprefixed.strip_prefix('"')?;
    let mut is_escaped = false;
    let close = content.bytes().position(|byte| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    });
    let end = prefix + 1 + close.unwrap_or(content.len());
    Some((prefix + 1, end, (end + 1).min(text.len())))
}

/// Returns the length of the character literal, or of the `'` of a lifetime, at the beginning of a
/// text.
fn character(text: &str) -> usize {
    let mut chars = text[1..].chars();
    let (first, second) = (chars.next(), chars.next());
    let after_first = text.len() - chars.as_str().len();
    match (first, second) {
        (Some('\\'), Some(_)) => {
            text[after_first..].find('\'').map_or(text.len(), |at| after_first + at + 1)
        }
        (Some(_), Some('\'')) => after_first,
        // The name of a lifetime is read as a word, which is harmless.
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::{Token, tokens, word};

    fn words(text: &str) -> Vec<&str> {
        tokens(text).iter().filter_map(|placed| word(placed.0)).collect()
    }

    #[test]
    fn comments_strings_and_characters_are_not_words() {
        let text = "
            a // b \" c
            /* d /* e */ f **/ g
            \"h \\\" i\" r#\"j \" k\"# b\"l\" br\"m\" n '\"' '\\'' '\\u{6f}' 'é' r#type
        ";
        assert_eq!(words(text), ["a", "g", "n", "type"]);
        let text_of = |placed: (Token<'static>, usize)| match placed.0 {
            Token::Text(text) => Some((text, placed.1)),
            _ => None,
        };
        let text = "a \"h \\\" i\"\n r#\"j\n\" k\"# b\"l\" br\"m\"";
        let texts: Vec<_> = tokens(text).into_iter().filter_map(text_of).collect();
        assert_eq!(texts, [("h \\\" i", 1), ("j\n\" k", 2), ("l", 3), ("m", 3)]);
    }

    #[test]
    fn unclosed_tokens_end_with_the_file() {
        for text in ["\"", "\"\\", "r#\"", "r##", "/*", "/* *", "'", "'\\", "'\\u", "#", "#["] {
            tokens(text);
        }
    }

    #[test]
    fn tests_are_dropped() {
        let text = "
            #[cfg(test)]
            #[allow(dead_code)]
            mod a { fn b() {} }
            #[cfg(test)]
            mod c;
            #[cfg(all(test, unix))]
            const D: [u8; 2] = [0; 2];
            #[cfg(not(test))] fn e() {}
            #[cfg(doctest)] mod guide {}
            #[test] fn f(g: u8) -> u8 { g }
            struct H { #[cfg(test)] i: u8 }
        ";
        assert_eq!(words(text), ["cfg", "not", "test", "fn", "e", "struct", "H"]);
        assert_eq!(words("#![cfg(test)] fn a() {}"), [""; 0]);
    }
}
