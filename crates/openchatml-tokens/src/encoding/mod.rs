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

/// A vocabulary: ordinary text to ids, the ids of control tokens, and what an id stands for.
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
    /// Adds the ids of `text` to `ids`: ordinary text, even where it spells a control token.
    fn encode(&self, text: &str, ids: &mut Vec<u32>);

    /// How many ids `text` has.
    fn count(&self, text: &str) -> usize {
        let mut ids = Vec::new();
        self.encode(text, &mut ids);
        ids.len()
    }

    /// The id of the control token that is spelled like this, if it has one of its own.
    fn control(&self, spelling: &str) -> Option<u32>;

    /// The tokens that no ordinary text is encoded as, whether a format has them or not: how each is
    /// spelled, and its id.
    ///
    /// ```
    /// use openchatml_tokens::{ByteEncoding, Encoding};
    ///
    /// let encoding = ByteEncoding::new(["<|im_start|>", "<|im_end|>"]);
    /// assert_eq!(encoding.controls(), [("<|im_start|>", 256), ("<|im_end|>", 257)]);
    /// ```
    fn controls(&self) -> Vec<(&str, u32)>;

    /// What an id stands for. `None` if it is not in the vocabulary.
    fn token(&self, id: u32) -> Option<Token<'_>>;

    /// Adds the bytes of ordinary tokens to `bytes`, and to `starts` where each of them begins
    /// there. It stops before an id that is something else, and gives how many it added.
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

    /// Says that [`token`](Self::token) is asked for this id soon: a large vocabulary can have its
    /// memory come meanwhile.
    #[inline]
    fn prefetch(&self, _: u32) {}
}

/// What an id stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'e> {
    /// Ordinary text.
    Text(&'e str),
    /// Bytes of ordinary text: not always whole characters.
    Bytes(&'e [u8]),
    /// A control token, and how it is spelled.
    Control(&'e str),
}

/// What points to an encoding is one.
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
