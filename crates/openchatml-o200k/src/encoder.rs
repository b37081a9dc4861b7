//! The encoder.

use std::sync::{Arc, Mutex};

use crate::batch::{Batch, Output};
use crate::cache::Cache;
use crate::hash::{Key, SHORT};
use crate::split::{Pieces, Places, WINDOW, split};
use crate::vocabulary::{Vocabulary, part};

/// An encoder of ordinary text with the vocabulary of `o200k_base`.
///
/// Threads can share it, but only one thread at a time uses its cache; others encode without it. A
/// thread that encodes much text should have its own encoder: see [`Self::another`].
#[derive(Debug)]
pub struct Encoder {
    vocabulary: Arc<Vocabulary>,
    work: Mutex<Box<Work>>,
    cache_bytes: usize,
}

impl Encoder {
    /// The default size of the cache, in bytes.
    pub const CACHE_BYTES: usize = 16 << 20;

    /// Creates an encoder with a cache of at most this many bytes (and about one in forty more for
    /// long pieces). The memory is allocated when it is needed.
    pub fn with_cache(bytes: usize) -> Self {
        Self::of(Arc::new(Vocabulary::load()), bytes)
    }

    /// Creates an encoder with the same vocabulary and its own cache.
    pub fn another(&self) -> Self {
        Self::of(Arc::clone(&self.vocabulary), self.cache_bytes)
    }

    /// Creates an encoder with the same vocabulary and its own cache of at most this many bytes.
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

    /// Returns the number of ids of a text, without creating them.
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

    /// Returns the bytes of a token.
    #[inline]
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        self.vocabulary.tokens().bytes(id)
    }

    /// Appends the bytes of tokens to `bytes`, and their starts to `starts`. Stops before an id
    /// that is not a token. Returns how many were added.
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

    /// Prefetches a token that will be needed soon.
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

    /// Returns the text of a token, if it is valid text. Some tokens are parts of characters.
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
    /// Creates an encoder with a cache of [`Self::CACHE_BYTES`].
    fn default() -> Self {
        Self::with_cache(Self::CACHE_BYTES)
    }
}

/// The buffers that encoding reuses.
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

/// Converts the pieces of a text to ids.
struct Ids<'e, O> {
    vocabulary: &'e Vocabulary,
    work: &'e mut Work,
    text: &'e [u8],
    out: &'e mut O,
}

impl<O: Output> Ids<'_, O> {
    /// Encodes the pieces so far.
    fn flush(&mut self) {
        let Work { cache, batch } = &mut *self.work;
        batch.flush(self.vocabulary, cache, self.text, self.out);
    }

    /// Adds a piece that is not short.
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
