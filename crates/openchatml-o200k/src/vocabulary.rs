//! The tokens: their bytes, their ranks, and the merges that make them.
//!
//! A token whose bytes are merged by the encoding is merged last from the same two tokens, whatever
//! stands around it: until it is whole, nothing outside of it takes part, so all goes as if it stood
//! alone. So every token has one pair, and to know whether two tokens that stand side by side merge
//! is to know whether they are the pair of a token. (That every token follows from merges is
//! checked where the pairs are found, see `build/vocabulary.rs`.)

use crate::hash;

/// The pairs of the tokens. See `build/vocabulary.rs`.
const MERGES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.merges"));
/// How many bytes of [`MERGES`] a token has.
const ENTRY: usize = 6;
/// The right token of a token of one byte.
const SINGLE: u32 = 0xFF_FFFF;
/// What no pair of tokens merges to: more than any rank.
pub(crate) const NONE: u32 = u32::MAX;
/// How many places an [`Index`] has, as a power of two.
const PLACES: u32 = 19;
/// The bits of an entry of an [`Index`] that are one more than a rank.
const RANK: u32 = (1 << 18) - 1;

/// The tokens of `o200k_base`.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    /// The bytes of every token in order of rank, and some zeros.
    bytes: Vec<u8>,
    /// Where the bytes of each token begin, and where those of the last end.
    starts: Vec<u32>,
    /// Tokens by their bytes.
    words: Index,
    /// Tokens of more than two bytes by their pairs.
    pairs: Index,
    /// Tokens of two bytes, by these.
    twos: Vec<u32>,
    /// Tokens of one byte.
    singles: [u32; 256],
}

impl Vocabulary {
    /// Reads the vocabulary.
    pub(crate) fn load() -> Self {
        let tokens = MERGES.len() / ENTRY;
        let mut this = Self {
            bytes: Vec::with_capacity(tokens * 8),
            starts: Vec::with_capacity(tokens + 1),
            words: Index::new(),
            pairs: Index::new(),
            twos: vec![NONE; 1 << 16],
            singles: [NONE; 256],
        };
        for rank in 0..u32::try_from(tokens).unwrap_or(NONE) {
            this.add(rank);
        }
        this.starts.push(place(this.bytes.len()));
        this.bytes.extend([0; 16]);
        this
    }

    /// Adds the token that comes next.
    fn add(&mut self, rank: u32) {
        let start = self.bytes.len();
        self.starts.push(place(start));
        let (left, right) = pair_of(rank);
        if right == SINGLE {
            let byte = left as u8;
            self.bytes.push(byte);
            self.singles[usize::from(byte)] = rank;
        } else {
            for part in [left, right] {
                let part = part as usize;
                let end = self.starts[part + 1] as usize;
                self.bytes.extend_from_within(self.starts[part] as usize..end);
            }
            self.pairs.insert(hash_of_pair(left, right), rank);
        }
        let token = &self.bytes[start..];
        if let [first, second] = *token {
            self.twos[two(first, second)] = rank;
        }
        let hash = match token.len() {
            ..=hash::SHORT => hash::of_key(hash::key(token)),
            _ => hash::of_long(token),
        };
        self.words.insert(hash, rank);
    }

    /// The bytes of a token.
    pub(crate) fn token(&self, rank: u32) -> Option<&[u8]> {
        let rank = rank as usize;
        let (start, end) = (*self.starts.get(rank)?, *self.starts.get(rank + 1)?);
        self.bytes.get(start as usize..end as usize)
    }

    /// The token with this key, whose hash this is.
    #[inline]
    pub(crate) fn short_word(&self, key: u128, hash: u64) -> Option<u32> {
        self.words.find(hash, |rank| self.key(rank) == Some(key))
    }

    /// The token with these bytes, whose hash this is. They are more than [`hash::SHORT`].
    pub(crate) fn long_word(&self, piece: &[u8], hash: u64) -> Option<u32> {
        self.words.find(hash, |rank| self.token(rank) == Some(piece))
    }

    /// The key of a token, if it has one.
    #[inline]
    fn key(&self, rank: u32) -> Option<u128> {
        let start = *self.starts.get(rank as usize)? as usize;
        let length = *self.starts.get(rank as usize + 1)? as usize - start;
        let bytes = self.bytes.get(start..)?.first_chunk()?;
        (length <= hash::SHORT).then(|| hash::key_of(*bytes, length))
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

    /// What two tokens merge to, or [`NONE`].
    #[inline]
    pub(crate) fn merged(&self, left: u32, right: u32) -> u32 {
        let found =
            self.pairs.find(hash_of_pair(left, right), |rank| pair_of(rank) == (left, right));
        found.unwrap_or(NONE)
    }
}

/// The two tokens that merge to this one.
#[inline]
fn pair_of(rank: u32) -> (u32, u32) {
    let at = rank as usize * ENTRY;
    match MERGES.get(at..at + ENTRY) {
        Some(&[a, b, c, d, e, f]) => {
            (u32::from_le_bytes([a, b, c, 0]), u32::from_le_bytes([d, e, f, 0]))
        }
        _ => (NONE, NONE),
    }
}

/// The hash of a pair of tokens.
#[inline]
fn hash_of_pair(left: u32, right: u32) -> u64 {
    let product = (u64::from(left) << 18 | u64::from(right)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 29
}

/// The place of two bytes in a table.
#[inline]
fn two(first: u8, second: u8) -> usize {
    usize::from(u16::from_be_bytes([first, second]))
}

/// A place among the bytes of the vocabulary, which are few.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(NONE)
}

/// Ranks by a hash, with linear probing. An entry is one more than a rank, and in the bits above
/// it a part of the hash, so that most ranks that are not looked for are known by their entry.
#[derive(Debug)]
struct Index {
    entries: Vec<u32>,
}

impl Index {
    fn new() -> Self {
        Self { entries: vec![0; 1 << PLACES] }
    }

    /// The place where a hash is looked for first, and its mark.
    #[inline]
    fn place(hash: u64) -> (usize, u32) {
        ((hash >> (64 - PLACES)) as usize, (hash as u32) & !RANK)
    }

    fn insert(&mut self, hash: u64, rank: u32) {
        let (mut at, mark) = Self::place(hash);
        while self.entries[at] != 0 {
            at = (at + 1) & ((1 << PLACES) - 1);
        }
        self.entries[at] = mark | (rank + 1);
    }

    /// The rank that has this hash and for which this holds.
    #[inline]
    fn find(&self, hash: u64, holds: impl Fn(u32) -> bool) -> Option<u32> {
        let (mut at, mark) = Self::place(hash);
        loop {
            let entry = *self.entries.get(at)?;
            if entry == 0 {
                return None;
            }
            if entry & !RANK == mark {
                let rank = (entry & RANK) - 1;
                if holds(rank) {
                    return Some(rank);
                }
            }
            at = (at + 1) & ((1 << PLACES) - 1);
        }
    }
}
