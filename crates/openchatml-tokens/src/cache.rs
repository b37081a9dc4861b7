//! Prompts that grow: only what is new is encoded.

use openchatml::convert::Prepared;
use openchatml::{Document, RenderError, RenderOptions};
use quick_cache::Weighter;
use quick_cache::unsync::Cache;

use crate::encoding::Encoding;
use crate::sink::{Rendered, Target, Written};
use crate::tokenizer::Tokenizer;

/// A tokenizer that remembers the ids of what it wrote: of the next turn of a conversation, only
/// the new messages are encoded. The ids are the same as without it.
///
/// Messages are encoded each for itself, so it does not matter in which conversation one comes
/// again, or what was dropped before it. What is remembered is bounded: what was not used for long
/// makes room.
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

/// What a [`PromptCache`] did so far, and how much it holds.
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
    /// How many texts were found. Very short ones are not looked for.
    pub hits: u64,
    /// How many were not.
    pub misses: u64,
    /// How many texts are remembered.
    pub texts: usize,
    /// How many bytes they take, with their ids.
    pub bytes: u64,
}

impl<E: Encoding> PromptCache<E> {
    /// A cache that takes about so many bytes at most.
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
        // A guess at the length of messages: it decides how much is allocated at first.
        let cache = Cache::with_weighter((bytes / 4096).max(16), bytes as u64, Weight);
        Self { tokenizer, texts: Texts { cache, hits: 0, misses: 0 } }
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer<E> {
        &self.tokenizer
    }

    /// Writes a document as ids: the same as [`Tokenizer::render`].
    ///
    /// # Errors
    ///
    /// As for [`Tokenizer::render`].
    pub fn render(
        &mut self,
        document: &Document<'_>,
        options: &RenderOptions,
    ) -> Result<Rendered, RenderError> {
        let target = Remembering { ids: Vec::new(), texts: &mut self.texts };
        let Written { target, spans, spelled } = self.tokenizer.write(document, options, target)?;
        Ok(Rendered { ids: target.ids, spans, spelled })
    }

    /// Writes a document that is prepared for this format as ids: the same as
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
        let target = Remembering { ids: Vec::new(), texts: &mut self.texts };
        let Written { target, spans, spelled } =
            self.tokenizer.write_prepared(prepared, options, target)?;
        Ok(Rendered { ids: target.ids, spans, spelled })
    }

    /// What it did so far.
    pub fn statistics(&self) -> CacheStatistics {
        let Texts { cache, hits, misses } = &self.texts;
        CacheStatistics { hits: *hits, misses: *misses, texts: cache.len(), bytes: cache.weight() }
    }
}

/// Shorter texts are encoded as fast as they are found.
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
        // What an entry takes besides.
        const ENTRY: usize = 64;
        (text.len() + size_of_val::<[u32]>(ids) + ENTRY) as u64
    }
}

/// A list of ids, with a memory.
struct Remembering<'c> {
    ids: Vec<u32>,
    texts: &'c mut Texts,
}

impl Target for Remembering<'_> {
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
