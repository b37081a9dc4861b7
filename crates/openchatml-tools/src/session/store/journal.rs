//! The journal: the data that is not in the transcript yet. It contains the output of the model in
//! the current turn, the calls that started, and their outcomes.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use openchatml::{Conversation, Format, Message, ReadOptions, RenderOptions, parse, render};
use serde_json::{Value, json};

use super::TranscriptStoreError;
use super::atomic_file::{is_at, sync_folder};

/// A file with one record per line: each call that starts and must not run twice, each reply, and
/// the messages up to each call. It is necessary because the transcript is written only at the end
/// of a turn.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The file is locked while it is open.
    file: File,
    /// The records that the file had when it was opened.
    past: JournalEntries,
    /// The fingerprints of the calls that may start, by their ids.
    fingerprints: HashMap<String, u64>,
    is_empty: bool,
}

/// How far a call came before a crash.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::session) enum CallState {
    /// The call did not start, or it may run twice.
    #[default]
    NotStarted,
    /// The call started before a crash. Its result is unknown.
    Started,
    /// The call has this reply.
    Replied(Box<Message<'static>>),
}

/// The states of calls, and messages with the checksum of the transcript that they follow.
#[derive(Debug, Default)]
struct JournalEntries {
    call_states: HashMap<(String, u64), CallState>,
    outputs: Vec<(String, Vec<Message<'static>>)>,
}

impl Journal {
    /// Opens and locks the journal at this path.
    pub(super) fn open(path: &Path) -> Result<Self, TranscriptStoreError> {
        let mut file = locked(path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let damaged = |line| TranscriptStoreError::Damaged { journal: path.to_owned(), line };
        let past = records(&text).map_err(damaged)?;
        // Remove an incomplete last line: with another line after it, it would look like damage.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        file.set_len(u64::try_from(whole).map_err(io::Error::other)?)?;
        let state = State { file, past, fingerprints: HashMap::new(), is_empty: whole == 0 };
        Ok(Self { path: path.to_owned(), state: Mutex::new(state) })
    }

    /// A poisoned lock is fine: nothing panics while it holds the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn call_state(&self, call_id: &str, fingerprint: u64) -> CallState {
        let call_state =
            self.state().past.call_states.get(&(call_id.to_owned(), fingerprint)).cloned();
        call_state.unwrap_or_default()
    }

    pub(super) fn expect_call(&self, call_id: &str, fingerprint: u64) {
        self.state().fingerprints.insert(call_id.to_owned(), fingerprint);
    }

    /// Records that a call starts.
    pub(super) fn record_start(&self, call_id: &str) -> io::Result<()> {
        self.write_call(call_id, "begun", Value::Bool(true))
    }

    /// Records the reply to a call.
    pub(super) fn record_reply(&self, call_id: &str, reply: &Message<'static>) -> io::Result<()> {
        let reply = json(std::slice::from_ref(reply))?;
        self.write_call(call_id, "reply", reply)
    }

    fn write_call(&self, call_id: &str, what: &str, value: Value) -> io::Result<()> {
        let fingerprint = self.state().fingerprints.get(call_id).copied().unwrap_or_default();
        let line = json!({"call_id": call_id, "mark": format!("{fingerprint:016x}"), what: value});
        self.write(&line)
    }

    /// Records output of the model that follows the transcript with this checksum.
    pub(super) fn record_output(
        &self,
        checksum: &str,
        messages: &[Message<'static>],
    ) -> io::Result<()> {
        self.write(&json!({"transcript": checksum, "said": json(messages)?}))
    }

    /// Returns the output of the model before a crash that follows the transcript with this
    /// checksum.
    pub(super) fn recover(&self, checksum: &str) -> Vec<Message<'static>> {
        let outputs = std::mem::take(&mut self.state().past.outputs);
        let outputs = outputs.into_iter().filter(|(transcript, _)| transcript == checksum);
        outputs.flat_map(|(_, messages)| messages).collect()
    }

    /// Records the state of a call under the fingerprint that it has in the transcript from now on.
    pub(super) fn change_fingerprint(
        &self,
        call_id: &str,
        fingerprint: u64,
        call_state: &CallState,
    ) -> io::Result<()> {
        self.expect_call(call_id, fingerprint);
        match call_state {
            CallState::NotStarted => Ok(()),
            CallState::Started => self.record_start(call_id),
            CallState::Replied(reply) => self.record_reply(call_id, reply),
        }
    }

    /// Appends a line. It is on the disk when this returns.
    fn write(&self, line: &Value) -> io::Result<()> {
        let mut state = self.state();
        state.is_empty = false;
        state.file.seek(io::SeekFrom::End(0))?;
        state.file.write_all(format!("{line}\n").as_bytes())?;
        state.file.sync_data()
    }

    /// Removes all records.
    pub(super) fn clear(&self) -> io::Result<()> {
        let mut state = self.state();
        state.past = JournalEntries::default();
        state.fingerprints.clear();
        if !state.is_empty {
            state.file.set_len(0)?;
            state.is_empty = true;
        }
        Ok(())
    }
}

/// Removes an empty journal.
impl Drop for Journal {
    fn drop(&mut self) {
        let is_empty = self.state().is_empty;
        if is_empty && cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// How often to try to lock the file, and the pause between two tries. If a process is killed while
/// it starts a program, the program holds the lock for a moment until `exec`.
const TRIES: u32 = 25;
const PAUSE: Duration = Duration::from_millis(20);

/// Opens and locks a file.
fn locked(path: &Path) -> Result<File, TranscriptStoreError> {
    let mut tries = 0;
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            // Replies of tools may be private, so other users cannot read the file.
            options.mode(0o600);
        }
        let file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) if tries == TRIES => {
                return Err(TranscriptStoreError::Busy);
            }
            Err(TryLockError::WouldBlock) => {
                tries += 1;
                std::thread::sleep(PAUSE);
                continue;
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        // The previous owner may have removed the file before this lock was taken. In that case,
        // try again.
        if is_at(&file, path)? {
            if let Some(folder) = path.parent() {
                sync_folder(folder)?;
            }
            return Ok(file);
        }
    }
}

/// Converts messages to JSON without loss.
fn json(messages: &[Message<'static>]) -> io::Result<Value> {
    let document = Conversation::from_messages(messages.iter().cloned()).into();
    let json = render(&document, Format::JSON, &RenderOptions::default());
    Ok(serde_json::from_str(&json.map_err(io::Error::other)?)?)
}

fn messages(json: &Value) -> Vec<Message<'static>> {
    let json = json.to_string();
    let parsed = parse(&json, Format::JSON, &ReadOptions::default());
    parsed.into_conversation().into_owned().messages
}

/// Reads the records. A last line without a line break is incomplete because of a crash, and is
/// ignored.
fn records(text: &[u8]) -> Result<JournalEntries, usize> {
    let mut past = JournalEntries::default();
    for (at, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let Some(line) = line.strip_suffix(b"\n") else { break };
        past.take(line).ok_or(at + 1)?;
    }
    Ok(past)
}

impl JournalEntries {
    fn take(&mut self, line: &[u8]) -> Option<()> {
        let value: Value = serde_json::from_slice(line).ok()?;
        if let Some(outputs) = value.get("said") {
            let transcript = value.get("transcript")?.as_str()?.to_owned();
            self.outputs.push((transcript, messages(outputs)));
        } else {
            let (key, call_state) = call_state(&value)?;
            self.call_states.insert(key, call_state);
        }
        Some(())
    }
}

fn call_state(value: &Value) -> Option<((String, u64), CallState)> {
    let call_id = value.get("call_id")?.as_str()?.to_owned();
    let fingerprint = u64::from_str_radix(value.get("mark")?.as_str()?, 16).ok()?;
    let call_state = match value.get("reply") {
        None => value.get("begun").map(|_| CallState::Started)?,
        Some(reply) => CallState::Replied(Box::new(messages(reply).into_iter().next()?)),
    };
    Some(((call_id, fingerprint), call_state))
}

#[cfg(test)]
mod tests {
    use openchatml::{Message, Role};

    use super::{CallState, Journal, TranscriptStoreError, records};

    #[test]
    fn recorded_calls_are_known_after_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = Journal::open(&path).unwrap();
        assert!(matches!(Journal::open(&path), Err(TranscriptStoreError::Busy)));
        let mut reply = Message::new(Role::Tool, "<|end|> \u{1b}\n");
        reply.name = Some("functions.f".into());
        for (id, fingerprint) in [("a", 1), ("b", 2)] {
            journal.expect_call(id, fingerprint);
            journal.record_start(id).unwrap();
        }
        journal.record_reply("a", &reply).unwrap();
        // After a crash, the file exists and may end with an incomplete line.
        let mut text = std::fs::read(&path).unwrap();
        text.extend_from_slice(b"{\"call_id\":\"b\",\"ma");
        drop(journal);
        std::fs::write(&path, &text).unwrap();

        let journal = Journal::open(&path).unwrap();
        assert_eq!(journal.call_state("a", 1), CallState::Replied(Box::new(reply)));
        assert_eq!(journal.call_state("b", 2), CallState::Started);
        // The same id with another fingerprint, and an unknown id.
        assert_eq!(journal.call_state("a", 2), CallState::NotStarted);
        assert_eq!(journal.call_state("c", 1), CallState::NotStarted);
        journal.expect_call("c", 3);
        journal.record_start("c").unwrap();
        drop(journal);
        let journal = Journal::open(&path).unwrap();
        assert_eq!(journal.call_state("c", 3), CallState::Started);
        journal.clear().unwrap();
        assert_eq!(journal.call_state("c", 3), CallState::NotStarted);
        drop(journal);
        assert!(!path.exists());
    }

    #[test]
    fn damage_is_located() {
        let good = br#"{"call_id":"a","mark":"0000000000000001","begun":true}"#;
        for bad in ["x", "{}", r#"{"call_id":"a","mark":"z","begun":true}"#] {
            let text = [good.as_slice(), b"\n", bad.as_bytes(), b"\n", good, b"\n"].concat();
            assert_eq!(records(&text).unwrap_err(), 2, "{bad}");
        }
        assert_eq!(records(good).unwrap().call_states.len(), 0);
    }
}
