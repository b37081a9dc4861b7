//! The ids that a model sampled for a message.

use crate::encoding::{Encoding, Token};

/// The remaining sampled ids of a message while it is being written. They are used as long as they
/// match the output.
///
/// A model that continues `<|start|>assistant` did not sample these tokens, so the ids of a message
/// may begin after its opening.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SampledIds<'m> {
    rest: &'m [u32],
    opened: bool,
}

impl<'m> SampledIds<'m> {
    pub(crate) fn of(ids: Option<&'m [u32]>) -> Self {
        Self { rest: ids.unwrap_or_default(), opened: false }
    }

    /// Handles the end of the opening.
    pub(crate) fn after_opening(&mut self) {
        self.opened = true;
    }

    /// Handles a control token.
    pub(crate) fn control(&mut self, id: u32) {
        match self.rest.split_first() {
            Some((first, rest)) if *first == id => self.rest = rest,
            _ => self.differs(),
        }
    }

    /// Handles text. Returns the sampled ids for it, if they match.
    pub(crate) fn text(&mut self, encoding: &impl Encoding, text: &str) -> Option<&'m [u32]> {
        self.stretch(encoding, text.as_bytes(), text.len(), true).map(|(ids, _)| ids)
    }

    /// Handles text whose first `wanted` bytes belong to this message. Returns the sampled ids for
    /// these, if they match, and their length in bytes. Unless `exact` is set, the last id may
    /// extend beyond `wanted`, also into a character.
    pub(crate) fn stretch(
        &mut self,
        encoding: &impl Encoding,
        text: &[u8],
        wanted: usize,
        exact: bool,
    ) -> Option<(&'m [u32], usize)> {
        let mut covered = 0;
        let known = self.rest.iter().position(|id| {
            let bytes = match encoding.token(*id) {
                Some(Token::Text(text)) => text.as_bytes(),
                Some(Token::Bytes(bytes)) => bytes,
                Some(Token::Control(_)) | None => return true,
            };
            if !text[covered..].starts_with(bytes) {
                return true;
            }
            covered += bytes.len();
            covered >= wanted
        });
        let fits = if exact { covered == wanted } else { covered >= wanted };
        let Some(last) = known.filter(|_| fits) else {
            self.differs();
            return None;
        };
        let (ids, rest) = self.rest.split_at(last + 1);
        self.rest = rest;
        Some((ids, covered))
    }

    /// Stops using the sampled ids, because the output differs from them.
    fn differs(&mut self) {
        if self.opened {
            self.rest = &[];
        }
    }
}
