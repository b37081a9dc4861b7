//! A program and whatever it started.

use std::io;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// A program that leads a process group. The group is killed when this is dropped.
pub(crate) struct Group {
    pub(crate) child: Child,
    /// Until the group is killed.
    leader: Option<Pid>,
}

impl Group {
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Ok(Self { child, leader: id.and_then(Pid::from_raw) })
    }

    /// Waits until the program ends, and kills what it left behind.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await;
        // At once: as long as the group has a member, nobody else gets its number; if it has none,
        // there was no time to give it away.
        self.kill();
        status
    }

    fn kill(&mut self) {
        if let Some(leader) = self.leader.take() {
            // There is nobody left to kill if it fails.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
