//! A program and whatever it started.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::mark::{self, Mark};
use super::watch;

/// A program that leads a process group. The group is killed when this is dropped, and when this
/// process ends, however it ends, and so are processes that left it, where they can be found.
#[derive(Debug)]
pub(crate) struct Group {
    /// Until it is handed to whoever waits for its end.
    child: Option<Child>,
    /// Until the group is killed.
    leader: Option<Pid>,
    /// How long it may go on once it was told to end.
    grace: Duration,
    /// Until what the program left behind is killed.
    mark: Option<Mark>,
}

impl Group {
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        watch::prepare();
        let mut mark = Mark::new(command);
        command.process_group(0).kill_on_drop(true);
        let child = mark.start(command)?;
        let leader = mark::pid(&child);
        Ok(Self { child: Some(child), leader, grace: Duration::ZERO, mark: Some(mark) })
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
        self
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

impl Drop for Group {
    fn drop(&mut self) {
        let runtime = tokio::runtime::Handle::try_current();
        if let (Ok(runtime), Some(_), false) = (runtime, self.leader, self.grace.is_zero()) {
            self.signal(Signal::TERM);
            let mut rest = Self {
                child: self.child.take(),
                leader: self.leader.take(),
                grace: Duration::ZERO,
                mark: self.mark.take(),
            };
            let grace = self.grace;
            // If the runtime ends before, this is dropped, and the group is killed then.
            runtime.spawn(async move { tokio::time::timeout(grace, rest.wait()).await.is_ok() });
            return;
        }
        self.signal(Signal::KILL);
    }
}
