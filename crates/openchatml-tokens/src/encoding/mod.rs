//! Encodings: from text to token ids and back.

mod bytes;
#[cfg(any(feature = "huggingface", feature = "tiktoken"))]
mod error;
#[cfg(feature = "huggingface")]
mod huggingface;
#[cfg(feature = "o200k")]
mod o200k;
#[cfg(feature = "tiktoken")]
mod tiktoken;
#[cfg(any(feature = "huggingface", feature = "tiktoken"))]
mod tokens;

pub use self::bytes::ByteEncoding;
#[cfg(any(feature = "huggingface", feature = "tiktoken"))]
pub use self::error::EncodingError;
#[cfg(feature = "huggingface")]
pub use self::huggingface::HuggingFace;
#[cfg(feature = "o200k")]
pub use self::o200k::O200kHarmony;
#[cfg(feature = "tiktoken")]
pub use self::tiktoken::Tiktoken;

use std::sync::Arc;

/// A vocabulary: it encodes ordinary text, and knows the ids of control tokens and the meaning of
/// each id.
///
/// ```
/// use openchatml_tokens::{ByteEncoding, Encoding, Token};
///
/// let encoding = ByteEncoding::default();
/// let mut ids = Vec::new();
/// encoding.encode("<|end|>", &mut ids);
/// assert_eq!(ids.len(), 7); // Ordinary text, whatever it spells.
/// let end = encoding.control("<|end|>").expect("it has one");
/// assert_eq!(encoding.token(end), Some(Token::Control("<|end|>")));
/// assert_eq!(encoding.token(ids[0]), Some(Token::Bytes(b"<")));
/// ```
pub trait Encoding {
    /// Appends the ids of `text` to `ids`. The text is ordinary text, even if it contains the
    /// spelling of a control token.
    fn encode(&self, text: &str, ids: &mut Vec<u32>);

    /// Returns the number of ids of `text`.
    fn count(&self, text: &str) -> usize {
        let mut ids = Vec::new();
        self.encode(text, &mut ids);
        ids.len()
    }

    /// Returns the id of the control token with this spelling, if the token has an id of its own.
    fn control(&self, spelling: &str) -> Option<u32>;

    /// Returns the spelling and the id of every token that ordinary text never encodes to,
    /// including tokens that no format uses.
    ///
    /// ```
    /// use openchatml_tokens::{ByteEncoding, Encoding};
    ///
    /// let encoding = ByteEncoding::new(["<|im_start|>", "<|im_end|>"]);
    /// assert_eq!(encoding.controls(), [("<|im_start|>", 256), ("<|im_end|>", 257)]);
    /// ```
    fn controls(&self) -> Vec<(&str, u32)>;

    /// Returns the meaning of an id, or `None` if it is not in the vocabulary.
    fn token(&self, id: u32) -> Option<Token<'_>>;

    /// Appends the bytes of ordinary tokens to `bytes`, and the begin of each token to `starts`.
    /// Stops before the first id of another kind and returns the number of decoded ids.
    ///
    /// ```
    /// use openchatml_tokens::{ByteEncoding, Encoding};
    ///
    /// let encoding = ByteEncoding::default();
    /// let end = encoding.control("<|end|>").expect("it has one");
    /// let (mut bytes, mut starts) = (Vec::new(), Vec::new());
    /// assert_eq!(encoding.decode(&[72, 105, end, 33], &mut bytes, &mut starts), 2);
    /// assert_eq!((bytes, starts), (b"Hi".to_vec(), vec![0, 1]));
    /// ```
    fn decode(&self, ids: &[u32], bytes: &mut Vec<u8>, starts: &mut Vec<usize>) -> usize {
        for (done, id) in ids.iter().enumerate() {
            let token = match self.token(*id) {
                Some(Token::Text(text)) => text.as_bytes(),
                Some(Token::Bytes(bytes)) => bytes,
                Some(Token::Control(_)) | None => return done,
            };
            starts.push(bytes.len());
            bytes.extend_from_slice(token);
        }
        ids.len()
    }

    /// Announces a call of [`token`](Self::token) with this id. An encoding with a large vocabulary
    /// can prefetch the entry.
    #[inline]
    fn prefetch(&self, _: u32) {}
}

/// The meaning of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'e> {
    /// Ordinary text.
    Text(&'e str),
    /// Bytes of ordinary text, which may end inside a character.
    Bytes(&'e [u8]),
    /// A control token, with its spelling.
    Control(&'e str),
}

/// // A pointer to an encoding is an encoding.
macro_rules! forward {
    ($($pointer:ty),+) => {$(
        impl<E: Encoding + ?Sized> Encoding for $pointer {
            fn encode(&self, text: &str, ids: &mut Vec<u32>) {
                (**self).encode(text, ids);
            }

            fn count(&self, text: &str) -> usize {
                (**self).count(text)
            }

            fn control(&self, spelling: &str) -> Option<u32> {
                (**self).control(spelling)
            }

            fn controls(&self) -> Vec<(&str, u32)> {
                (**self).controls()
            }

            #[inline]
            fn token(&self, id: u32) -> Option<Token<'_>> {
                (**self).token(id)
            }

            fn decode(
                &self,
                ids: &[u32],
                bytes: &mut Vec<u8>,
                starts: &mut Vec<usize>,
            ) -> usize {
                (**self).decode(ids, bytes, starts)
            }

            #[inline]
            fn prefetch(&self, id: u32) {
                (**self).prefetch(id);
            }
        }
    )+};
}

forward!(&E, Box<E>, Arc<E>);
