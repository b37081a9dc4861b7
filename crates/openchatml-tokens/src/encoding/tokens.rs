//! What the ids of a vocabulary stand for.

use super::Token;
use super::error::EncodingError;

/// A vocabulary by its ids. Ids may have gaps of any size: they cost nothing.
#[derive(Clone, Debug)]
pub(super) struct Tokens {
    /// In order of their ids.
    entries: Vec<(u32, Text)>,
    /// Control tokens by their spelling, in order.
    controls: Vec<(String, u32)>,
}

/// What an id stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Text {
    Bytes(Box<[u8]>),
    Control(Box<str>),
}

impl Tokens {
    /// A vocabulary of these tokens, of which these are control tokens for formats that have them.
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

    /// What an id stands for.
    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<Token<'_>> {
        // Where there is no gap before it, a token stands at its id.
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

    /// The tokens that are no text, in order of their ids.
    pub(super) fn controls(&self) -> impl Iterator<Item = (&str, u32)> {
        self.entries.iter().filter_map(|(id, text)| match text {
            Text::Control(spelling) => Some((&**spelling, *id)),
            Text::Bytes(_) => None,
        })
    }

    /// The id of the control token that is spelled like this.
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

/// Every byte that text can have has a token.
///
/// # Errors
///
/// One has none.
pub(super) fn check_bytes(has_token: impl Fn(u8) -> bool) -> Result<(), EncodingError> {
    // UTF-8 has no use for some bytes.
    let is_of_text = |byte: &u8| !matches!(byte, 0xC0 | 0xC1 | 0xF5..);
    let without = |byte: &u8| is_of_text(byte) && !has_token(*byte);
    let missing: Vec<u8> = (0..=u8::MAX).filter(without).collect();
    match missing.first() {
        Some(first) => Err(EncodingError::Bytes { missing: missing.len(), first: *first }),
        None => Ok(()),
    }
}
