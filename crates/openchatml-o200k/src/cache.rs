//! A cache of the ids of pieces, of fixed size.

use crate::few::Few;
use crate::hash::Key;

/// How many pieces are in front: as many as fit into memory that is near.
const FRONT: usize = 1 << 13;
/// The most bytes of most longer pieces.
const LONG: usize = 62;
/// The most bytes of all.
const LONGER: usize = 254;
/// How many words of [`Cache::table`] a bucket has: two keys, then two values.
const BUCKET: usize = 4;

/// The ids of pieces that were encoded before.
///
/// A piece is never given the ids of another one: what is kept with the ids is the piece.
#[derive(Debug)]
pub(crate) struct Cache {
    /// Short pieces that were looked up last.
    front: Box<[Front; FRONT]>,
    /// Buckets of the keys and the ids of two short pieces. Zeros are no piece.
    table: Vec<u128>,
    /// Where the first bucket begins: where a line of memory does.
    first: usize,
    /// How far a hash is shifted to make the number of a bucket.
    shift: u32,
    /// Longer pieces.
    long: Long<LONG, 16>,
    /// Even longer pieces.
    longer: Long<LONGER, 64>,
}

/// A short piece, and its ids if they are at most three.
#[derive(Clone, Copy, Debug)]
struct Front {
    key: Key,
    ids: Few,
}

/// The ids of pieces of more than [`crate::hash::SHORT`] bytes, which have at most so many bytes and ids.
#[derive(Debug)]
struct Long<const BYTES: usize, const IDS: usize> {
    entries: Vec<Entry<BYTES, IDS>>,
}

/// A piece, and its ids.
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

    /// Where the piece with this hash is.
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
    /// A cache of about so many bytes, but for a least size. Most of them are taken from the system
    /// when they are used.
    pub(crate) fn new(bytes: usize) -> Self {
        let line = size_of::<u128>() * BUCKET;
        let bits = (bytes / line).max(2).ilog2().min(32);
        // Two buckets side by side begin where two lines do.
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

    /// Where a hash is in front.
    #[inline(always)]
    fn place_in_front(hash: u64) -> usize {
        hash as usize % FRONT
    }

    /// Says that the front is looked at soon, where this hash is.
    #[inline(always)]
    pub(crate) fn prefetch_front(&self, hash: u64) {
        prefetch_index::prefetch_index(self.front.as_slice(), Self::place_in_front(hash));
    }

    /// The short piece that is in front where this hash is, and its ids.
    #[inline(always)]
    pub(crate) fn front(&self, hash: u64) -> (Key, Few) {
        let Front { key, ids } = self.front[Self::place_in_front(hash)];
        (key, ids)
    }

    /// Puts a short piece in front.
    #[inline]
    pub(crate) fn put_in_front(&mut self, key: Key, hash: u64, ids: Few) {
        self.front[Self::place_in_front(hash)] = Front { key, ids };
    }

    /// Where the bucket of a hash begins.
    #[inline]
    fn bucket(&self, hash: u64) -> usize {
        self.first + (hash >> self.shift) as usize * BUCKET
    }

    /// Where the bucket beside another begins.
    #[inline]
    fn beside(&self, bucket: usize) -> usize {
        self.first + ((bucket - self.first) ^ BUCKET)
    }

    /// Says that the bucket of this hash is looked at soon.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        prefetch_index::prefetch_index(&self.table, self.bucket(hash));
    }

    /// The ids of the short piece with this key and hash.
    #[inline]
    pub(crate) fn get(&self, key: Key, hash: u64) -> Option<Packed> {
        let bucket = self.bucket(hash);
        let key = key.number();
        self.find(bucket, key).or_else(|| self.find(self.beside(bucket), key))
    }

    /// The ids of a key in a bucket.
    #[inline]
    fn find(&self, bucket: usize, key: u128) -> Option<Packed> {
        let bucket: &[u128; BUCKET] = self.table.get(bucket..)?.first_chunk()?;
        // Without a branch, as it is not to be foreseen which of the two it is.
        let place = usize::from(bucket[1] == key);
        (bucket[place] == key).then(|| Packed(bucket[2 + place]))
    }

    /// Keeps the ids of a short piece: in its bucket or the one beside it if there is room, or else
    /// in the place of the older piece of its bucket.
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

    /// Says that a longer piece with this hash is looked up soon.
    #[inline]
    pub(crate) fn prefetch_long(&self, length: usize, hash: u64) {
        match length {
            ..=LONG => self.long.prefetch(hash),
            _ => self.longer.prefetch(hash),
        }
    }

    /// The ids of a longer piece with this hash.
    pub(crate) fn get_long(&self, piece: &[u8], hash: u64) -> Option<&[u32]> {
        match piece.len() {
            ..=LONG => self.long.get(piece, hash),
            _ => self.longer.get(piece, hash),
        }
    }

    /// Keeps the ids of a longer piece, if neither it nor they are too long.
    pub(crate) fn insert_long(&mut self, piece: &[u8], hash: u64, ids: &[u32]) {
        match piece.len() {
            ..=LONG => self.long.insert(piece, hash, ids),
            _ => self.longer.insert(piece, hash, ids),
        }
    }
}

/// Up to [`Self::MOST`] ids in the space of four.
///
/// Up to three are as in [`Few`]. More have eighteen bits each, and their number is in the highest
/// bits but one, which is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed(u128);

impl Packed {
    /// How many ids there can be.
    pub(crate) const MOST: usize = 6;
    /// How many bits each of many ids has.
    const ID: usize = 18;
    /// Where the number of many ids is.
    const COUNT: usize = 120;
    /// Says that there are more than a few.
    const MANY: u128 = 1 << 127;

    /// These ids, if they are not too many.
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

    /// The ids, if they are few.
    #[inline]
    pub(crate) fn few(self) -> Option<Few> {
        (self.0 & Self::MANY == 0).then(|| Few::of_number(self.0))
    }

    /// The ids, if they are more than a few.
    pub(crate) fn many(self) -> impl Iterator<Item = u32> {
        let count = (self.0 & !Self::MANY) >> Self::COUNT;
        (0..count as usize).map(move |place| (self.0 >> (place * Self::ID)) as u32 & 0x3_ffff)
    }
}
