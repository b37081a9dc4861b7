//! The encoding of gpt-oss.

use std::sync::LazyLock;

use openchatml_o200k::Encoder;

use super::{Encoding, Token};

/// `o200k_harmony`: the encoding of gpt-oss. This crate contains its vocabulary and loads it at the
/// first use.
///
/// ```
/// use openchatml_tokens::{Encoding, O200kHarmony, Token};
///
/// let encoding = O200kHarmony::default();
/// let mut ids = Vec::new();
/// encoding.encode("Hello, world!", &mut ids);
/// assert_eq!(ids, [13225, 11, 2375, 0]);
/// assert_eq!(encoding.control("<|start|>"), Some(200006));
/// assert_eq!(encoding.token(200007), Some(Token::Control("<|end|>")));
/// assert_eq!(encoding.token(300_000), None);
/// ```
#[derive(Debug)]
pub struct O200kHarmony {
    encoder: Encoder,
}

static FIRST: LazyLock<Encoder> = LazyLock::new(|| Encoder::with_cache(0));

/// The first id after those of ordinary text.
const FIRST_CONTROL: u32 = 199_998;
const LAST_CONTROL: u32 = 201_087;

/// The control tokens with a meaning. The others are reserved.
const CONTROLS: &[(&str, u32)] = &[
    ("<|startoftext|>", 199_998),
    ("<|endoftext|>", 199_999),
    ("<|return|>", 200_002),
    ("<|constrain|>", 200_003),
    ("<|channel|>", 200_005),
    ("<|start|>", 200_006),
    ("<|end|>", 200_007),
    ("<|message|>", 200_008),
    ("<|call|>", 200_012),
    ("<|endofprompt|>", 200_018),
];

/// The spellings of all control tokens, by their ids.
static SPELLINGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let spell = |id: u32| match CONTROLS.iter().find(|control| control.1 == id) {
        Some((spelling, _)) => (*spelling).to_owned(),
        None => format!("<|reserved_{id}|>"),
    };
    (FIRST_CONTROL..=LAST_CONTROL).map(spell).collect()
});

impl O200kHarmony {
    /// Creates the encoding with a cache of at most this number of bytes.
    ///
    /// ```
    /// use openchatml_tokens::{Encoding, O200kHarmony};
    ///
    /// let [small, large] = [1 << 12, 1 << 24].map(O200kHarmony::with_cache);
    /// let count = |encoding: &O200kHarmony| encoding.count("The same ids, sooner or later.");
    /// assert_eq!(count(&small), count(&large));
    /// ```
    pub fn with_cache(bytes: usize) -> Self {
        Self { encoder: FIRST.another_with(bytes) }
    }
}

impl O200kHarmony {
    /// Returns the meaning of an id that is not valid text by itself.
    #[cold]
    fn no_text(&self, id: u32) -> Option<Token<'_>> {
        match id.checked_sub(FIRST_CONTROL) {
            None => self.encoder.token(id).map(Token::Bytes),
            Some(at) => {
                let spelling = SPELLINGS.get(usize::try_from(at).ok()?)?;
                Some(Token::Control(spelling))
            }
        }
    }
}

impl Default for O200kHarmony {
    fn default() -> Self {
        Self::with_cache(Encoder::CACHE_BYTES)
    }
}

impl Encoding for O200kHarmony {
    fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        self.encoder.encode(text, ids);
    }

    fn count(&self, text: &str) -> usize {
        self.encoder.count(text)
    }

    fn control(&self, spelling: &str) -> Option<u32> {
        let known = CONTROLS.iter().find(|control| control.0 == spelling).map(|control| control.1);
        known.or_else(|| {
            let id = spelling.strip_prefix("<|reserved_")?.strip_suffix("|>")?.parse().ok()?;
            (self.token(id) == Some(Token::Control(spelling))).then_some(id)
        })
    }

    fn controls(&self) -> Vec<(&str, u32)> {
        SPELLINGS.iter().map(String::as_str).zip(FIRST_CONTROL..).collect()
    }

    #[inline]
    fn token(&self, id: u32) -> Option<Token<'_>> {
        match self.encoder.text(id) {
            Some(text) => Some(Token::Text(text)),
            None => self.no_text(id),
        }
    }

    fn decode(&self, ids: &[u32], bytes: &mut Vec<u8>, starts: &mut Vec<usize>) -> usize {
        self.encoder.decode(ids, bytes, starts)
    }

    #[inline]
    fn prefetch(&self, id: u32) {
        self.encoder.prefetch(id);
    }
}
