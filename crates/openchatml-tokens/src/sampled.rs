//! The ids that a message is known to have.

use crate::encoding::{Encoding, Token};

/// The rest of the ids that a message was sampled or read as, while it is being written: they are
/// used as far as they say what is written.
///
/// A model that continues `<|start|>assistant` did not sample these: the ids of a message may begin
/// after its opening.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sampled<'m> {
    rest: &'m [u32],
    opened: bool,
}

impl<'m> Sampled<'m> {
    pub(crate) fn of(ids: Option<&'m [u32]>) -> Self {
        Self { rest: ids.unwrap_or_default(), opened: false }
    }

    /// The opening is written.
    pub(crate) fn after_opening(&mut self) {
        self.opened = true;
    }

    /// A control token is written.
    pub(crate) fn control(&mut self, id: u32) {
        match self.rest.split_first() {
            Some((first, rest)) if *first == id => self.rest = rest,
            _ => self.differs(),
        }
    }

    /// Text is written: the ids for it, if they are known.
    pub(crate) fn text(&mut self, encoding: &impl Encoding, text: &str) -> Option<&'m [u32]> {
        self.stretch(encoding, text, text.len(), true).map(|(ids, _)| ids)
    }

    /// Text is written, of which the first `wanted` bytes are this message's: the ids for these, if
    /// they are known, and how many bytes they are. Unless they are to be `exact`, the last of them
    /// may say more of the text than is wanted.
    pub(crate) fn stretch(
        &mut self,
        encoding: &impl Encoding,
        text: &str,
        wanted: usize,
        exact: bool,
    ) -> Option<(&'m [u32], usize)> {
        let mut said = 0;
        let known = self.rest.iter().position(|id| {
            let bytes = match encoding.token(*id) {
                Some(Token::Text(text)) => text.as_bytes(),
                Some(Token::Bytes(bytes)) => bytes,
                Some(Token::Control(_)) | None => return true,
            };
            if !text.as_bytes()[said..].starts_with(bytes) {
                return true;
            }
            said += bytes.len();
            said >= wanted
        });
        let fits = if exact { said == wanted } else { said >= wanted };
        let Some(last) = known.filter(|_| fits && text.is_char_boundary(said)) else {
            self.differs();
            return None;
        };
        let (ids, rest) = self.rest.split_at(last + 1);
        self.rest = rest;
        Some((ids, said))
    }

    /// Something else is written than these ids say.
    fn differs(&mut self) {
        if self.opened {
            self.rest = &[];
        }
    }
}
