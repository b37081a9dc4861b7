//! Encodes many pieces at once.
//!
//! Encoding a piece mostly waits for memory. Therefore all pieces of a batch take each step
//! together, and memory is prefetched before each step.

use crate::cache::{Cache, Packed};
use crate::few::Few;
use crate::hash::{self, Key, SHORT};
use crate::merge::{Lanes, Merger};
use crate::split::{Places, WINDOW};
use crate::vocabulary::Vocabulary;

/// The maximum number of pieces of a batch.
pub(crate) const SIZE: usize = 256;

/// A batch of pieces that are not encoded yet.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The number of pieces.
    count: usize,
    /// The short pieces. Longer pieces leave an empty place here.
    short: [Short; SIZE],
    /// The longer pieces.
    long: Vec<Long>,
    /// The ids of each piece that are known.
    ids: [Few; SIZE],
    /// The indexes of the short pieces without ids.
    open: [u8; SIZE],
    /// The ids of pieces with more than [`Few::MOST`] ids.
    many: Vec<u32>,
    /// The output buffer.
    out: [u32; SIZE * Few::MOST + 1],
    lanes: Lanes,
    merger: Merger,
}

/// The target of the ids of a batch.
pub(crate) trait Output {
    /// Takes the ids of all pieces.
    fn take(&mut self, batch: &mut Batch);
}

impl Output for Vec<u32> {
    fn take(&mut self, batch: &mut Batch) {
        batch.write(self);
    }
}

/// A counter of ids.
impl Output for usize {
    fn take(&mut self, batch: &mut Batch) {
        let counts = batch.ids[..batch.count].iter().map(|few| match few.count() {
            0 => few.place().len(),
            count => count,
        });
        *self += counts.sum::<usize>();
    }
}

/// A short piece, and its hash.
#[derive(Clone, Copy, Debug, Default)]
struct Short {
    key: Key,
    hash: u64,
}

/// A longer piece: its position in the text, its hash, and its index in the batch.
#[derive(Clone, Copy, Debug)]
struct Long {
    start: usize,
    end: usize,
    hash: u64,
    at: usize,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            count: 0,
            short: [Short::default(); _],
            long: Vec::new(),
            ids: [Few::NONE; _],
            open: [0; _],
            many: Vec::new(),
            out: [0; _],
            lanes: Lanes::default(),
            merger: Merger::default(),
        }
    }
}

impl Batch {
    /// Returns how many pieces can be added.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        SIZE - self.count
    }

    /// Adds a short piece. The batch must have room.
    #[inline(always)]
    pub(crate) fn add(&mut self, cache: &Cache, key: Key) {
        let hash = key.hash();
        cache.prefetch_front(hash);
        self.short[self.count] = Short { key, hash };
        self.count += 1;
    }

    /// Adds the pieces of a window at this position of the text, which end at these places. The
    /// batch must have room for all. Stops at the first piece that is not short, and returns its
    /// start.
    #[inline(always)]
    pub(crate) fn add_all(
        &mut self,
        cache: &Cache,
        window: &[u8; WINDOW],
        mut start: u32,
        ends: &mut Places,
    ) -> Option<u32> {
        let mut count = self.count;
        let mut set = ends.set;
        loop {
            let end = if set == 0 { ends.last } else { set.trailing_zeros() };
            let length = (end - start) as usize;
            if length > SHORT {
                (self.count, ends.set) = (count, set);
                return Some(start);
            }
            let Some(bytes) = window[start as usize % 64..].first_chunk() else { break };
            let key = Key::of_first(bytes, length);
            let hash = key.hash();
            cache.prefetch_front(hash);
            self.short[count % SIZE] = Short { key, hash };
            count += 1;
            if set == 0 {
                break;
            }
            set &= set - 1;
            start = end;
        }
        self.count = count;
        None
    }

    /// Adds a longer piece. The batch must have room.
    #[cold]
    #[inline(never)]
    pub(crate) fn add_long(&mut self, cache: &Cache, text: &[u8], start: usize, end: usize) {
        let hash = hash::of_long(&text[start..end]);
        cache.prefetch_long(end - start, hash);
        self.long.push(Long { start, end, hash, at: self.count });
        self.short[self.count] = Short::default();
        self.count += 1;
    }

    /// Encodes all pieces, passes their ids to the output, and empties the batch.
    pub(crate) fn flush(
        &mut self,
        vocabulary: &Vocabulary,
        cache: &mut Cache,
        text: &[u8],
        out: &mut impl Output,
    ) {
        self.many.clear();
        let mut open = self.look_in_front(cache);
        if open > 0 {
            open = self.look_behind(vocabulary, cache, open);
        }
        if open > 0 {
            self.encode(vocabulary, cache, open);
        }
        if !self.long.is_empty() {
            self.encode_long(vocabulary, cache, text);
        }
        out.take(self);
        self.count = 0;
        self.long.clear();
    }

    /// Looks up the short pieces in the front cache. Returns how many were not found.
    fn look_in_front(&mut self, cache: &Cache) -> usize {
        let Self { short, ids, open, count, .. } = self;
        let mut opened = 0;
        for at in 0..(*count).min(SIZE) {
            let Short { key, hash } = short[at];
            let (in_front, few) = cache.front(hash);
            ids[at] = few;
            // If this piece was found, the next one overwrites the entry.
            open[opened % SIZE] = at as u8;
            opened += usize::from(in_front.differs(key));
        }
        opened
    }

    /// Looks up the remaining pieces in the table. Returns how many were not found.
    fn look_behind(&mut self, vocabulary: &Vocabulary, cache: &mut Cache, open: usize) -> usize {
        for at in &self.open[..open] {
            cache.prefetch(self.short[usize::from(*at)].hash);
        }
        let mut still = 0;
        for place in 0..open {
            let at = self.open[place];
            let Short { key, hash } = self.short[usize::from(at)];
            match cache.get(key, hash) {
                Some(packed) => {
                    self.ids[usize::from(at)] = match packed.few() {
                        Some(few) => {
                            cache.put_in_front(key, hash, few);
                            few
                        }
                        None => self.keep(packed.many()),
                    }
                }
                None => {
                    vocabulary.prefetch_word(hash);
                    self.open[still] = at;
                    // Longer pieces have no key here.
                    still += usize::from(key != Key::default());
                }
            }
        }
        still
    }

    /// Stores more than [`Few::MOST`] ids.
    fn keep(&mut self, ids: impl Iterator<Item = u32>) -> Few {
        let start = self.many.len();
        self.many.extend(ids);
        Few::elsewhere(start, self.many.len())
    }

    /// Encodes the remaining pieces.
    #[cold]
    fn encode(&mut self, vocabulary: &Vocabulary, cache: &mut Cache, open: usize) {
        for at in &self.open[..open] {
            vocabulary.prefetch_bytes(self.short[usize::from(*at)].hash);
        }
        let mut merging = 0;
        for place in 0..open {
            let at = self.open[place];
            let Short { key, hash } = self.short[usize::from(at)];
            if let Some(id) = vocabulary.short_word(key, hash) {
                self.learn(cache, at, &[id]);
            } else {
                self.lanes.add(vocabulary, &key.bytes()[..key.length()]);
                self.open[merging] = at;
                merging += 1;
            }
        }
        self.lanes.merge(vocabulary);
        let mut ids = Vec::with_capacity(SHORT);
        for place in 0..merging {
            ids.clear();
            self.lanes.write(place, &mut ids);
            self.learn(cache, self.open[place], &ids);
        }
        self.lanes.clear();
    }

    /// Adds the ids of a short piece to the cache.
    fn learn(&mut self, cache: &mut Cache, at: u8, ids: &[u32]) {
        let Short { key, hash } = self.short[usize::from(at)];
        // If the batch contains the piece twice, it may already be in the cache.
        if let Some(packed) = Packed::new(ids)
            && cache.get(key, hash).is_none()
        {
            cache.insert(key, hash, packed);
        }
        self.ids[usize::from(at)] = match Few::new(ids) {
            Some(few) => {
                cache.put_in_front(key, hash, few);
                few
            }
            None => self.keep(ids.iter().copied()),
        };
    }

    /// Looks up or encodes the longer pieces.
    fn encode_long(&mut self, vocabulary: &Vocabulary, cache: &mut Cache, text: &[u8]) {
        for place in 0..self.long.len() {
            let Long { start, end, hash, at } = self.long[place];
            let piece = &text[start..end];
            let start = self.many.len();
            if let Some(ids) = cache.get_long(piece, hash) {
                self.many.extend_from_slice(ids);
            } else {
                match vocabulary.long_word(piece, hash) {
                    Some(id) => self.many.push(id),
                    None => self.merger.merge(vocabulary, piece, &mut self.many),
                }
                cache.insert_long(piece, hash, &self.many[start..]);
            }
            self.ids[at] = Few::elsewhere(start, self.many.len());
        }
    }

    /// Writes the ids of all pieces.
    fn write(&mut self, ids: &mut Vec<u32>) {
        let mut count = 0;
        for few in &self.ids[..self.count] {
            if let Some(out) = self.out.get_mut(count..count + 4) {
                out.copy_from_slice(&few.ids());
            }
            count += few.count();
            if few.count() == 0 {
                ids.extend_from_slice(&self.out[..count]);
                ids.extend_from_slice(&self.many[few.place()]);
                count = 0;
            }
        }
        ids.extend_from_slice(&self.out[..count]);
    }
}
