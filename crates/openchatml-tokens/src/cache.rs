//! A cache for growing prompts: only new messages are encoded.

use openchatml::convert::Prepared;
use openchatml::{Document, RenderError, RenderOptions};
use quick_cache::Weighter;
use quick_cache::unsync::Cache;

use crate::encoding::Encoding;
use crate::sink::{Rendered, Target, WrittenIds};
use crate::tokenizer::Tokenizer;

/// A tokenizer that caches the ids of the texts that it encoded. For the next turn of a
/// conversation, it encodes only the new messages. The ids are the same as without the cache.
///
/// Each message is encoded separately. A message is found again in any conversation, even if other
/// messages before it were dropped. The size of the cache is limited: entries that were not used
/// for a long time are removed.
///
/// ```
/// use openchatml::{Conversation, Message, Role, TextFormat};
/// use openchatml_tokens::{ByteEncoding, PromptCache, Tokenizer};
///
/// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
/// let mut prompts = PromptCache::new(tokenizer, 1 << 20);
/// let question = "Why is the sky blue, and why is it red in the evening?";
/// let mut conversation = Conversation::from_messages([Message::new(Role::User, question)]);
/// let first = prompts.render(&conversation.clone().into(), &Default::default())?;
/// conversation.messages.push(Message::answer("Because blue light is scattered more than red."));
/// let second = prompts.render(&conversation.into(), &Default::default())?;
/// assert!(first.is_prefix_of(&second));
/// let statistics = prompts.statistics();
/// assert_eq!((statistics.hits, statistics.misses), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PromptCache<E> {
    tokenizer: Tokenizer<E>,
    texts: Texts,
}

/// Statistics of a [`PromptCache`].
///
/// ```
/// use openchatml::TextFormat;
/// use openchatml_tokens::{ByteEncoding, PromptCache, Tokenizer};
///
/// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
/// let statistics = PromptCache::new(tokenizer, 1 << 20).statistics();
/// assert_eq!((statistics.hits, statistics.texts, statistics.bytes), (0, 0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStatistics {
    /// The number of texts that were found. Very short texts are never cached.
    pub hits: u64,
    /// The number of texts that were not found.
    pub misses: u64,
    /// The number of cached texts.
    pub texts: usize,
    /// The size of the cached texts and their ids, in bytes.
    pub bytes: u64,
}

impl<E: Encoding> PromptCache<E> {
    /// Creates a cache with this approximate maximum size in bytes.
    ///
    /// ```
    /// use openchatml::TextFormat;
    /// use openchatml_tokens::{ByteEncoding, PromptCache, Tokenizer};
    ///
    /// let tokenizer = Tokenizer::new(TextFormat::HARMONY, ByteEncoding::default());
    /// let prompts = PromptCache::new(tokenizer, 16 << 20);
    /// assert_eq!(prompts.tokenizer().spelled(), []);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(tokenizer: Tokenizer<E>, bytes: usize) -> Self {
        // An estimate of the message length. It determines the initial allocation.
        let cache = Cache::with_weighter((bytes / 4096).max(16), bytes as u64, Weight);
        Self { tokenizer, texts: Texts { cache, hits: 0, misses: 0 } }
    }

    /// Returns the tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer<E> {
        &self.tokenizer
    }

    /// Writes a document as ids, like [`Tokenizer::render`].
    ///
    /// # Errors
    ///
    /// As for [`Tokenizer::render`].
    pub fn render(
        &mut self,
        document: &Document<'_>,
        options: &RenderOptions,
    ) -> Result<Rendered, RenderError> {
        let target = CachingTarget { ids: Vec::new(), texts: &mut self.texts };
        let WrittenIds { target, spans, spelled } =
            self.tokenizer.write(document, options, target)?;
        Ok(Rendered { ids: target.ids, spans, spelled })
    }

    /// Writes a document that is prepared for this format as ids, like
    /// [`Tokenizer::render_prepared`].
    ///
    /// # Errors
    ///
    /// As for [`Tokenizer::render_prepared`].
    pub fn render_prepared(
        &mut self,
        prepared: &Prepared<'_>,
        options: &RenderOptions,
    ) -> Result<Rendered, RenderError> {
        let target = CachingTarget { ids: Vec::new(), texts: &mut self.texts };
        let WrittenIds { target, spans, spelled } =
            self.tokenizer.write_prepared(prepared, options, target)?;
        Ok(Rendered { ids: target.ids, spans, spelled })
    }

    /// Returns the statistics.
    pub fn statistics(&self) -> CacheStatistics {
        let Texts { cache, hits, misses } = &self.texts;
        CacheStatistics { hits: *hits, misses: *misses, texts: cache.len(), bytes: cache.weight() }
    }
}

/// Shorter texts are not cached, because encoding them is as fast as a lookup.
const SHORT: usize = 32;

/// The ids of texts.
#[derive(Debug)]
struct Texts {
    cache: Cache<Box<str>, Box<[u32]>, Weight>,
    hits: u64,
    misses: u64,
}

impl Texts {
    /// Adds the ids of a text to `ids`.
    fn encode(&mut self, encoding: &impl Encoding, text: &str, ids: &mut Vec<u32>) {
        if text.len() < SHORT {
            return encoding.encode(text, ids);
        }
        if let Some(known) = self.cache.get(text) {
            self.hits += 1;
            return ids.extend_from_slice(known);
        }
        self.misses += 1;
        let start = ids.len();
        encoding.encode(text, ids);
        self.cache.insert(text.into(), ids[start..].into());
    }
}

#[derive(Clone, Debug)]
struct Weight;

impl Weighter<Box<str>, Box<[u32]>> for Weight {
    fn weight(&self, text: &Box<str>, ids: &Box<[u32]>) -> u64 {
        // The approximate overhead of an entry, in bytes.
        const ENTRY: usize = 64;
        (text.len() + size_of_val::<[u32]>(ids) + ENTRY) as u64
    }
}

/// A list of ids that caches the ids of texts.
struct CachingTarget<'c> {
    ids: Vec<u32>,
    texts: &'c mut Texts,
}

impl Target for CachingTarget<'_> {
    fn text<E: Encoding>(&mut self, encoding: &E, text: &str) {
        self.texts.encode(encoding, text, &mut self.ids);
    }

    fn encode<E: Encoding>(&mut self, encoding: &E, text: &str, ids: &mut Vec<u32>) {
        self.texts.encode(encoding, text, ids);
    }

    fn ids(&mut self, ids: &[u32]) {
        self.ids.extend_from_slice(ids);
    }

    fn len(&self) -> usize {
        self.ids.len()
    }
}
