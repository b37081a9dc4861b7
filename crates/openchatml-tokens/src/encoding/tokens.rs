//! The meaning of the ids of a vocabulary.

use super::Token;
use super::error::EncodingError;

/// A vocabulary, sorted by ids. Gaps between ids take no memory.
#[derive(Clone, Debug)]
pub(super) struct Tokens {
    /// The texts, sorted by ids.
    entries: Vec<(u32, Text)>,
    /// The control tokens, sorted by spelling.
    controls: Vec<(String, u32)>,
}

/// The meaning of an id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Text {
    Bytes(Box<[u8]>),
    Control(Box<str>),
}

impl Tokens {
    /// Creates a vocabulary from these tokens and control tokens.
    ///
    /// # Errors
    ///
    /// Two tokens have the same id.
    pub(super) fn new(
        mut entries: Vec<(u32, Text)>,
        mut controls: Vec<(String, u32)>,
    ) -> Result<Self, EncodingError> {
        entries.sort();
        if let Some(same) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let tokens = [same[0].1.to_string(), same[1].1.to_string()];
            return Err(EncodingError::SameId { id: same[0].0, tokens });
        }
        controls.sort();
        Ok(Self { entries, controls })
    }

    /// The meaning of an id.
    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<Token<'_>> {
        // Without a gap before it, the index of a token is its id.
        let at = usize::try_from(id).ok()?;
        let text = match self.entries.get(at) {
            Some((found, text)) if *found == id => text,
            _ => {
                let at = self.entries.binary_search_by_key(&id, |entry| entry.0).ok()?;
                &self.entries[at].1
            }
        };
        Some(match text {
            Text::Bytes(bytes) => Token::Bytes(bytes),
            Text::Control(spelling) => Token::Control(spelling),
        })
    }

    /// Returns the control tokens, sorted by ids.
    pub(super) fn controls(&self) -> impl Iterator<Item = (&str, u32)> {
        self.entries.iter().filter_map(|(id, text)| match text {
            Text::Control(spelling) => Some((&**spelling, *id)),
            Text::Bytes(_) => None,
        })
    }

    /// Returns the id of the control token with this spelling.
    pub(super) fn control(&self, spelling: &str) -> Option<u32> {
        let at = self.controls.binary_search_by(|control| control.0.as_str().cmp(spelling)).ok()?;
        Some(self.controls[at].1)
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Self::Control(spelling) => f.write_str(spelling),
        }
    }
}

/// Checks that every byte of valid text has a token.
///
/// # Errors
///
/// A byte has no token.
pub(super) fn check_bytes(has_token: impl Fn(u8) -> bool) -> Result<(), EncodingError> {
    // Some bytes never occur in UTF-8.
    let is_of_text = |byte: &u8| !matches!(byte, 0xC0 | 0xC1 | 0xF5..);
    let without = |byte: &u8| is_of_text(byte) && !has_token(*byte);
    let missing: Vec<u8> = (0..=u8::MAX).filter(without).collect();
    match missing.first() {
        Some(first) => Err(EncodingError::Bytes { missing: missing.len(), first: *first }),
        None => Ok(()),
    }
}
