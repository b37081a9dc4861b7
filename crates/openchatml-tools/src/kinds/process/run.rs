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

/// The limits of the output of a program.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// The maximum size of the standard output, in bytes. A longer output is an error.
    pub(crate) output: usize,
    /// The number of bytes to keep from the end of the standard error.
    pub(crate) tail: usize,
    /// The time between `SIGTERM` and `SIGKILL`.
    pub(crate) grace: Duration,
}

/// The output of a program that ended.
pub(crate) struct ProgramOutput {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    /// The end of the standard error.
    pub(crate) stderr: VecDeque<u8>,
}

/// The reason why a program has no result.
pub(crate) enum RunError {
    Start(io::Error),
    Flood { limit: usize },
    Pipe(io::Error),
}

/// Runs a program until it ends. Dropping the future kills the program.
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
        // A program need not read its input, so a write error is ignored.
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
    // Only output before the end counts: a descendant that escaped may keep the pipes open forever.
    drain(stdout.pipe(), &mut output)?;
    drain(stderr.pipe(), &mut tail)?;
    tail.bytes.make_contiguous();
    Ok(ProgramOutput { status, stdout: output.bytes, stderr: tail.bytes })
}

/// Receives the output of a program.
pub(crate) trait OutputSink {
    fn take(&mut self, bytes: &[u8]) -> Result<(), RunError>;
}

/// Collects all output.
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

/// Keeps the end of the output.
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

/// The size of one read.
const CHUNK: usize = 8 << 10;

/// More than a pipe holds. Anything beyond it was written after the end of the program.
const PIPE: usize = 1 << 20;

/// Reads until all writers have closed the pipe.
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

/// Reads the content of the pipe without waiting.
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
