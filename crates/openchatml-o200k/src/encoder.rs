//! The encoder.

use std::sync::{Arc, Mutex};

use crate::cache::{Cache, PACKED, Packed};
use crate::hash::{self, SHORT};
use crate::merge::merge;
use crate::split::{Pieces, WINDOW, split};
use crate::vocabulary::Vocabulary;

/// An encoder of ordinary text in the vocabulary of `o200k_base`.
///
/// It may be shared by threads. Its cache is used by one at a time: who comes while it is in use
/// encodes without it. So a thread that encodes much has an encoder of its own: see
/// [`Self::another`].
#[derive(Debug)]
pub struct Encoder {
    vocabulary: Arc<Vocabulary>,
    work: Mutex<Box<Work>>,
    cache_bytes: usize,
}

impl Encoder {
    /// How many bytes the cache has if nothing else is said.
    pub const CACHE_BYTES: usize = 16 << 20;

    /// An encoder whose cache has at most so many bytes (and about one in forty more for long
    /// pieces). They are taken as they are needed.
    pub fn with_cache(bytes: usize) -> Self {
        Self::of(Arc::new(Vocabulary::load()), bytes)
    }

    /// An encoder with the same vocabulary, and a cache of its own.
    pub fn another(&self) -> Self {
        Self::of(Arc::clone(&self.vocabulary), self.cache_bytes)
    }

    /// An encoder with the same vocabulary, and a cache of its own of at most so many bytes.
    pub fn another_with(&self, cache_bytes: usize) -> Self {
        Self::of(Arc::clone(&self.vocabulary), cache_bytes)
    }

    fn of(vocabulary: Arc<Vocabulary>, cache_bytes: usize) -> Self {
        Self { vocabulary, work: Mutex::new(Box::new(Work::new(cache_bytes))), cache_bytes }
    }

    /// Adds the ids of a text.
    pub fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        match self.work.try_lock() {
            Ok(mut work) => self.encode_with(&mut work, text, ids),
            Err(_) => self.encode_with(&mut Work::new(0), text, ids),
        }
    }

    fn encode_with(&self, work: &mut Work, text: &str, ids: &mut Vec<u32>) {
        let mut to = Ids { vocabulary: &self.vocabulary, work, waiting: 0, ids };
        split(text, &mut to);
        to.flush();
    }

    /// The bytes of a token.
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        self.vocabulary.token(id)
    }
}

impl Default for Encoder {
    /// With a cache of [`Self::CACHE_BYTES`].
    fn default() -> Self {
        Self::with_cache(Self::CACHE_BYTES)
    }
}

/// How many short pieces are looked up together.
const QUEUE: usize = 128;

/// What encoding uses again and again.
#[derive(Debug)]
struct Work {
    cache: Cache,
    /// Short pieces that were not looked up yet: their keys and hashes.
    queue: [(u128, u64); QUEUE],
    /// Ids that were not added yet.
    ids: [u32; QUEUE * PACKED],
}

impl Work {
    fn new(cache_bytes: usize) -> Self {
        Self { cache: Cache::new(cache_bytes), queue: [(0, 0); _], ids: [0; _] }
    }
}

/// Makes pieces into ids.
///
/// Short pieces wait in a queue. When they enter it, the memory that is needed to look them up is
/// touched, so that it comes for many of them at the same time.
struct Ids<'e> {
    vocabulary: &'e Vocabulary,
    work: &'e mut Work,
    /// How many pieces wait.
    waiting: usize,
    ids: &'e mut Vec<u32>,
}

impl Ids<'_> {
    /// Looks up the pieces that wait.
    fn flush(&mut self) {
        let Work { cache, queue, ids } = &mut *self.work;
        let mut count = 0;
        for &(key, hash) in &queue[..self.waiting] {
            let Some(packed) = cache.get(key, hash) else {
                self.ids.extend_from_slice(&ids[..count]);
                count = 0;
                encode_short(self.vocabulary, cache, self.ids, key, hash);
                continue;
            };
            ids[count..count + 3].copy_from_slice(&packed.first());
            if packed.count() > 3 {
                ids[count + 3..count + PACKED].copy_from_slice(&packed.rest());
            }
            count += packed.count();
        }
        self.ids.extend_from_slice(&ids[..count]);
        self.waiting = 0;
    }

    /// Puts a short piece into the queue, in which there is room.
    #[inline(always)]
    fn wait(&mut self, key: u128) {
        let hash = hash::of_key(key);
        self.work.queue[self.waiting] = (key, hash);
        self.waiting += 1;
        self.work.cache.prefetch(hash);
    }

    /// Encodes a piece of more than [`SHORT`] bytes.
    #[cold]
    #[inline(never)]
    fn long(&mut self, piece: &[u8]) {
        self.flush();
        let hash = hash::of_long(piece);
        if let Some(ids) = self.work.cache.get_long(piece, hash) {
            self.ids.extend_from_slice(ids);
            return;
        }
        let start = self.ids.len();
        match self.vocabulary.long_word(piece, hash) {
            Some(id) => self.ids.push(id),
            None => merge(self.vocabulary, piece, self.ids),
        }
        self.work.cache.insert_long(piece, hash, &self.ids[start..]);
    }
}

/// Encodes a short piece that is not in the cache.
#[cold]
#[inline(never)]
fn encode_short(
    vocabulary: &Vocabulary,
    cache: &mut Cache,
    ids: &mut Vec<u32>,
    key: u128,
    hash: u64,
) {
    let start = ids.len();
    match vocabulary.short_word(key, hash) {
        Some(id) => ids.push(id),
        None => merge(vocabulary, &key.to_le_bytes()[..hash::length(key)], ids),
    }
    if let Some(packed) = Packed::new(&ids[start..]) {
        cache.insert(key, hash, packed);
    }
}

impl Pieces for Ids<'_> {
    #[inline]
    fn window(&mut self, window: &[u8; WINDOW], mut starts: u64, end: u32) {
        if self.waiting + 64 > QUEUE {
            self.flush();
        }
        while starts != 0 {
            let start = starts.trailing_zeros() as usize;
            starts &= starts - 1;
            let next = if starts == 0 { end } else { starts.trailing_zeros() } as usize;
            let length = next - start;
            if length > SHORT {
                self.long(&window[start..next]);
            } else if let Some(bytes) = window[start..].first_chunk() {
                self.wait(hash::key_of(*bytes, length));
            }
        }
    }

    fn piece(&mut self, piece: &[u8]) {
        if piece.len() > SHORT {
            return self.long(piece);
        }
        if self.waiting == QUEUE {
            self.flush();
        }
        self.wait(hash::key(piece));
    }
}
