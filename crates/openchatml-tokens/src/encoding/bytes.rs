//! An encoding with one id for each byte.

use super::{Encoding, Token};

/// An encoding with one id for each byte, and ids for the given control tokens. It is small and
/// exact. Use it for tests and for models that read bytes.
///
/// Byte `b` has the id `b`. Control tokens have the ids from 256 on.
///
/// ```
/// use openchatml_tokens::{ByteEncoding, Encoding};
///
/// let encoding = ByteEncoding::new(["<|im_start|>", "<|im_end|>"]);
/// assert_eq!(encoding.control("<|im_end|>"), Some(257));
/// assert_eq!(encoding.control("<|end|>"), None);
/// let mut ids = Vec::new();
/// encoding.encode("Hi", &mut ids);
/// assert_eq!(ids, [72, 105]);
/// ```
#[derive(Clone, Debug)]
pub struct ByteEncoding {
    controls: Vec<String>,
}

/// The ids below those of control tokens.
const BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "it is less than 256")]
        {
            bytes[byte] = byte as u8;
        }
        byte += 1;
    }
    bytes
};

impl ByteEncoding {
    /// Creates an encoding with these control tokens.
    pub fn new<S: Into<String>>(controls: impl IntoIterator<Item = S>) -> Self {
        Self { controls: controls.into_iter().map(Into::into).collect() }
    }
}

impl Default for ByteEncoding {
    /// Creates an encoding with every control token of every dialect.
    fn default() -> Self {
        let mut controls: Vec<String> = Vec::new();
        for dialect in openchatml::dialects::ALL {
            for (_, spelling) in dialect.controls.entries() {
                if !controls.iter().any(|known| known == spelling) {
                    controls.push((*spelling).to_owned());
                }
            }
        }
        Self { controls }
    }
}

impl Encoding for ByteEncoding {
    fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        ids.extend(text.bytes().map(u32::from));
    }

    fn count(&self, text: &str) -> usize {
        text.len()
    }

    fn control(&self, spelling: &str) -> Option<u32> {
        let at = self.controls.iter().position(|known| known == spelling)?;
        u32::try_from(BYTES.len() + at).ok()
    }

    fn controls(&self) -> Vec<(&str, u32)> {
        let ids = u32::try_from(BYTES.len()).unwrap_or(u32::MAX)..;
        self.controls.iter().map(String::as_str).zip(ids).collect()
    }

    fn token(&self, id: u32) -> Option<Token<'_>> {
        let at = usize::try_from(id).ok()?;
        if at < BYTES.len() {
            return Some(Token::Bytes(&BYTES[at..=at]));
        }
        self.controls.get(at - BYTES.len()).map(|spelling| Token::Control(spelling))
    }
}
