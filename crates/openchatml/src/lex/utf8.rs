//! Bytes that arrive in chunks, as text.

use crate::Span;

/// Joins what a chunk boundary cut in a UTF-8 sequence, and replaces what is not UTF-8.
#[derive(Debug, Default)]
pub(crate) struct Utf8 {
    /// The first bytes of a sequence whose rest has not arrived.
    open: Vec<u8>,
    /// How many bytes have been given out as text or reported.
    at: usize,
}

/// What a chunk gave.
pub(crate) enum Piece<'c> {
    /// Text.
    Text(&'c str),
    /// These bytes are not UTF-8; U+FFFD stands for them.
    Bad(Span),
}

impl Utf8 {
    /// The offset of the next byte that it will give.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Gives the text of `chunk` piece by piece, in front of it what the last one left open.
    pub(crate) fn feed(&mut self, chunk: &[u8], mut give: impl FnMut(Piece<'_>)) {
        let mut chunk = chunk;
        while !self.open.is_empty() {
            let Some((byte, rest)) = chunk.split_first() else { return };
            let len = self.open.len();
            self.open.push(*byte);
            match std::str::from_utf8(&self.open) {
                Ok(text) => {
                    self.at += text.len();
                    give(Piece::Text(text));
                    self.open.clear();
                    chunk = rest;
                }
                Err(error) if error.error_len().is_none() => chunk = rest,
                Err(_) => {
                    // The newest byte does not continue the sequence: it is read afresh below.
                    self.open.clear();
                    give(Piece::Bad(Span::new(self.at, self.at + len)));
                    self.at += len;
                }
            }
        }
        self.pieces(chunk, &mut give);
    }

    /// Gives what is left when nothing more will arrive.
    pub(crate) fn finish(&mut self, mut give: impl FnMut(Piece<'_>)) {
        if !self.open.is_empty() {
            let span = Span::new(self.at, self.at + self.open.len());
            self.open.clear();
            self.at = span.end;
            give(Piece::Bad(span));
        }
    }

    fn pieces(&mut self, bytes: &[u8], give: &mut impl FnMut(Piece<'_>)) {
        let mut bytes = bytes;
        loop {
            match std::str::from_utf8(bytes) {
                Ok(text) => {
                    self.at += text.len();
                    if !text.is_empty() {
                        give(Piece::Text(text));
                    }
                    return;
                }
                Err(error) => {
                    let (good, rest) = bytes.split_at(error.valid_up_to());
                    self.at += good.len();
                    if let Ok(text) = std::str::from_utf8(good)
                        && !text.is_empty()
                    {
                        give(Piece::Text(text));
                    }
                    let Some(len) = error.error_len() else {
                        self.open.extend_from_slice(rest);
                        return;
                    };
                    give(Piece::Bad(Span::new(self.at, self.at + len)));
                    self.at += len;
                    bytes = &rest[len..];
                }
            }
        }
    }
}
