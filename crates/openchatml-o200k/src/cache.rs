//! A cache of fixed size for the ids of pieces.

use crate::few::Few;
use crate::hash::Key;

/// The number of pieces in the front cache, which fits into the processor cache.
const FRONT: usize = 1 << 13;
/// The maximum size of longer pieces, in bytes.
const LONG: usize = 62;
/// The maximum size of even longer pieces, in bytes.
const LONGER: usize = 254;
/// The number of words of a bucket in [`Cache::table`]: two keys, then two values.
const BUCKET: usize = 4;

/// A cache of the ids of pieces.
///
/// An entry contains the whole piece, so that a hash collision never returns the ids of another
/// piece.
#[derive(Debug)]
pub(crate) struct Cache {
    /// The front cache: the short pieces that were looked up last.
    front: Box<[Front; FRONT]>,
    /// Buckets with the keys and the ids of two short pieces. Zero means empty.
    table: Vec<u128>,
    /// The index of the first bucket, which is aligned to a cache line.
    first: usize,
    /// The shift that converts a hash to the number of a bucket.
    shift: u32,
    /// Longer pieces.
    long: Long<LONG, 16>,
    /// Even longer pieces.
    longer: Long<LONGER, 64>,
}

/// A short piece with at most three ids.
#[derive(Clone, Copy, Debug)]
struct Front {
    key: Key,
    ids: Few,
}

/// The ids of pieces of more than [`crate::hash::SHORT`] bytes, with these maximum numbers of bytes
/// and ids.
#[derive(Debug)]
struct Long<const BYTES: usize, const IDS: usize> {
    entries: Vec<Entry<BYTES, IDS>>,
}

/// A piece with its ids.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Entry<const BYTES: usize, const IDS: usize> {
    bytes: [u8; BYTES],
    length: u8,
    count: u8,
    ids: [u32; IDS],
}

impl<const BYTES: usize, const IDS: usize> Long<BYTES, IDS> {
    fn new(bits: u32) -> Self {
        let none = Entry { bytes: [0; _], length: 0, count: 0, ids: [0; _] };
        Self { entries: vec![none; 1 << bits] }
    }

    /// Returns the index of the entry for a hash.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.entries.len() - 1)
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        prefetch_index::prefetch_index(&self.entries, self.place(hash));
    }

    fn get(&self, piece: &[u8], hash: u64) -> Option<&[u32]> {
        let entry = self.entries.get(self.place(hash))?;
        let known = entry.bytes.get(..usize::from(entry.length))?;
        (known == piece).then(|| &entry.ids[..usize::from(entry.count)])
    }

    fn insert(&mut self, piece: &[u8], hash: u64, ids: &[u32]) {
        if piece.len() <= BYTES && ids.len() <= IDS {
            let at = self.place(hash);
            let entry = &mut self.entries[at];
            entry.bytes[..piece.len()].copy_from_slice(piece);
            entry.ids[..ids.len()].copy_from_slice(ids);
            (entry.length, entry.count) = (piece.len() as u8, ids.len() as u8);
        }
    }
}

impl Cache {
    /// Creates a cache of about this many bytes, with a minimum size. The system provides most of
    /// the memory when it is first used.
    pub(crate) fn new(bytes: usize) -> Self {
        let line = size_of::<u128>() * BUCKET;
        let bits = (bytes / line).max(2).ilog2().min(32);
        // Adjacent buckets are aligned to two cache lines.
        let table = vec![0; ((1 << bits) + 2) * BUCKET];
        let first = table.as_ptr().addr().wrapping_neg() % (2 * line) / size_of::<u128>();
        Self {
            front: Box::new([Front { key: Key::default(), ids: Few::NONE }; FRONT]),
            table,
            first,
            shift: 64 - bits,
            long: Long::new(bits.saturating_sub(5)),
            longer: Long::new(bits.saturating_sub(9)),
        }
    }

    /// Returns the index of a hash in the front cache.
    #[inline(always)]
    fn place_in_front(hash: u64) -> usize {
        hash as usize % FRONT
    }

    /// Prefetches the entry of a hash in the front cache.
    #[inline(always)]
    pub(crate) fn prefetch_front(&self, hash: u64) {
        prefetch_index::prefetch_index(self.front.as_slice(), Self::place_in_front(hash));
    }

    /// Returns the entry for this hash in the front cache.
    #[inline(always)]
    pub(crate) fn front(&self, hash: u64) -> (Key, Few) {
        let Front { key, ids } = self.front[Self::place_in_front(hash)];
        (key, ids)
    }

    /// Adds a short piece to the front cache.
    #[inline]
    pub(crate) fn put_in_front(&mut self, key: Key, hash: u64, ids: Few) {
        self.front[Self::place_in_front(hash)] = Front { key, ids };
    }

    /// Returns the start of the bucket of a hash.
    #[inline]
    fn bucket(&self, hash: u64) -> usize {
        self.first + (hash >> self.shift) as usize * BUCKET
    }

    /// Returns the start of the adjacent bucket.
    #[inline]
    fn beside(&self, bucket: usize) -> usize {
        self.first + ((bucket - self.first) ^ BUCKET)
    }

    /// Prefetches the bucket of this hash.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch_index::prefetch_index(&self.table, self.bucket(hash));
    }

    /// Returns the ids of the short piece with this key and hash.
    #[inline]
    pub(crate) fn get(&self, key: Key, hash: u64) -> Option<Packed> {
        let bucket = self.bucket(hash);
        let key = key.number();
        self.find(bucket, key).or_else(|| self.find(self.beside(bucket), key))
    }

    /// Returns the ids of a key in a bucket.
    #[inline]
    fn find(&self, bucket: usize, key: u128) -> Option<Packed> {
        let bucket: &[u128; BUCKET] = self.table.get(bucket..)?.first_chunk()?;
        // Without a branch, because the processor cannot predict which of the two it is.
        let place = usize::from(bucket[1] == key);
        (bucket[place] == key).then(|| Packed(bucket[2 + place]))
    }

    /// Stores the ids of a short piece: in its bucket or the adjacent one if there is room,
    /// otherwise it replaces the older piece of its bucket.
    pub(crate) fn insert(&mut self, key: Key, hash: u64, ids: Packed) {
        let mut bucket = self.bucket(hash);
        let has_room = |at: usize| self.table.get(at + 1) == Some(&0);
        if !has_room(bucket) && has_room(self.beside(bucket)) {
            bucket = self.beside(bucket);
        }
        if let Some([first_key, second_key, first, second]) =
            self.table.get_mut(bucket..).and_then(<[u128]>::first_chunk_mut::<BUCKET>)
        {
            (*second_key, *second) = (*first_key, *first);
            (*first_key, *first) = (key.number(), ids.0);
        }
    }

    /// Prefetches the entry of a longer piece with this hash.
    #[inline]
    pub(crate) fn prefetch_long(&self, length: usize, hash: u64) {
        match length {
            ..=LONG => self.long.prefetch(hash),
            _ => self.longer.prefetch(hash),
        }
    }

    /// Returns the ids of a longer piece with this hash.
    pub(crate) fn get_long(&self, piece: &[u8], hash: u64) -> Option<&[u32]> {
        match piece.len() {
            ..=LONG => self.long.get(piece, hash),
            _ => self.longer.get(piece, hash),
        }
    }

    /// Stores the ids of a longer piece, if the piece and the ids fit.
    pub(crate) fn insert_long(&mut self, piece: &[u8], hash: u64, ids: &[u32]) {
        match piece.len() {
            ..=LONG => self.long.insert(piece, hash, ids),
            _ => self.longer.insert(piece, hash, ids),
        }
    }
}

/// Up to [`Self::MOST`] ids in the space of four.
///
/// Up to three ids are stored as in [`Few`]. More ids have eighteen bits each; their number is in
/// the highest bits, below the highest one, which is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed(u128);

impl Packed {
    /// How many ids there can be.
    pub(crate) const MOST: usize = 6;
    /// The number of bits of an id, if there are more than three.
    const ID: usize = 18;
    /// The position of the number of ids.
    const COUNT: usize = 120;
    /// Marks a value with more than three ids.
    const MANY: u128 = 1 << 127;

    /// Packs ids. Returns `None` if there are too many.
    pub(crate) fn new(ids: &[u32]) -> Option<Self> {
        if let Some(few) = Few::new(ids) {
            return Some(Self(few.number()));
        }
        if ids.len() > Self::MOST {
            return None;
        }
        let mut packed = Self::MANY | (ids.len() as u128) << Self::COUNT;
        for (place, id) in ids.iter().enumerate() {
            packed |= u128::from(*id) << (place * Self::ID);
        }
        Some(Self(packed))
    }

    /// Returns the ids, if there are at most three.
    #[inline]
    pub(crate) fn few(self) -> Option<Few> {
        (self.0 & Self::MANY == 0).then(|| Few::of_number(self.0))
    }

    /// Returns the ids, if there are more than three.
    pub(crate) fn many(self) -> impl Iterator<Item = u32> {
        let count = (self.0 & !Self::MANY) >> Self::COUNT;
        (0..count as usize).map(move |place| (self.0 >> (place * Self::ID)) as u32 & 0x3_ffff)
    }
}
