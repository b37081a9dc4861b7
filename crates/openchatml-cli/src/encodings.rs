//! Encodings that the command line names.

use std::fmt::Debug;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use openchatml::Format;
use openchatml_tokens::{Encoding, HuggingFace, O200kHarmony, Tiktoken, Tokenizer};

use crate::args::{Bounds, Choice, ReadArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::input::Origin;

/// The encoding if none is named.
pub(crate) const O200K_HARMONY: &str = "o200k_harmony";

/// What threads encode with.
pub(crate) trait Usable: Encoding + Debug + Send + Sync {}

impl<E: Encoding + Debug + Send + Sync> Usable for E {}

/// An encoding that one thread uses.
pub(crate) type OneEncoding = Box<dyn Usable>;

/// Encodings of one kind, for as many threads as want one.
#[derive(Clone, Debug)]
pub(crate) enum Encodings {
    /// Each has a cache of its own.
    O200kHarmony,
    /// All share one.
    File(Arc<dyn Usable>),
}

impl Encodings {
    /// The encoding of this name, or the one that this file describes.
    ///
    /// # Errors
    ///
    /// There is no such file, or it describes none.
    pub(crate) fn open(name: &str, console: &Console) -> Result<Self, Failure> {
        if name == O200K_HARMONY {
            return Ok(Self::O200kHarmony);
        }
        let path = Path::new(name);
        if !path.exists() {
            let text = format!("`{name}` is neither an encoding ({O200K_HARMONY}) nor a file");
            return Err(Failure::Usage(text));
        }
        let file = Origin::File(path.to_owned()).read(Bounds::default().input_bytes, console)?;
        let is_json = file.trim_ascii_start().starts_with(b"{");
        let encoding: Result<Arc<dyn Usable>, _> = match is_json {
            true => HuggingFace::from_json(&file).map(|encoding| {
                if !encoding.changes().is_empty() {
                    let changes = encoding.changes().join(", ");
                    console.detail(&format!(
                        "{name}: text is changed before it is encoded: {changes}"
                    ));
                }
                Arc::new(encoding) as _
            }),
            false => Tiktoken::from_known(&file).map(|encoding| Arc::new(encoding) as _),
        };
        let kind = if is_json { "tokenizer.json" } else { "rank file" };
        let refused =
            |error| Failure::Refused(format!("{name}: no {kind} that can be used: {error}"));
        encoding.map(Self::File).map_err(refused)
    }

    /// The encodings that a command needs: if it reads token ids, or `writes` or counts them.
    ///
    /// # Errors
    ///
    /// There is no such file, or it describes none.
    pub(crate) fn wanted(
        read: &ReadArgs,
        writes: bool,
        console: &Console,
    ) -> Result<Option<Self>, Failure> {
        let is_needed = writes || matches!(read.from, Choice::Tokens(_));
        is_needed.then(|| Self::open(&read.encoding, console)).transpose()
    }

    /// One of them.
    pub(crate) fn one(&self) -> OneEncoding {
        match self {
            Self::O200kHarmony => Box::new(O200kHarmony::default()),
            Self::File(encoding) => Box::new(Arc::clone(encoding)),
        }
    }
}

/// Tokenizers of one format, for as many threads as want one.
#[derive(Clone, Debug)]
pub(crate) struct Tokenizers {
    format: Format,
    encodings: Encodings,
    /// Those that nobody uses at the moment: each may have a cache of its own.
    idle: Arc<Mutex<Vec<Tokenizer<OneEncoding>>>>,
}

impl Tokenizers {
    /// Tokenizers of a format that has a text form.
    pub(crate) fn new(format: Format, encodings: Encodings) -> Self {
        Self { format, encodings, idle: Arc::default() }
    }

    /// Does something with one of them.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&Tokenizer<OneEncoding>) -> T) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let known = idle().pop();
        let tokenizer = known.unwrap_or_else(|| {
            Tokenizer::new(self.format, self.encodings.one()).expect("a text format")
        });
        let done = act(&tokenizer);
        idle().push(tokenizer);
        done
    }
}
