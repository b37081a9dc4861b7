//! The tokens: their bytes, their ranks, and the merges that make them.
//!
//! The last merge of a token always joins the same two tokens, whatever surrounds it: until the
//! token is complete, nothing outside takes part, so the merges are the same as for the token
//! alone. Every token therefore has one pair, and two adjacent tokens merge if and only if they are
//! the pair of a token. (The build script checks that every token results from merges, see
//! `build/vocabulary.rs`.)

use crate::hash::{self, Key, SHORT};
use crate::index::{NONE, Pairs, Words};
use crate::joins;
use crate::tokens::Tokens;

/// The pairs of all tokens. See `build/vocabulary.rs`.
const MERGES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/merges.bin"));
/// The pairs of characters that occur in tokens.
const JOINS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/joins.bin"));
/// The number of bytes per token in [`MERGES`].
const ENTRY: usize = 6;
/// The right token of a single-byte token, which has no pair.
const SINGLE: u32 = 0xFF_FFFF;
/// The number of tokens that are loaded together.
const BLOCK: usize = 128;

/// The tokens of `o200k_base`.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    tokens: Tokens,
    /// The number of tokens in the tables.
    count: u32,
    /// Tokens by their bytes.
    words: Words,
    /// The tokens by their pairs.
    pairs: Pairs,
    /// Tokens of two bytes, by their bytes.
    twos: Vec<u32>,
    /// Tokens of one byte.
    singles: [u32; 256],
}

impl Vocabulary {
    /// Loads the vocabulary.
    pub(crate) fn load() -> Self {
        let (merges, _) = MERGES.as_chunks::<ENTRY>();
        let mut this = Self {
            tokens: Tokens::load(),
            count: 0,
            words: Words::new(),
            pairs: Pairs::new(),
            twos: vec![NONE; 1 << 16],
            singles: [NONE; 256],
        };
        for merges in merges.chunks(BLOCK) {
            this.add(merges);
        }
        this
    }

    /// Adds the next tokens.
    fn add(&mut self, merges: &[[u8; ENTRY]]) {
        let first = self.count;
        // All entries are prefetched before they are used.
        let mut hashes = [0; BLOCK];
        for (hash, merge) in hashes.iter_mut().zip(merges) {
            *hash = self.push();
            self.words.prefetch(*hash);
            let (left, right) = pair(*merge);
            self.pairs.prefetch(left, right);
        }
        for ((merge, hash), rank) in merges.iter().zip(hashes).zip(first..) {
            self.words.insert(hash, rank);
            let (left, right) = pair(*merge);
            if right != SINGLE {
                self.pairs.insert(left, right, rank);
            }
        }
    }

    /// Adds the next token. Returns its hash.
    fn push(&mut self) -> u64 {
        let rank = self.count;
        self.count += 1;
        let token = self.tokens.bytes(rank).unwrap_or_default();
        match *token {
            [one] => self.singles[usize::from(one)] = rank,
            [first, second] => self.twos[two(first, second)] = rank,
            _ => {}
        }
        if token.len() <= SHORT { Key::new(token).hash() } else { hash::of_long(token) }
    }

    /// Returns the bytes of all tokens.
    #[inline]
    pub(crate) fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Prefetches the entry of a word with this hash.
    #[inline]
    pub(crate) fn prefetch_word(&self, hash: u64) {
        self.words.prefetch(hash);
    }

    /// Prefetches the bytes of a short word with this hash, whose entry is loaded.
    #[inline]
    pub(crate) fn prefetch_bytes(&self, hash: u64) {
        if let Some(rank) = self.words.find(hash, |_| true) {
            self.tokens.prefetch(rank);
        }
    }

    /// Returns the token with this key and hash. The key must be that of a text.
    #[inline]
    pub(crate) fn short_word(&self, key: Key, hash: u64) -> Option<u32> {
        self.words.find(hash, |rank| self.tokens.has_key(rank, key))
    }

    /// Returns the token with these bytes and this hash. There must be more than [`SHORT`] bytes.
    pub(crate) fn long_word(&self, piece: &[u8], hash: u64) -> Option<u32> {
        self.words.find(hash, |rank| self.tokens.bytes(rank) == Some(piece))
    }

    /// Returns the token of one byte.
    #[inline]
    pub(crate) fn single(&self, byte: u8) -> u32 {
        self.singles[usize::from(byte)]
    }

    /// Returns the token of two bytes, or [`NONE`].
    #[inline]
    pub(crate) fn two(&self, first: u8, second: u8) -> u32 {
        self.twos[two(first, second)]
    }

    /// The tokens by their pairs.
    #[inline]
    pub(crate) fn pairs(&self) -> &Pairs {
        &self.pairs
    }
}

/// Returns the end of the first part of a text. No token crosses it.
#[inline]
pub(crate) fn part(text: &[u8]) -> usize {
    joins::part(JOINS, text)
}

/// Decodes the two tokens of an entry.
fn pair([a, b, c, d, e, f]: [u8; ENTRY]) -> (u32, u32) {
    (u32::from_le_bytes([a, b, c, 0]), u32::from_le_bytes([d, e, f, 0]))
}

/// Returns the index of two bytes in the table.
#[inline]
fn two(first: u8, second: u8) -> usize {
    usize::from(u16::from_be_bytes([first, second]))
}
