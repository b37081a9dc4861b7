//! An interpreter that runs one cell after another.
//!
//! The process communicates with it over a socket (see `driver.py`). It sends `run NONCE SECONDS
//! BYTES`, the code, and the write end of a pipe for the output of the cell; and `stop NONCE`. It
//! receives `done NONCE STATUS`. The code in the interpreter can forge or break all of this.
//! Therefore all input is limited in size, it only determines when a cell ends and with which
//! status, and every wait has a deadline.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio_util::task::AbortOnDropHandle;

use super::PythonLimits;
use super::sandbox::{CodeInput, Sandbox};
use crate::kinds::process::{CollectedOutput, Group, OutputSink, RunError, drain, pump};

/// How long an interrupted cell may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of output pipes of earlier cells that stay open for programs that these cells left
/// running. Their output is dropped; without a reader, a write would kill the program.
const EARLIER: usize = 8;

/// The maximum length of a valid line, in bytes.
const LINE: usize = 128;

/// An interpreter in a sandbox. Dropping it kills the process.
#[derive(Debug)]
pub(super) struct Interpreter {
    group: Group,
    control: UnixStream,
    /// The beginning of an incomplete line.
    received: Vec<u8>,
    earlier: VecDeque<AbortOnDropHandle<()>>,
}

/// A running cell.
#[derive(Debug)]
pub(super) struct Cell {
    /// Whether the cell was sent completely. The interpreter reads nothing else before that.
    is_sent: bool,
    nonce: String,
    output: Option<pipe::Receiver>,
}

/// How a cell ended.
pub(super) enum CellEnd {
    Status(u8),
    /// The cell used all of its processor time.
    ProcessorTime,
    /// The interpreter ended.
    Exit(ExitStatus),
}

impl Interpreter {
    pub(super) fn start(sandbox: &Sandbox, limits: &PythonLimits) -> io::Result<Self> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mut command = sandbox.command(limits, CodeInput::Session);
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let group = Group::spawn(&mut command)?.sealed();
        let control = UnixStream::from_std(ours)?;
        Ok(Self { group, control, received: Vec::new(), earlier: VecDeque::new() })
    }

    /// Whether the interpreter has ended by itself.
    pub(super) fn is_gone(&mut self) -> bool {
        !matches!(self.group.child().try_wait(), Ok(None))
    }

    /// Runs a cell until it ends. The output is in `kept` in any case. If this returns before the
    /// end of the cell, the cell continues until it is [interrupted](Self::interrupt).
    pub(super) async fn run(
        &mut self,
        cell: &mut Cell,
        source: &str,
        limits: &PythonLimits,
        kept: &mut CollectedOutput,
    ) -> Result<CellEnd, RunError> {
        let (reader, writer) = io::pipe().map_err(RunError::Pipe)?;
        let output = pipe::Receiver::from_owned_fd(reader.into()).map_err(RunError::Pipe)?;
        let output = cell.output.insert(output);
        let Self { group, control, received, .. } = self;
        let (is_sent, nonce) = (&mut cell.is_sent, &cell.nonce);
        let feed = async {
            let head = format!("run {nonce} {} {}\n", limits.cpu_seconds, source.len());
            send(control, head.as_bytes(), Some(writer.into())).await?;
            send(control, source.as_bytes(), None).await?;
            *is_sent = true;
            Ok(())
        };
        let talk =
            async { tokio::try_join!(feed, done(control, received, nonce)).map(|(_, end)| end) };
        let listen = async {
            pump(output, kept).await?;
            // A cell that closed all of its outputs may continue.
            std::future::pending::<Result<(), RunError>>().await
        };
        let end = tokio::select! {
            // The output before the end of the interpreter explains the end, so it is read first.
            status = group.child().wait() => CellEnd::Exit(status.map_err(RunError::Pipe)?),
            Ok(end) = talk => end,
            Err(broken) = listen => return Err(broken),
            else => return Err(RunError::Pipe(io::ErrorKind::BrokenPipe.into())),
        };
        let output = cell.output.take();
        if let Some(output) = &output {
            drain(output, kept)?;
        }
        self.drop_later(output);
        Ok(end)
    }

    /// Interrupts a cell. Returns whether the interpreter can run another cell.
    pub(super) async fn interrupt(&mut self, mut cell: Cell) -> bool {
        let Some(mut output) = cell.output.take() else { return true };
        if !cell.is_sent {
            return false;
        }
        let Self { group, control, received, .. } = self;
        let stop = async {
            send(control, format!("stop {}\n", cell.nonce).as_bytes(), None).await?;
            done(control, received, &cell.nonce).await
        };
        let settled = async {
            tokio::select! {
                _ = group.child().wait() => false,
                end = stop => end.is_ok(),
                // The output is read and dropped; otherwise the cell would block.
                () = discard(&mut output) => false,
            }
        };
        let is_settled = tokio::time::timeout(PATIENCE, settled).await.unwrap_or(false);
        self.drop_later(Some(output));
        is_settled
    }

    /// Drops all further output of a cell.
    fn drop_later(&mut self, output: Option<pipe::Receiver>) {
        self.earlier.retain(|earlier| !earlier.is_finished());
        let Some(mut output) = output else { return };
        if self.earlier.len() == EARLIER {
            self.earlier.pop_front();
        }
        let task = tokio::spawn(async move {
            let _ = pump(&mut output, &mut Discard).await;
        });
        self.earlier.push_back(AbortOnDropHandle::new(task));
    }
}

impl Cell {
    pub(super) fn new() -> Self {
        // The nonce is random: a cell that knows it could end the next cell before it starts.
        let nonce = format!("{:016x}", RandomState::new().hash_one(0));
        Self { is_sent: false, nonce, output: None }
    }
}

/// A sink that drops its input.
struct Discard;

impl OutputSink for Discard {
    fn take(&mut self, _: &[u8]) -> Result<(), RunError> {
        Ok(())
    }
}

/// Reads and drops output until the pipe closes.
async fn discard(output: &mut pipe::Receiver) {
    let _ = pump(output, &mut Discard).await;
    std::future::pending().await
}

/// Sends bytes, and a file descriptor with the first byte.
async fn send(
    control: &UnixStream,
    mut bytes: &[u8],
    pass: Option<OwnedFd>,
) -> Result<(), RunError> {
    let mut pass = pass;
    while !bytes.is_empty() {
        let sent = control.async_io(Interest::WRITABLE, || {
            let descriptors = pass.as_ref().map(AsFd::as_fd);
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors.as_slice()));
            Ok(sendmsg(control, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)?)
        });
        bytes = &bytes[sent.await.map_err(RunError::Pipe)?..];
        pass = None;
    }
    Ok(())
}

/// Waits until the interpreter reports the end of this cell. All other messages are dropped.
async fn done(
    control: &UnixStream,
    received: &mut Vec<u8>,
    nonce: &str,
) -> Result<CellEnd, RunError> {
    let mut chunk = [0; LINE];
    loop {
        while let Some(end) = received.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = received.drain(..=end).collect();
            if let Some(end) = ended(&line, nonce) {
                return Ok(end);
            }
        }
        if received.len() > LINE {
            received.clear();
        }
        // A plain read: the system closes file descriptors that the code sends.
        let read =
            control.async_io(Interest::READABLE, || Ok(rustix::io::read(control, &mut chunk)?));
        match read.await.map_err(RunError::Pipe)? {
            0 => return Err(RunError::Pipe(io::ErrorKind::UnexpectedEof.into())),
            read => received.extend_from_slice(&chunk[..read]),
        }
    }
}

/// `done NONCE STATUS`
fn ended(line: &[u8], nonce: &str) -> Option<CellEnd> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    if words.next() != Some("done") || words.next() != Some(nonce) {
        return None;
    }
    match words.next()? {
        "cpu" => Some(CellEnd::ProcessorTime),
        status => Some(CellEnd::Status(status.parse().ok()?)),
    }
}
