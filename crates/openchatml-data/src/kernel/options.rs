//! What a kernel reads and writes.

use std::fmt;
use std::sync::Arc;

use openchatml::{Code, Format, ReadOptions, RenderOptions, TextFormat, Tool, lint};
use openchatml_tokens::{Encoding, MaskPolicy};

use crate::record::{Consent, Purpose, RecordFormat};

/// An encoding that threads can share.
pub trait SharedEncoding: Encoding + fmt::Debug + Send + Sync {}

impl<E: Encoding + fmt::Debug + Send + Sync> SharedEncoding for E {}

/// Creates the encoding of a thread. Encodings with a cache of their own are created for each
/// thread, others are shared.
pub type EncodingOfThread = Arc<dyn Fn() -> Box<dyn SharedEncoding> + Send + Sync>;

/// The options of a [`Kernel`](super::Kernel).
///
/// ```
/// use openchatml::Format;
/// use openchatml_data::kernel::{KernelOptions, Task};
///
/// let mut options = KernelOptions::new(Task::Convert { to: Format::CHATML });
/// options.column = Some("messages".to_owned());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KernelOptions {
    /// The column with the conversations. Without one, each row is a record: an object with its
    /// columns as keys. A table with one column has only this column.
    pub column: Option<String>,
    /// The columns that are kept beside the conversations. If each row is a record, they are read, too,
    /// if they are [a part of it](openchatml::is_part_of_record).
    pub keep: Vec<String>,
    /// Whether the texts of the column are lines of JSONL: a document in a JSON format, a JSON
    /// string with the text of one, or an object with this text as `text`. Otherwise, they are
    /// documents themselves.
    pub lines: bool,
    /// The format of the conversations.
    pub from: RecordFormat,
    /// The options of the readers.
    pub read: ReadOptions,
    /// What may be lost.
    pub consent: Consent,
    /// What the conversations are written for.
    pub purpose: Purpose,
    /// The options of the writers.
    pub render: RenderOptions,
    /// The tools to declare instead of those of the conversations.
    pub tools: Option<Vec<Tool<'static>>>,
    /// What is made of each conversation.
    pub task: Task,
}

/// What a kernel makes of each conversation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Task {
    /// Its text in this format: the column `text`.
    Convert {
        /// The format.
        to: Format,
    },
    /// Its token ids: the columns `ids`, `mask`, `weights` and `spans`.
    Tokenize(TokenizeOptions),
    /// What is wrong with it: the column `findings`.
    Check {
        /// The lints. With [`Code::Duplicate`], there is also the column `fingerprint`: a number
        /// that equal conversations share, or null for records without messages.
        lints: Vec<Code>,
    },
    /// The number of its messages, bytes and ids by role and channel: the column `counts`.
    Count(Option<Tokens>),
    /// A number that equal conversations share, and the signature of its words: the columns
    /// `fingerprint` and `signature`.
    Fingerprint {
        /// The number of hashes in the signature; 0 for none.
        hashes: usize,
    },
}

/// Ids of a text format in an encoding.
#[derive(Clone)]
#[non_exhaustive]
pub struct Tokens {
    /// The format.
    pub format: TextFormat,
    /// The encoding.
    pub encoding: EncodingOfThread,
    /// Whether control tokens without an id may be written as ordinary text.
    pub may_spell: bool,
}

/// How to write token ids.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TokenizeOptions {
    /// The format and the encoding.
    pub tokens: Tokens,
    /// Which ids are trained.
    pub mask: MaskPolicy,
    /// The maximum number of ids.
    pub max_length: Option<usize>,
    /// What to do with longer conversations.
    pub too_long: TooLong,
}

/// What to do with conversations that have too many ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TooLong {
    /// Reject them.
    #[default]
    Reject,
    /// Drop their oldest exchanges, and reject them if that is not enough.
    Truncate,
}

impl KernelOptions {
    /// Creates the options for a task. Records are read in whatever format each is in.
    pub fn new(task: Task) -> Self {
        Self {
            column: None,
            keep: Vec::new(),
            lines: false,
            from: RecordFormat::Each(Format::JSON),
            read: ReadOptions::default(),
            consent: Consent::default(),
            purpose: Purpose::default(),
            render: RenderOptions::default(),
            tools: None,
            task,
        }
    }
}

impl Tokens {
    /// Writes ids of a text format in the encodings that the function creates.
    ///
    /// ```
    /// use openchatml::TextFormat;
    /// use openchatml_data::kernel::Tokens;
    /// use openchatml_tokens::ByteEncoding;
    ///
    /// let tokens = Tokens::new(TextFormat::CHATML, || Box::new(ByteEncoding::default()));
    /// assert!(!tokens.may_spell);
    /// ```
    pub fn new(
        format: TextFormat,
        encoding: impl Fn() -> Box<dyn SharedEncoding> + Send + Sync + 'static,
    ) -> Self {
        Self { format, encoding: Arc::new(encoding), may_spell: false }
    }
}

impl TokenizeOptions {
    /// Writes all ids of each conversation.
    pub fn new(tokens: Tokens) -> Self {
        let (mask, max_length, too_long) = (MaskPolicy::default(), None, TooLong::default());
        Self { tokens, mask, max_length, too_long }
    }
}

impl Task {
    /// Checks with all lints for samples of data sets.
    pub fn check() -> Self {
        Self::Check { lints: lint::SAMPLE.to_vec() }
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Tokens");
        debug.field("format", &self.format).field("may_spell", &self.may_spell);
        debug.finish_non_exhaustive()
    }
}
