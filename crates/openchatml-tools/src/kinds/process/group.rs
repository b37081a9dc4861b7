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
/// process ends for any reason. Processes that left the group are killed as well if they can be
/// found.
pub(crate) struct Group {
    /// `None` after the child was handed to the task that waits for its end.
    child: Option<Child>,
    /// `None` after the group was killed.
    leader: Option<Pid>,
    /// The time between `SIGTERM` and `SIGKILL`.
    grace: Duration,
    /// Keeps [`ended`] waiting while the program may use its grace period.
    terminating: Option<TerminatingProgram>,
    /// The output pipes of the program that have no other reader.
    pipes: Arc<Mutex<Vec<Pipe>>>,
    /// `None` after the descendants of the program were killed.
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

    /// Marks the program as one in its own namespaces, whose processes cannot outlive it.
    #[cfg_attr(not(feature = "python"), allow(dead_code, reason = "a sandbox is such a program"))]
    pub(crate) fn sealed(self) -> Self {
        if let Some(mark) = &self.mark {
            mark.seal();
        }
        self
    }

    /// Sets the time between `SIGTERM` and `SIGKILL`.
    pub(crate) fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self.terminating = (!grace.is_zero()).then(TerminatingProgram::new);
        self
    }

    /// Wraps an output pipe of the program. If the group is dropped, the pipe is read until the
    /// program ends, because a write to a closed pipe would kill the program in its grace period.
    pub(crate) fn lend<P: AsyncRead + Send + Unpin + 'static>(&self, pipe: P) -> LentPipe<P> {
        LentPipe { pipe: Some(pipe), back: self.pipes.clone() }
    }

    /// Returns the program.
    pub(crate) fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("it is handed on when this is dropped")
    }

    /// Waits until the program ends, and kills its descendants.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child().wait().await;
        // Immediately: while the group has a member, the system does not reuse its id; if it has
        // none, there was no time to reuse the id.
        self.signal(Signal::KILL);
        self.leader = None;
        if let Some(mark) = self.mark.take() {
            // Blocking, because it reads all processes of the system.
            let _ = tokio::task::spawn_blocking(move || drop(mark)).await;
        }
        status
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // It fails only if no process is left.
            let _ = kill_process_group(leader, signal);
        }
    }
}

/// An output pipe of a program.
type Pipe = Box<dyn AsyncRead + Send + Unpin>;

fn lock(pipes: &Mutex<Vec<Pipe>>) -> MutexGuard<'_, Vec<Pipe>> {
    pipes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pipe that is returned to its group when it is dropped.
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

/// A program in its grace period.
#[derive(Debug)]
struct TerminatingProgram;

/// The number of programs in their grace period.
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

/// Waits until no program is in its [grace period](super::ProcessLimits::grace).
///
/// The grace period starts when the call of a program is cancelled. At its end, the program is
/// killed. If the runtime ends earlier, the program is killed at once.
pub async fn ended() {
    // The sender is never dropped.
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
                // The task ends when the last writer closes the pipe, or with the runtime.
                let read = async move { tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await };
                runtime.spawn(tokio::time::timeout(grace, read));
            }
            // If the runtime ends earlier, this is dropped, which kills the group.
            runtime.spawn(async move { tokio::time::timeout(grace, rest.wait()).await.is_ok() });
            return;
        }
        self.signal(Signal::KILL);
    }
}
