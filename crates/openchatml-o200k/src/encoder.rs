//! The encoder.

use std::sync::{Arc, Mutex};

use crate::batch::{Batch, Output};
use crate::cache::Cache;
use crate::hash::{Key, SHORT};
use crate::split::{Pieces, Places, WINDOW, split};
use crate::vocabulary::{Vocabulary, part};

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

    /// How many ids a text has. They are not made.
    ///
    /// ```
    /// assert_eq!(openchatml_o200k::Encoder::default().count("Hello, world!"), 4);
    /// ```
    pub fn count(&self, text: &str) -> usize {
        let mut count = 0;
        match self.work.try_lock() {
            Ok(mut work) => self.encode_with(&mut work, text, &mut count),
            Err(_) => self.encode_with(&mut Work::new(0), text, &mut count),
        }
        count
    }

    fn encode_with(&self, work: &mut Work, text: &str, out: &mut impl Output) {
        let mut to = Ids { vocabulary: &self.vocabulary, work, text: text.as_bytes(), out };
        split(text, &mut to);
        to.flush();
    }

    /// The bytes of a token.
    #[inline]
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        self.vocabulary.tokens().bytes(id)
    }

    /// Adds the bytes of tokens to `bytes`, and to `starts` where each of them begins there. It
    /// stops before an id that is no token, and gives how many it added.
    ///
    /// ```
    /// let encoder = openchatml_o200k::Encoder::default();
    /// let (mut bytes, mut starts) = (Vec::new(), Vec::new());
    /// let ids = [13225, 11, 2375, 0, 300_000, 13225];
    /// assert_eq!(encoder.decode(&ids, &mut bytes, &mut starts), 4);
    /// assert_eq!((bytes.as_slice(), starts.as_slice()), (&b"Hello, world!"[..], &[0, 5, 6, 12][..]));
    /// ```
    pub fn decode(&self, ids: &[u32], bytes: &mut Vec<u8>, starts: &mut Vec<usize>) -> usize {
        self.vocabulary.tokens().decode(ids, bytes, starts)
    }

    /// Says that a token is asked for soon, so that it need not be waited for.
    ///
    /// ```
    /// let encoder = openchatml_o200k::Encoder::default();
    /// encoder.prefetch(13225);
    /// assert_eq!(encoder.text(13225), Some("Hello"));
    /// ```
    #[inline]
    pub fn prefetch(&self, id: u32) {
        self.vocabulary.tokens().prefetch(id);
    }

    /// The text of a token, if it is text: most are, some are parts of characters.
    ///
    /// ```
    /// let encoder = openchatml_o200k::Encoder::default();
    /// assert_eq!(encoder.text(13225), Some("Hello"));
    /// assert_eq!((encoder.text(94), encoder.token(94)), (None, Some([0xA1].as_slice())));
    /// ```
    #[inline]
    pub fn text(&self, id: u32) -> Option<&str> {
        self.vocabulary.tokens().text(id)
    }
}

impl Default for Encoder {
    /// With a cache of [`Self::CACHE_BYTES`].
    fn default() -> Self {
        Self::with_cache(Self::CACHE_BYTES)
    }
}

/// What encoding uses again and again.
#[derive(Debug)]
struct Work {
    cache: Cache,
    batch: Batch,
}

impl Work {
    fn new(cache_bytes: usize) -> Self {
        Self { cache: Cache::new(cache_bytes), batch: Batch::default() }
    }
}

/// Makes pieces of a text into ids.
struct Ids<'e, O> {
    vocabulary: &'e Vocabulary,
    work: &'e mut Work,
    text: &'e [u8],
    out: &'e mut O,
}

impl<O: Output> Ids<'_, O> {
    /// Adds the ids of the pieces so far.
    fn flush(&mut self) {
        let Work { cache, batch } = &mut *self.work;
        batch.flush(self.vocabulary, cache, self.text, self.out);
    }

    /// Takes a piece that is not short.
    #[cold]
    #[inline(never)]
    fn long(&mut self, start: usize, end: usize) {
        if self.work.batch.room() == 0 {
            self.flush();
        }
        self.work.batch.add_long(&self.work.cache, self.text, start, end);
    }
}

impl<O: Output> Pieces for Ids<'_, O> {
    #[inline(always)]
    fn window(&mut self, at: usize, window: &[u8; WINDOW], mut ends: Places) {
        if self.work.batch.room() < 64 {
            self.flush();
        }
        let Work { cache, batch } = &mut *self.work;
        let mut start = 0;
        while let Some(long) = batch.add_all(cache, window, start, &mut ends) {
            let end = if ends.set == 0 { ends.last } else { ends.set.trailing_zeros() };
            batch.add_long(cache, self.text, at + long as usize, at + end as usize);
            if ends.set == 0 {
                break;
            }
            ends.set &= ends.set - 1;
            start = end;
        }
    }

    fn piece(&mut self, mut start: usize, end: usize) {
        while start < end {
            let piece = &self.text[start..end];
            let length = match piece.len() {
                ..=SHORT => piece.len(),
                _ => part(piece),
            };
            if length > SHORT {
                self.long(start, start + length);
            } else {
                if self.work.batch.room() == 0 {
                    self.flush();
                }
                self.work.batch.add(&self.work.cache, Key::new(&piece[..length]));
            }
            start += length;
        }
    }
}
