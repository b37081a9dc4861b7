//! Hash tables of ranks, with linear probing.

/// The value for pairs that do not merge. It is greater than any rank.
pub(crate) const NONE: u32 = u32::MAX;
/// The number of entries of a table, as a power of two. Three tokens use eight entries.
const PLACES: u32 = 19;
/// The number of bits for a rank plus one.
const RANK: u32 = 18;

/// Returns the next entry.
#[inline]
fn after(place: usize) -> usize {
    (place + 1) & ((1 << PLACES) - 1)
}

/// Ranks by the hash of the bytes of tokens.
#[derive(Debug)]
pub(crate) struct Words {
    /// In the low bits, a rank plus one. Above it, a tag: some bits of the hash.
    entries: Vec<u32>,
}

impl Words {
    pub(crate) fn new() -> Self {
        Self { entries: vec![0; 1 << PLACES] }
    }

    /// Returns the first entry to probe for a hash.
    #[inline]
    fn place(hash: u64) -> usize {
        (hash >> (64 - PLACES)) as usize
    }

    /// Returns the tag of a hash.
    #[inline]
    fn mark(hash: u64) -> u32 {
        hash as u32 & u32::MAX << RANK
    }

    /// Prefetches the entry of a hash.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch_index::prefetch_index(&self.entries, Self::place(hash));
    }

    pub(crate) fn insert(&mut self, hash: u64, rank: u32) {
        let mut place = Self::place(hash);
        while self.entries[place] != 0 {
            place = after(place);
        }
        self.entries[place] = Self::mark(hash) | (rank + 1);
    }

    /// Returns the rank for which `holds` is true, among those with the tag of this hash.
    #[inline]
    pub(crate) fn find(&self, hash: u64, holds: impl Fn(u32) -> bool) -> Option<u32> {
        let mut place = Self::place(hash);
        loop {
            let entry = *self.entries.get(place)?;
            if entry == 0 {
                return None;
            }
            let rank = (entry & !(u32::MAX << RANK)) - 1;
            if entry & u32::MAX << RANK == Self::mark(hash) && holds(rank) {
                return Some(rank);
            }
            place = after(place);
        }
    }
}

/// Ranks by the pair of tokens that merges to the token.
#[derive(Debug)]
pub(crate) struct Pairs {
    /// From the lowest bits: the rank, the right token, the left token. Zero means empty.
    entries: Vec<u64>,
}

impl Pairs {
    pub(crate) fn new() -> Self {
        Self { entries: vec![0; 1 << PLACES] }
    }

    /// Returns the key of a pair of tokens.
    #[inline]
    fn key(left: u32, right: u32) -> u64 {
        u64::from(left) << RANK | u64::from(right)
    }

    /// Returns the first entry to probe for a key.
    #[inline]
    fn place(key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PLACES)) as usize
    }

    /// Prefetches the entry of a pair.
    #[inline]
    pub(crate) fn prefetch(&self, left: u32, right: u32) {
        prefetch_index::prefetch_index(&self.entries, Self::place(Self::key(left, right)));
    }

    pub(crate) fn insert(&mut self, left: u32, right: u32, rank: u32) {
        let key = Self::key(left, right);
        let mut place = Self::place(key);
        while self.entries[place] != 0 {
            place = after(place);
        }
        self.entries[place] = key << RANK | u64::from(rank);
    }

    /// Returns the token that two tokens merge to, or [`NONE`].
    #[inline]
    pub(crate) fn get(&self, left: u32, right: u32) -> u32 {
        let key = Self::key(left, right);
        let mut place = Self::place(key);
        loop {
            let entry = self.entries.get(place).copied().unwrap_or_default();
            if entry >> RANK == key {
                return entry as u32 & ((1 << RANK) - 1);
            }
            if entry == 0 {
                return NONE;
            }
            place = after(place);
        }
    }
}
