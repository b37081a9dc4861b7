//! Storage for the transcript of a session, so that a crash loses nothing.

mod atomic_file;
mod journal;
mod recorded_tool;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use openchatml::Message;

use self::atomic_file::AtomicFile;
pub(super) use self::journal::CallState;
use self::journal::Journal;
use crate::Toolbox;

/// Stores the transcript of a session, so that a crash loses nothing.
///
/// The transcript is a file that is replaced atomically at the end of each turn. During a turn, a
/// journal `.NAME.ocml-journal` in the same directory has one line for the output of the model up
/// to each call, one line before each call that must not run twice, and one line for each reply.
/// After a crash, the journal contains what the transcript does not contain yet.
///
/// While a store is open, no other process can open it.
///
/// ```
/// use openchatml_tools::{TranscriptStore, TranscriptStoreError};
///
/// # let folder = std::env::temp_dir().join(format!("ocml-desk-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("chat.ocml");
/// let store = TranscriptStore::open(&path)?;
/// assert!(matches!(TranscriptStore::open(&path), Err(TranscriptStoreError::Busy)));
/// drop(store);
/// assert!(TranscriptStore::open(&path).is_ok());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TranscriptStore {
    place: AtomicFile,
    journal: Arc<Journal>,
    /// The checksum of the transcript on the disk.
    checksum: Mutex<String>,
}

/// The error of a store that cannot be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum TranscriptStoreError {
    /// Another session uses the transcript.
    Busy,
    /// The journal contains an invalid line.
    Damaged {
        /// The journal.
        journal: PathBuf,
        /// The number of the line, from 1.
        line: usize,
    },
    /// A file cannot be read or written.
    Io(io::Error),
}

impl From<io::Error> for TranscriptStoreError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for TranscriptStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("another session uses this transcript"),
            Self::Damaged { journal, line } => {
                let journal = journal.display().to_string();
                write!(f, "line {line} of the journal `{}` is invalid", journal.escape_debug())
            }
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TranscriptStoreError {}

impl TranscriptStore {
    /// Opens the store of the transcript at this path. The file need not exist yet.
    ///
    /// # Errors
    ///
    /// Another session uses the transcript (detected after half a second), or its journal cannot be
    /// read.
    pub fn open(transcript: &Path) -> Result<Self, TranscriptStoreError> {
        let place = AtomicFile::of(transcript)?;
        let journal = Arc::new(Journal::open(&place.beside("journal"))?);
        let checksum = match std::fs::read(transcript) {
            Ok(text) => checksum(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => checksum(b""),
            Err(error) => return Err(error.into()),
        };
        Ok(Self { place, journal, checksum: Mutex::new(checksum) })
    }

    /// Wraps the tools so that each call that must not run twice is recorded before it runs. The
    /// router of a session with a store must have these tools.
    #[must_use]
    pub fn record_calls(&self, tools: &Toolbox) -> Toolbox {
        recorded_tool::guarded(tools, &self.journal)
    }

    /// Replaces the transcript.
    pub(super) fn save(&self, text: &str) -> io::Result<()> {
        self.place.replace(text.as_bytes())?;
        *self.checksum() = checksum(text.as_bytes());
        Ok(())
    }

    fn checksum(&self) -> MutexGuard<'_, String> {
        self.checksum.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records output of the model that follows the transcript and the output recorded before.
    pub(super) fn record_output(&self, messages: &[Message<'static>]) -> io::Result<()> {
        let checksum = self.checksum().clone();
        self.journal.record_output(&checksum, messages)
    }

    /// Returns the output of the model before a crash that the transcript does not contain. A
    /// second call returns nothing.
    pub(super) fn recover(&self) -> Vec<Message<'static>> {
        self.journal.recover(&self.checksum())
    }

    /// Records a new fingerprint of a call, because the next version of the transcript spells it
    /// differently.
    pub(super) fn change_fingerprint(
        &self,
        call_id: &str,
        fingerprint: u64,
        call_state: &CallState,
    ) -> io::Result<()> {
        self.journal.change_fingerprint(call_id, fingerprint, call_state)
    }

    /// Returns the state of a call before this session.
    pub(super) fn call_state(&self, call_id: &str, fingerprint: u64) -> CallState {
        self.journal.call_state(call_id, fingerprint)
    }

    /// Sets the fingerprint of a call that may start next.
    pub(super) fn expect_call(&self, call_id: &str, fingerprint: u64) {
        self.journal.expect_call(call_id, fingerprint);
    }

    /// Records the reply to a call.
    pub(super) fn record_reply(&self, call_id: &str, reply: &Message<'static>) -> io::Result<()> {
        self.journal.record_reply(call_id, reply)
    }

    /// Removes all records, after the transcript contains all replies.
    pub(super) fn clear(&self) -> io::Result<()> {
        self.journal.clear()
    }
}

/// The SHA-256 checksum that identifies a version of the transcript.
fn checksum(text: &[u8]) -> String {
    crate::router::checksum(text)
}
