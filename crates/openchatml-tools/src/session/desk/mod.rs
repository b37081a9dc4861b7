//! Storage for the transcript of a session, so that a crash loses nothing.

mod file;
mod guard;
mod journal;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use openchatml::Message;

use self::file::Place;
pub(super) use self::journal::Fate;
use self::journal::Journal;
use crate::Toolbox;

/// Where a session keeps its transcript, so that a crash loses nothing.
///
/// The transcript is a file that changes from one moment to the next or not at all, at the end of
/// each turn. Beside it, while a turn goes on, is a journal, `.NAME.ocml-journal`: a line for what
/// the model said up to each call, a line before each call that may not be made twice, and a line
/// for each reply. After a crash it tells what the transcript does not say yet.
///
/// While a desk is open, no other process can open it.
///
/// ```
/// use openchatml_tools::{Desk, DeskError};
///
/// # let folder = std::env::temp_dir().join(format!("ocml-desk-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("chat.ocml");
/// let desk = Desk::open(&path)?;
/// assert!(matches!(Desk::open(&path), Err(DeskError::Busy)));
/// drop(desk);
/// assert!(Desk::open(&path).is_ok());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Desk {
    place: Place,
    journal: Arc<Journal>,
    /// The checksum of the transcript, as it is on the disk.
    checksum: Mutex<String>,
}

/// The error of a desk that cannot be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum DeskError {
    /// Another session works at it.
    Busy,
    /// The journal is there, but what it says makes no sense.
    Damaged {
        /// The journal.
        journal: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
    /// A file cannot be read or written.
    Io(io::Error),
}

impl From<io::Error> for DeskError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for DeskError {
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

impl std::error::Error for DeskError {}

impl Desk {
    /// The desk with the transcript at this path, which need not exist yet.
    ///
    /// # Errors
    ///
    /// Another session uses the desk (detected after half a second), or its journal cannot be read.
    pub fn open(transcript: &Path) -> Result<Self, DeskError> {
        let place = Place::of(transcript)?;
        let journal = Arc::new(Journal::open(&place.beside("journal"))?);
        let checksum = match std::fs::read(transcript) {
            Ok(text) => checksum(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => checksum(b""),
            Err(error) => return Err(error.into()),
        };
        Ok(Self { place, journal, checksum: Mutex::new(checksum) })
    }

    /// Wraps the tools so that each call that must not run twice is recorded before it runs. The
    /// router of a session with a desk must have these tools.
    #[must_use]
    pub fn guard(&self, tools: &Toolbox) -> Toolbox {
        guard::guarded(tools, &self.journal)
    }

    /// Puts a new text in the place of the transcript.
    pub(super) fn save(&self, text: &str) -> io::Result<()> {
        self.place.replace(text.as_bytes())?;
        *self.checksum() = checksum(text.as_bytes());
        Ok(())
    }

    fn checksum(&self) -> MutexGuard<'_, String> {
        self.checksum.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what the model said after what the transcript says, or was noted before.
    pub(super) fn said(&self, messages: &[Message<'static>]) -> io::Result<()> {
        let checksum = self.checksum().clone();
        self.journal.said(&checksum, messages)
    }

    /// What the model said before a crash, and the transcript does not say. It is told once.
    pub(super) fn recover(&self) -> Vec<Message<'static>> {
        self.journal.recover(&self.checksum())
    }

    /// A call whose fate is known is written otherwise in the transcript that is saved next.
    pub(super) fn mark_again(&self, call_id: &str, mark: u64, fate: &Fate) -> io::Result<()> {
        self.journal.mark_again(call_id, mark, fate)
    }

    /// What became of a call before the session began.
    pub(super) fn fate(&self, call_id: &str, mark: u64) -> Fate {
        self.journal.fate(call_id, mark)
    }

    /// Takes note of the calls that may be made next.
    pub(super) fn expect(&self, call_id: &str, mark: u64) {
        self.journal.expect(call_id, mark);
    }

    /// Takes note of the reply to a call.
    pub(super) fn replied(&self, call_id: &str, reply: &Message<'static>) -> io::Result<()> {
        self.journal.replied(call_id, reply)
    }

    /// Forgets all calls: the transcript has their replies.
    pub(super) fn clear(&self) -> io::Result<()> {
        self.journal.clear()
    }
}

/// Transcripts with the same checksum are the same.
fn checksum(text: &[u8]) -> String {
    crate::router::checksum(text)
}
