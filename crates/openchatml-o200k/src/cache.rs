//! A cache of the ids of pieces, of fixed size.

use crate::hash;

/// The most ids of a short piece that are kept.
pub(crate) const PACKED: usize = 6;
/// How many bits an id has in a [`Packed`].
const ID: u32 = 18;
/// Where the number of ids is in a [`Packed`].
const COUNT: u32 = 3 * ID;
/// How many words of [`Cache::table`] a bucket has: two keys, then two values.
const BUCKET: usize = 4;

/// Up to [`PACKED`] ids in two words. Each word has three ids, and the lower one their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed(u128);

impl Packed {
    /// Ids, if they are few.
    pub(crate) fn new(ids: &[u32]) -> Option<Self> {
        if ids.is_empty() || ids.len() > PACKED {
            return None;
        }
        let mut words = [0_u64; 2];
        for (word, ids) in words.iter_mut().zip(ids.chunks(3)) {
            for (id, place) in ids.iter().zip(0_u32..) {
                *word |= u64::from(*id) << (place * ID);
            }
        }
        words[0] |= (ids.len() as u64) << COUNT;
        Some(Self(u128::from(words[0]) | u128::from(words[1]) << 64))
    }

    /// How many ids there are.
    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        (self.0 as u64 >> COUNT) as usize
    }

    /// The first three ids, or zeros.
    #[inline(always)]
    pub(crate) fn first(self) -> [u32; 3] {
        three(self.0 as u64)
    }

    /// The ids after the third, or zeros.
    #[inline(always)]
    pub(crate) fn rest(self) -> [u32; 3] {
        three((self.0 >> 64) as u64)
    }
}

#[inline(always)]
fn three(word: u64) -> [u32; 3] {
    [0, ID, 2 * ID].map(|place| (word >> place) as u32 & ((1 << ID) - 1))
}

/// The ids of pieces that were encoded before.
#[derive(Debug)]
pub(crate) struct Cache {
    /// Buckets of the keys and the ids of two short pieces. Zeros are no piece.
    table: Vec<u128>,
    /// Where the first bucket begins: where a line of memory does.
    first: usize,
    /// How far a hash is shifted to make the number of a bucket.
    shift: u32,
    /// Longer pieces.
    long: Vec<Long>,
}

/// The ids of a piece of more than [`hash::SHORT`] bytes.
#[derive(Clone, Copy, Debug)]
struct Long {
    bytes: [u8; Self::BYTES],
    ids: [u32; Self::IDS],
    length: u8,
    count: u8,
}

impl Long {
    /// The longest piece.
    const BYTES: usize = 46;
    /// The most ids.
    const IDS: usize = 12;
    /// No piece.
    const EMPTY: Self = Self { bytes: [0; _], ids: [0; _], length: 0, count: 0 };
}

impl Cache {
    /// A cache of at most so many bytes, but for a least size. Memory is taken as it is used.
    pub(crate) fn new(bytes: usize) -> Self {
        let buckets = (bytes / (BUCKET * size_of::<u128>())).max(2);
        let bits = buckets.ilog2().min(32);
        let table = vec![0; (1 << bits) * BUCKET + BUCKET - 1];
        let line = size_of::<u128>() * BUCKET;
        let first = table.as_ptr().addr().wrapping_neg() % line / size_of::<u128>();
        let long = vec![Long::EMPTY; 1 << bits.saturating_sub(5)];
        Self { table, first, shift: 64 - bits, long }
    }

    /// Where the bucket of a hash begins.
    #[inline(always)]
    fn bucket(&self, hash: u64) -> usize {
        self.first + (hash >> self.shift) as usize * BUCKET
    }

    /// Says that the bucket of this hash is to be looked at soon.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch_index::prefetch_index(&self.table, self.bucket(hash));
    }

    /// The ids of the short piece with this key and hash.
    #[inline(always)]
    pub(crate) fn get(&self, key: u128, hash: u64) -> Option<Packed> {
        let bucket: &[u128; BUCKET] = self.table.get(self.bucket(hash)..)?.first_chunk()?;
        // Without a branch, as it is not to be foreseen which of the two it is.
        let place = usize::from(bucket[1] == key);
        (bucket[place] == key).then(|| Packed(bucket[2 + place]))
    }

    /// Keeps the ids of a short piece, in the place of the older piece of its bucket.
    pub(crate) fn insert(&mut self, key: u128, hash: u64, ids: Packed) {
        let at = self.bucket(hash);
        if let Some([first_key, second_key, first, second]) =
            self.table.get_mut(at..).and_then(<[u128]>::first_chunk_mut::<BUCKET>)
        {
            (*second_key, *second) = (*first_key, *first);
            (*first_key, *first) = (key, ids.0);
        }
    }

    /// Where a longer piece with this hash is.
    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.long.len() - 1)
    }

    /// The ids of a longer piece with this hash.
    pub(crate) fn get_long(&self, piece: &[u8], hash: u64) -> Option<&[u32]> {
        let entry = self.long.get(self.place(hash))?;
        let known = entry.bytes.get(..usize::from(entry.length))?;
        (known == piece).then(|| &entry.ids[..usize::from(entry.count)])
    }

    /// Keeps the ids of a longer piece, if neither it nor they are long.
    pub(crate) fn insert_long(&mut self, piece: &[u8], hash: u64, ids: &[u32]) {
        debug_assert!(piece.len() > hash::SHORT);
        if piece.len() > Long::BYTES || ids.len() > Long::IDS {
            return;
        }
        let at = self.place(hash);
        let mut entry = Long::EMPTY;
        entry.bytes[..piece.len()].copy_from_slice(piece);
        entry.ids[..ids.len()].copy_from_slice(ids);
        (entry.length, entry.count) = (piece.len() as u8, ids.len() as u8);
        self.long[at] = entry;
    }
}
