//! One run of a program: its input, and its limited output.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::group::Group;
use super::piped;

/// How much is kept of what a program writes.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// The bytes of its output. More are an error.
    pub(crate) output: usize,
    /// The bytes of the end of its standard error.
    pub(crate) tail: usize,
    /// How long it may go on once it was told to end.
    pub(crate) grace: Duration,
}

/// A program that ended.
pub(crate) struct ProgramOutput {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    /// The end of it, in one piece.
    pub(crate) stderr: VecDeque<u8>,
}

/// Why a program gave no result.
pub(crate) enum RunError {
    Start(io::Error),
    Flood { limit: usize },
    Pipe(io::Error),
}

/// Runs a program until it ends. It is killed if this is dropped before.
pub(crate) async fn run(
    command: &mut Command,
    input: &[u8],
    bounds: Bounds,
) -> Result<ProgramOutput, RunError> {
    let group = Group::spawn(piped(command)).map_err(RunError::Start)?;
    let mut group = group.with_grace(bounds.grace);
    let child = group.child();
    let (Some(mut stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(RunError::Pipe(io::ErrorKind::BrokenPipe.into()));
    };
    let (mut stdout, mut stderr) = (group.lend(stdout), group.lend(stderr));
    let mut output = CollectedOutput { bytes: Vec::new(), limit: bounds.output };
    let mut tail = Tail { bytes: VecDeque::new(), limit: bounds.tail };
    let feed = async {
        // Nobody has to read what nobody needs.
        let _ = stdin.write_all(input).await;
        drop(stdin);
        Ok(())
    };
    let pumps = async {
        tokio::try_join!(feed, pump(stdout.pipe(), &mut output), pump(stderr.pipe(), &mut tail))
    };
    let status = tokio::select! {
        status = group.wait() => status.map_err(RunError::Pipe)?,
        Err(broken) = pumps => return Err(broken),
    };
    // What was written before the end counts, and nothing after: a descendant that escaped may keep
    // the pipes open for ever.
    drain(stdout.pipe(), &mut output)?;
    drain(stderr.pipe(), &mut tail)?;
    tail.bytes.make_contiguous();
    Ok(ProgramOutput { status, stdout: output.bytes, stderr: tail.bytes })
}

/// Takes what a program writes.
pub(crate) trait OutputSink {
    fn take(&mut self, bytes: &[u8]) -> Result<(), RunError>;
}

/// All of it.
pub(crate) struct CollectedOutput {
    pub(crate) bytes: Vec<u8>,
    pub(crate) limit: usize,
}

impl OutputSink for CollectedOutput {
    fn take(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        if bytes.len() > self.limit - self.bytes.len() {
            return Err(RunError::Flood { limit: self.limit });
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

/// The end of it.
struct Tail {
    bytes: VecDeque<u8>,
    limit: usize,
}

impl OutputSink for Tail {
    fn take(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        let bytes = &bytes[bytes.len().saturating_sub(self.limit)..];
        let excess = (self.bytes.len() + bytes.len()).saturating_sub(self.limit);
        self.bytes.drain(..excess);
        self.bytes.extend(bytes);
        Ok(())
    }
}

/// How much is read at once.
const CHUNK: usize = 8 << 10;

/// More than a pipe holds. What is read beyond that was written after the end.
const PIPE: usize = 1 << 20;

/// Takes what is written until nobody can write any more.
pub(crate) async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    into: &mut impl OutputSink,
) -> Result<(), RunError> {
    let mut chunk = [0; CHUNK];
    loop {
        match from.read(&mut chunk).await.map_err(RunError::Pipe)? {
            0 => return Ok(()),
            read => into.take(&chunk[..read])?,
        }
    }
}

/// Takes what is in the pipe, and waits for nothing.
pub(crate) fn drain(from: &impl AsFd, into: &mut impl OutputSink) -> Result<(), RunError> {
    let mut chunk = [0; CHUNK];
    for _ in 0..PIPE / CHUNK {
        match rustix::io::read(from, &mut chunk) {
            Ok(0) | Err(rustix::io::Errno::AGAIN) => break,
            Ok(read) => into.take(&chunk[..read])?,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(RunError::Pipe(error.into())),
        }
    }
    Ok(())
}
