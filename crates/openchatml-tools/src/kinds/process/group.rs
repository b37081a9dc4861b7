//! A program and its descendants.

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncRead;
use tokio::process::{Child, Command};
use tokio::sync::watch as watch_channel;

use super::mark::{self, Mark};
use super::watchdog;

/// A program that leads a process group. The group is killed when this is dropped, and when this
/// process ends, however it ends, and so are processes that left it, where they can be found.
pub(crate) struct Group {
    /// Until it is handed to whoever waits for its end.
    child: Option<Child>,
    /// Until the group is killed.
    leader: Option<Pid>,
    /// How long it may go on once it was told to end.
    grace: Duration,
    /// As long as this process has to live so that there is such a time.
    terminating: Option<TerminatingProgram>,
    /// What it writes to, once nobody else reads that.
    pipes: Arc<Mutex<Vec<Pipe>>>,
    /// Until what the program left behind is killed.
    mark: Option<Mark>,
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("leader", &self.leader).finish_non_exhaustive()
    }
}

impl Group {
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        watchdog::prepare();
        let mut mark = Mark::new(command);
        command.process_group(0).kill_on_drop(true);
        let child = mark.start(command)?;
        let leader = mark::pid(&child);
        let (grace, terminating) = (Duration::ZERO, None);
        let pipes = Arc::default();
        Ok(Self { child: Some(child), leader, grace, terminating, pipes, mark: Some(mark) })
    }

    /// The same, whose processes cannot outlive it, since they are in namespaces of their own.
    #[cfg_attr(not(feature = "python"), allow(dead_code, reason = "a sandbox is such a program"))]
    pub(crate) fn sealed(self) -> Self {
        if let Some(mark) = &self.mark {
            mark.seal();
        }
        self
    }

    /// The same, which is told to end (`SIGTERM`) so long before it is killed.
    pub(crate) fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self.terminating = (!grace.is_zero()).then(TerminatingProgram::new);
        self
    }

    /// Lends a pipe that the program writes to. If the group is dropped after that, the pipe is read until
    /// the program ends: it could not say a word in its last moments otherwise, and would die of it.
    pub(crate) fn lend<P: AsyncRead + Send + Unpin + 'static>(&self, pipe: P) -> LentPipe<P> {
        LentPipe { pipe: Some(pipe), back: self.pipes.clone() }
    }

    /// The program.
    pub(crate) fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("it is handed on when this is dropped")
    }

    /// Waits until the program ends, and kills what it left behind.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child().wait().await;
        // At once: as long as the group has a member, nobody else gets its number; if it has none,
        // there was no time to give it away.
        self.signal(Signal::KILL);
        self.leader = None;
        if let Some(mark) = self.mark.take() {
            // All processes are looked at, which takes a moment.
            let _ = tokio::task::spawn_blocking(move || drop(mark)).await;
        }
        status
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // There is nobody left if it fails.
            let _ = kill_process_group(leader, signal);
        }
    }
}

/// What a program writes to.
type Pipe = Box<dyn AsyncRead + Send + Unpin>;

fn lock(pipes: &Mutex<Vec<Pipe>>) -> MutexGuard<'_, Vec<Pipe>> {
    pipes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pipe that is given back to its group.
pub(crate) struct LentPipe<P: AsyncRead + Send + Unpin + 'static> {
    pipe: Option<P>,
    back: Arc<Mutex<Vec<Pipe>>>,
}

impl<P: AsyncRead + Send + Unpin + 'static> LentPipe<P> {
    pub(crate) fn pipe(&mut self) -> &mut P {
        self.pipe.as_mut().expect("it is given back when this is dropped")
    }
}

impl<P: AsyncRead + Send + Unpin + 'static> Drop for LentPipe<P> {
    fn drop(&mut self) {
        let pipe = self.pipe.take().map(|pipe| Box::new(pipe) as Pipe);
        lock(&self.back).extend(pipe);
    }
}

/// A program that is given time to end.
#[derive(Debug)]
struct TerminatingProgram;

/// How many there are, for those who wait for their ends.
static TERMINATING: LazyLock<watch_channel::Sender<usize>> =
    LazyLock::new(|| watch_channel::Sender::new(0));

impl TerminatingProgram {
    fn new() -> Self {
        TERMINATING.send_modify(|count| *count += 1);
        Self
    }
}

impl Drop for TerminatingProgram {
    fn drop(&mut self) {
        TERMINATING.send_modify(|count| *count -= 1);
    }
}

/// Waits until no program is left that has [time to end](super::Limits::grace).
///
/// Such a program is asked to end when its call is cancelled, and killed after a timeout. If the
/// runtime ends earlier, the program is killed at once.
pub async fn ended() {
    // Its sender is never dropped.
    let _ = TERMINATING.subscribe().wait_for(|count| *count == 0).await;
}

impl Drop for Group {
    fn drop(&mut self) {
        let runtime = tokio::runtime::Handle::try_current();
        if let (Ok(runtime), Some(_), false) = (runtime, self.leader, self.grace.is_zero()) {
            self.signal(Signal::TERM);
            let mut rest = Self {
                child: self.child.take(),
                leader: self.leader.take(),
                grace: Duration::ZERO,
                terminating: self.terminating.take(),
                pipes: Arc::default(),
                mark: self.mark.take(),
            };
            let grace = self.grace;
            for mut pipe in std::mem::take(&mut *lock(&self.pipes)) {
                // It ends with the last process that writes to it, or with the runtime.
                let read = async move { tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await };
                runtime.spawn(tokio::time::timeout(grace, read));
            }
            // If the runtime ends before, this is dropped, and the group is killed then.
            runtime.spawn(async move { tokio::time::timeout(grace, rest.wait()).await.is_ok() });
            return;
        }
        self.signal(Signal::KILL);
    }
}
