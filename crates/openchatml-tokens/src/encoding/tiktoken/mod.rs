//! Encodings from rank files.

mod file;
mod known_files;
mod merge;

use fancy_regex::Regex;
use sha2::{Digest as _, Sha256};

use self::file::Ranks;
use self::known_files::{ALL, KnownFile};
use self::merge::Merger;
use super::error::EncodingError;
use super::tokens::{Text, Tokens, check_bytes};
use super::{Encoding, Token};

/// An encoding from a rank file, the file format of the library `tiktoken` by OpenAI. Each line of
/// the file contains a token in base64 and its rank.
///
/// Its ids are the ids of that library for ordinary text, for every text.
///
/// ```
/// use openchatml_tokens::{Encoding, Tiktoken};
///
/// let ranks = include_bytes!("../../../tests/encodings/ranks.tiktoken");
/// let encoding = Tiktoken::from_ranks(ranks, r"\w+|\s+|[^\w\s]+", [("<|end|>", 1000)])?;
/// assert_eq!(encoding.control("<|end|>"), Some(1000));
/// let mut ids = Vec::new();
/// encoding.encode("<|end|>", &mut ids);
/// assert!(!ids.contains(&1000));
/// # Ok::<(), openchatml_tokens::EncodingError>(())
/// ```
#[derive(Debug)]
pub struct Tiktoken {
    encoder: Encoder,
    tokens: Tokens,
}

/// The encoder.
#[derive(Debug)]
enum Encoder {
    /// The fast encoder for `o200k_base`.
    #[cfg(feature = "o200k")]
    O200k(openchatml_o200k::Encoder),
    /// The general encoder for any ranks and pattern.
    Any { pattern: Box<Regex>, ranks: Ranks, longest: usize },
}

impl Tiktoken {
    /// Reads a rank file whose pattern and control tokens are known: `o200k_base`, `cl100k_base`,
    /// `p50k_base`, `r50k_base` or Llama 3. The file is recognized by its SHA-256, not by its name.
    ///
    /// # Errors
    ///
    /// [`EncodingError::UnknownRanks`]: the file is none of these. If the file is not a rank file
    /// at all, the error is [`EncodingError::Line`].
    ///
    /// ```
    /// use openchatml_tokens::{EncodingError, Tiktoken};
    ///
    /// let ranks = include_bytes!("../../../tests/encodings/ranks.tiktoken");
    /// let error = Tiktoken::from_known(ranks).unwrap_err();
    /// assert!(matches!(error, EncodingError::UnknownRanks { .. }));
    /// ```
    pub fn from_known(file: &[u8]) -> Result<Self, EncodingError> {
        let sha256: String =
            Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect();
        match ALL.iter().find(|known| known.sha256 == sha256) {
            Some(KnownFile { pattern, controls, .. }) => {
                Self::from_ranks(file, pattern, controls.iter().copied())
            }
            None => {
                file::read(file)?;
                Err(EncodingError::UnknownRanks { sha256 })
            }
        }
    }

    /// Reads a rank file. `pattern` matches the pieces into which text is split before it is
    /// encoded; the text between two matches is a piece, too. `controls` are the control tokens and
    /// their ids.
    ///
    /// # Errors
    ///
    /// - [`EncodingError::Line`]: a line is not a token and a rank, or its token occurs twice.
    /// - [`EncodingError::SameId`]: two tokens have the same rank or id.
    /// - [`EncodingError::Bytes`]: the vocabulary has no tokens for some text.
    /// - [`EncodingError::Pattern`]: the pattern is not a regular expression.
    pub fn from_ranks<S: Into<String>>(
        file: &[u8],
        pattern: &str,
        controls: impl IntoIterator<Item = (S, u32)>,
    ) -> Result<Self, EncodingError> {
        let ranks = file::read(file)?;
        let controls: Vec<(String, u32)> =
            controls.into_iter().map(|(spelling, id)| (spelling.into(), id)).collect();
        let bytes = ranks.iter().map(|(token, rank)| (*rank, Text::Bytes(token.clone())));
        let entries = controls
            .iter()
            .map(|(spelling, id)| (*id, Text::Control(spelling.as_str().into())))
            .chain(bytes)
            .collect();
        let tokens = Tokens::new(entries, controls)?;
        check_bytes(|byte| ranks.contains_key([byte].as_slice()))?;
        Ok(Self { encoder: Encoder::new(ranks, pattern)?, tokens })
    }
}

impl Encoder {
    fn new(ranks: Ranks, pattern: &str) -> Result<Self, EncodingError> {
        #[cfg(feature = "o200k")]
        if pattern == known_files::O200K
            && let Some(encoder) = o200k(&ranks)
        {
            return Ok(Self::O200k(encoder));
        }
        let regex = Regex::new(pattern);
        let regex = regex.map_err(|error| EncodingError::Pattern { reason: error.to_string() })?;
        let longest = ranks.keys().map(|token| token.len()).max().unwrap_or(0);
        Ok(Self::Any { pattern: Box::new(regex), ranks, longest })
    }
}

/// Returns the fast encoder, if these are the ranks of `o200k_base`.
#[cfg(feature = "o200k")]
fn o200k(ranks: &Ranks) -> Option<openchatml_o200k::Encoder> {
    /// The number of tokens of `o200k_base`.
    const TOKENS: usize = 199_998;
    if ranks.len() != TOKENS {
        return None;
    }
    let encoder = openchatml_o200k::Encoder::default();
    let is_same = ranks.iter().all(|(token, rank)| encoder.token(*rank) == Some(token));
    is_same.then_some(encoder)
}

impl Encoding for Tiktoken {
    fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        let (pattern, ranks, longest) = match &self.encoder {
            #[cfg(feature = "o200k")]
            Encoder::O200k(encoder) => return encoder.encode(text, ids),
            Encoder::Any { pattern, ranks, longest } => (pattern, ranks, *longest),
        };
        let mut merger = Merger::default();
        let mut encode = |piece: &str| {
            if !piece.is_empty() {
                merger.encode(ranks, longest, piece.as_bytes(), ids);
            }
        };
        let mut at = 0;
        // If the regular expression engine fails, the rest is one piece.
        for found in pattern.find_iter(text).map_while(Result::ok) {
            encode(&text[at..found.start()]);
            encode(found.as_str());
            at = found.end();
        }
        encode(&text[at..]);
    }

    fn control(&self, spelling: &str) -> Option<u32> {
        self.tokens.control(spelling)
    }

    fn controls(&self) -> Vec<(&str, u32)> {
        self.tokens.controls().collect()
    }

    fn token(&self, id: u32) -> Option<Token<'_>> {
        self.tokens.get(id)
    }
}
