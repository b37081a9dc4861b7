//! Where control tokens may begin.

use memchr::memmem::Finder;

/// Finds the places in a text where a control token of a dialect may begin.
///
/// Where all of them begin with the same two bytes, as in most dialects, both are looked for: a `<`
/// of code or of arithmetic then costs nothing.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    pair: Option<Finder<'static>>,
}

impl Candidates {
    /// The places of control tokens with these spellings.
    pub(crate) fn new<'s>(mut spellings: impl Iterator<Item = &'s str>) -> Self {
        const PAIR: &str = "<|";
        let pair = spellings.all(|spelling| spelling.starts_with(PAIR));
        Self { pair: pair.then(|| Finder::new(PAIR)) }
    }

    /// The first place at or after byte `from`.
    #[inline]
    pub(crate) fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = &text[from..];
        let Some(pair) = &self.pair else { return Some(from + memchr::memchr(b'<', rest)?) };
        match pair.find(rest) {
            Some(at) => Some(from + at),
            // What follows the last byte may have yet to arrive.
            None => (rest.last() == Some(&b'<')).then(|| text.len() - 1),
        }
    }
}
