//! Decodes bytes that arrive in chunks.

/// Decodes UTF-8 that arrives in chunks. It joins sequences that a chunk boundary has cut, and
/// separates text from bytes that are not UTF-8.
///
/// Invalid bytes are grouped as in the standard library and the Unicode Standard: each longest part
/// that could begin a sequence is one piece, which one U+FFFD replaces.
///
/// ```
/// use openchatml::lex::{Utf8Decoder, Utf8Piece};
///
/// let mut decoder = Utf8Decoder::default();
/// let mut text = String::new();
/// let mut add = |piece: Utf8Piece<'_>| match piece {
///     Utf8Piece::Text(piece) => text.push_str(piece),
///     Utf8Piece::Invalid(_) => text.push('\u{FFFD}'),
/// };
/// decoder.decode(b"caf\xC3").for_each(&mut add);
/// decoder.decode(b"\xA9 \xFF \xE2\x82").for_each(&mut add);
/// decoder.finish().into_iter().for_each(&mut add);
/// assert_eq!(text, "café \u{FFFD} \u{FFFD}");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Utf8Decoder {
    /// The first bytes of an incomplete sequence.
    open: Sequence,
    /// The sequence that the last chunk completed.
    joined: Sequence,
}

/// A piece of decoded input.
///
/// ```
/// use openchatml::lex::{Utf8Decoder, Utf8Piece};
///
/// let mut decoder = Utf8Decoder::default();
/// let pieces: Vec<_> = decoder.decode(b"a\xE2\x82b").collect();
/// assert_eq!(pieces, [Utf8Piece::Text("a"), Utf8Piece::Invalid(2), Utf8Piece::Text("b")]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Utf8Piece<'c> {
    /// Text that is not empty.
    Text(&'c str),
    /// A number of bytes that are not UTF-8. One U+FFFD replaces them.
    Invalid(usize),
}

/// The bytes of a UTF-8 sequence, or the first of them.
#[derive(Clone, Copy, Debug, Default)]
struct Sequence {
    bytes: [u8; 4],
    len: usize,
}

/// The pieces of a chunk.
struct Pieces<'c> {
    first: Option<Utf8Piece<'c>>,
    rest: &'c [u8],
    open: &'c mut Sequence,
}

impl Utf8Decoder {
    /// Whether there is no incomplete sequence.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.open.len == 0
    }

    /// Returns the next chunk if it is text as a whole. Most chunks are.
    #[inline]
    pub(crate) fn text<'c>(&self, chunk: &'c [u8]) -> Option<&'c str> {
        if self.is_empty() { std::str::from_utf8(chunk).ok() } else { None }
    }

    /// Decodes the next chunk. Bytes that are not taken from the iterator are lost.
    pub fn decode<'c>(&'c mut self, chunk: &'c [u8]) -> impl Iterator<Item = Utf8Piece<'c>> {
        let Self { open, joined } = self;
        let (first, rest) = match open.len {
            0 => (None, chunk),
            _ => join(open, joined, chunk),
        };
        Pieces { first, rest, open }
    }

    /// Ends the input. Returns a piece for an incomplete sequence.
    pub fn finish(&mut self) -> Option<Utf8Piece<'static>> {
        let len = std::mem::take(&mut self.open).len;
        (len > 0).then_some(Utf8Piece::Invalid(len))
    }
}

/// Adds bytes to the incomplete sequence. Returns the piece that is now decided, if any, and the
/// other bytes.
fn join<'c>(
    open: &mut Sequence,
    joined: &'c mut Sequence,
    chunk: &'c [u8],
) -> (Option<Utf8Piece<'c>>, &'c [u8]) {
    for (at, byte) in chunk.iter().enumerate() {
        let len = open.len;
        open.push(*byte);
        match std::str::from_utf8(open.as_slice()) {
            Ok(_) => {
                *joined = std::mem::take(open);
                let text = std::str::from_utf8(joined.as_slice());
                return (text.ok().map(Utf8Piece::Text), &chunk[at + 1..]);
            }
            Err(error) if error.error_len().is_none() => {}
            Err(_) => {
                // This byte does not continue the sequence. It is read again with the following
                // bytes.
                *open = Sequence::default();
                return (Some(Utf8Piece::Invalid(len)), &chunk[at..]);
            }
        }
    }
    (None, &[])
}

impl Sequence {
    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl<'c> Iterator for Pieces<'c> {
    type Item = Utf8Piece<'c>;

    #[inline]
    fn next(&mut self) -> Option<Utf8Piece<'c>> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let bytes = std::mem::take(&mut self.rest);
        if bytes.is_empty() {
            return None;
        }
        let error = match std::str::from_utf8(bytes) {
            Ok(text) => return Some(Utf8Piece::Text(text)),
            Err(error) => error,
        };
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        if let Ok(text) = std::str::from_utf8(valid)
            && !text.is_empty()
        {
            self.rest = rest;
            return Some(Utf8Piece::Text(text));
        }
        match error.error_len() {
            Some(len) => {
                self.rest = &rest[len..];
                Some(Utf8Piece::Invalid(len))
            }
            None => {
                rest.iter().for_each(|byte| self.open.push(*byte));
                None
            }
        }
    }
}
