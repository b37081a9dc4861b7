//! Where control tokens may begin.

use std::sync::LazyLock;

use memchr::memmem::Finder;

/// What the control tokens of most dialects begin with.
pub(super) const PAIR: &[u8; 2] = b"<|";

/// Setting it up costs as much as reading a message.
static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(PAIR));

/// Finds the places in a text where a control token of a dialect may begin.
///
/// Where all of them begin with the same two bytes, as in most dialects, both are looked for: a `<`
/// of code or of arithmetic then costs nothing.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    pair: Option<&'static Finder<'static>>,
}

impl Candidates {
    /// The places of control tokens that all begin with [`PAIR`], or of any.
    pub(super) fn new(pairs: bool) -> Self {
        Self { pair: pairs.then(|| &*FINDER) }
    }

    /// The first place at or after byte `from`.
    #[inline]
    pub(crate) fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = &text[from..];
        let Some(pair) = self.pair else { return Some(from + memchr::memchr(b'<', rest)?) };
        match pair.find(rest) {
            Some(at) => Some(from + at),
            // What follows the last byte may have yet to arrive.
            None => (rest.last() == Some(&b'<')).then(|| text.len() - 1),
        }
    }
}
