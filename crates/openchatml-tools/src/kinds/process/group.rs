//! A program and whatever it started.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::watch::{self, Watched};

/// A program that leads a process group. The group is killed when this is dropped, and when this
/// process ends, however it ends.
pub(crate) struct Group {
    /// Until it is handed to whoever waits for its end.
    child: Option<Child>,
    /// Until the group is killed.
    leader: Option<Pid>,
    /// How long it may go on once it was told to end.
    grace: Duration,
    _watched: Option<Watched>,
}

impl Group {
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        watch::prepare();
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let leader = id.and_then(Pid::from_raw);
        let watched = leader.map(Watched::new);
        Ok(Self { child: Some(child), leader, grace: Duration::ZERO, _watched: watched })
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
                _watched: self._watched.take(),
            };
            let grace = self.grace;
            // If the runtime ends before, this is dropped, and the group is killed then.
            runtime.spawn(async move { tokio::time::timeout(grace, rest.wait()).await.is_ok() });
            return;
        }
        self.signal(Signal::KILL);
    }
}
