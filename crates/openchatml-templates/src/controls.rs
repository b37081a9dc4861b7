//! The spellings of control tokens.

use aho_corasick::{AhoCorasick, MatchKind};

use crate::source::Literals;

/// The maximum length of a control token in a template, in bytes.
const LONGEST: usize = 64;

/// Control tokens, by their spellings.
#[derive(Clone, Debug)]
pub(crate) struct Controls {
    spellings: Vec<String>,
    finder: AhoCorasick,
}

impl Controls {
    /// Creates the set. Empty spellings and those of only white space are omitted, because they are
    /// text.
    pub(crate) fn new(spellings: impl IntoIterator<Item = String>) -> Self {
        let mut spellings: Vec<_> =
            spellings.into_iter().filter(|it| !it.trim().is_empty()).collect();
        spellings.sort_unstable();
        spellings.dedup();
        let mut finder = AhoCorasick::builder();
        let finder = finder.match_kind(MatchKind::LeftmostLongest).build(&spellings);
        // Only gigabytes of spellings would need too many states.
        let finder = finder.expect("there are fewer than 2^31 bytes of control tokens");
        Self { spellings, finder }
    }

    pub(crate) fn spellings(&self) -> &[String] {
        &self.spellings
    }

    /// Finds the control tokens in a text, from the left, the longest first.
    pub(crate) fn find<'t>(
        &'t self,
        text: &'t str,
    ) -> impl Iterator<Item = (std::ops::Range<usize>, &'t str)> {
        let found = self.finder.find_iter(text);
        found.map(|found| (found.range(), self.spellings[found.pattern().as_usize()].as_str()))
    }
}

/// Returns the spellings in a template that look like control tokens: `<|…|>`, `<…>`, and `[…]` in
/// capitals.
pub(crate) fn spelled(literals: &Literals) -> Vec<String> {
    let mut all = Vec::new();
    for text in &literals.texts {
        for (at, c) in text.char_indices().filter(|(_, c)| matches!(c, '<' | '[')) {
            let rest = &text[at..];
            let end = if c == '<' { '>' } else { ']' };
            let Some(len) = rest.find(end).map(|len| len + 1).filter(|len| *len <= LONGEST) else {
                continue;
            };
            let inner = &rest[1..len - 1];
            let is_one = match c {
                '<' => inner.chars().any(char::is_alphanumeric) && !inner.contains(is_no_part),
                _ => {
                    let word = inner.strip_prefix('/').unwrap_or(inner);
                    word.len() > 2 && word.bytes().all(|it| it.is_ascii_uppercase() || it == b'_')
                }
            };
            if is_one {
                all.push(rest[..len].to_owned());
            }
        }
    }
    all
}

/// Whether a character cannot be part of a control token between `<` and `>`.
fn is_no_part(c: char) -> bool {
    c.is_whitespace() || matches!(c, '<' | '"' | '\'' | '{' | '}' | '=' | '\\')
}

#[cfg(test)]
mod tests {
    use super::{Literals, spelled};

    #[test]
    fn spellings_like_control_tokens_are_found() {
        let source = "<|im_start|>{{ '</think>' }}<｜User｜>[/INST] [x] <a b> < > <-> a<b [A] x>";
        let found = spelled(&Literals::of(source));
        assert_eq!(found, ["<|im_start|>", "</think>", "<｜User｜>", "[/INST]"]);
    }
}
