//! The tokens: their bytes, their ranks, and the merges that make them.
//!
//! A token whose bytes are merged by the encoding is merged last from the same two tokens, whatever
//! stands around it: until it is whole, nothing outside of it takes part, so all goes as if it stood
//! alone. So every token has one pair, and to know whether two tokens that stand side by side merge
//! is to know whether they are the pair of a token. (That every token follows from merges is
//! checked where the pairs are found, see `build/vocabulary.rs`.)

use crate::hash::{self, Key, SHORT};
use crate::index::{NONE, Pairs, Words};
use crate::joins;
use crate::tokens::Tokens;

/// The pairs of all tokens. See `build/vocabulary.rs`.
const MERGES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/merges.bin"));
/// The pairs of characters that tokens join.
const JOINS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/joins.bin"));
/// How many bytes of [`MERGES`] a token has.
const ENTRY: usize = 6;
/// The right token of a token of one byte.
const SINGLE: u32 = 0xFF_FFFF;
/// How many tokens are loaded together.
const BLOCK: usize = 128;

/// The tokens of `o200k_base`.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    tokens: Tokens,
    /// How many of them are in the tables.
    count: u32,
    /// Tokens by their bytes.
    words: Words,
    /// Tokens by their pairs.
    pairs: Pairs,
    /// Tokens of two bytes, by these.
    twos: Vec<u32>,
    /// Tokens of one byte.
    singles: [u32; 256],
}

impl Vocabulary {
    /// Reads the vocabulary.
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

    /// Adds the tokens that come next.
    fn add(&mut self, merges: &[[u8; ENTRY]]) {
        let first = self.count;
        // The memory of all these is asked for before it is used.
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

    /// The bytes of all tokens.
    #[inline]
    pub(crate) fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Says that a word with this hash is looked for soon.
    #[inline]
    pub(crate) fn prefetch_word(&self, hash: u64) {
        self.words.prefetch(hash);
    }

    /// Says that a short word with this hash is looked for soon, and its place is known.
    #[inline]
    pub(crate) fn prefetch_bytes(&self, hash: u64) {
        if let Some(rank) = self.words.find(hash, |_| true) {
            self.tokens.prefetch(rank);
        }
    }

    /// The token with this key, whose hash this is. It is a key of text.
    #[inline]
    pub(crate) fn short_word(&self, key: Key, hash: u64) -> Option<u32> {
        self.words.find(hash, |rank| self.tokens.has_key(rank, key))
    }

    /// The token with these bytes, whose hash this is. They are more than [`SHORT`].
    pub(crate) fn long_word(&self, piece: &[u8], hash: u64) -> Option<u32> {
        self.words.find(hash, |rank| self.tokens.bytes(rank) == Some(piece))
    }

    /// The token of one byte.
    #[inline]
    pub(crate) fn single(&self, byte: u8) -> u32 {
        self.singles[usize::from(byte)]
    }

    /// The token of two bytes, or [`NONE`].
    #[inline]
    pub(crate) fn two(&self, first: u8, second: u8) -> u32 {
        self.twos[two(first, second)]
    }

    /// Tokens by their pairs.
    #[inline]
    pub(crate) fn pairs(&self) -> &Pairs {
        &self.pairs
    }
}

/// Where the first part of some characters ends: no token goes across.
#[inline]
pub(crate) fn part(text: &[u8]) -> usize {
    joins::part(JOINS, text)
}

/// The two tokens that merge to one.
fn pair([a, b, c, d, e, f]: [u8; ENTRY]) -> (u32, u32) {
    (u32::from_le_bytes([a, b, c, 0]), u32::from_le_bytes([d, e, f, 0]))
}

/// The place of two bytes in a table.
#[inline]
fn two(first: u8, second: u8) -> usize {
    usize::from(u16::from_be_bytes([first, second]))
}
