//! Input that can be read only once, such as standard input.

use std::io::{self, IsTerminal as _, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use super::{Blob, append_from};

/// The first bytes stay in memory: the kind of the file and the format of its records are found in
/// them before the run starts.
const HEAD_BYTES: usize = 8 << 20;

/// Input that is read from its beginning to its end, and whose first bytes can be read again.
pub(super) struct Stream {
    state: Mutex<State>,
    version: String,
}

struct State {
    from: Box<dyn Read + Send>,
    head: Vec<u8>,
    /// The number of bytes that were read.
    at: u64,
}

/// Opens standard input.
pub(super) fn stdin() -> io::Result<Arc<dyn Blob>> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let what =
            "standard input is a terminal: name a file, or write into this command with a pipe";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    Ok(Arc::new(Stream::new(Box::new(stdin))))
}

impl Stream {
    pub(super) fn new(from: Box<dyn Read + Send>) -> Self {
        // No two streams are the same input.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let version = format!("read at {} by process {}", now.as_nanos(), std::process::id());
        Self { state: Mutex::new(State { from, head: Vec::new(), at: 0 }), version }
    }
}

impl Blob for Stream {
    fn len(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).at
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn chunk(&self) -> usize {
        256 << 10
    }

    fn read_at(&self, start: u64, len: usize) -> io::Result<Bytes> {
        let mut bytes = Vec::new();
        self.append_at(start, len, &mut bytes)?;
        Ok(bytes.into())
    }

    fn append_at(&self, start: u64, len: usize, out: &mut Vec<u8>) -> io::Result<usize> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { from, head, at } = &mut *state;
        let first = usize::try_from(start).unwrap_or(usize::MAX);
        while head.len() <= first && head.len() < HEAD_BYTES {
            let more = len.max(1).min(HEAD_BYTES - head.len());
            let read = append_from(from, more, head)?;
            *at += u64::try_from(read).unwrap_or_default();
            if read == 0 {
                return Ok(0);
            }
        }
        if let Some(known) = head.get(first..).filter(|known| !known.is_empty()) {
            let known = &known[..known.len().min(len)];
            out.extend_from_slice(known);
            return Ok(known.len());
        }
        if start != *at {
            let what = "this input can be read only once, and its beginning is not known any more: name the format with `--from`, or name a file";
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        let read = append_from(from, len, out)?;
        *at += u64::try_from(read).unwrap_or_default();
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::sync::Arc;

    use super::super::{Blob, BlobReader};
    use super::{HEAD_BYTES, Stream};

    #[test]
    fn the_beginning_of_a_stream_can_be_read_again() {
        let bytes: Vec<u8> = (0..HEAD_BYTES + 100_000).map(|at| (at % 251) as u8).collect();
        let blob: Arc<dyn Blob> =
            Arc::new(Stream::new(Box::new(std::io::Cursor::new(bytes.clone()))));
        assert_eq!(blob.read_at(0, 16).unwrap(), bytes[..16]);
        let mut part = vec![0; 1_000_000];
        BlobReader::new(Arc::clone(&blob)).read_exact(&mut part).unwrap();
        assert!(part == bytes[..1_000_000]);
        let mut whole = Vec::new();
        BlobReader::new(Arc::clone(&blob)).read_to_end(&mut whole).unwrap();
        assert!(whole == bytes);
        let error = BlobReader::new(blob).read_to_end(&mut whole).unwrap_err();
        assert!(error.to_string().contains("only once"), "{error}");
    }
}
