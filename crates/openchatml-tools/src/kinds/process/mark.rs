//! Recognizes programs that left their process group by an inherited mark.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, getpid, kill_process};
use tokio::process::{Child, Command};

use super::cgroup::Leaf;
use super::orphans;
use super::watchdog::WatchedProgram;

/// The variable that programs are marked with.
pub(crate) const MARK: &str = "OPENCHATML_PROCESS";

/// How often processes are looked for that began while others were killed.
const ROUNDS: usize = 64;

/// How long a process has to die before it is looked for again.
const PAUSE: Duration = Duration::from_millis(1);

/// What all processes of a program have in common, wherever they go. When this is dropped, those that
/// can be found are killed.
#[derive(Debug)]
pub(super) struct Mark {
    token: String,
    /// `None` where there are no groups of resources for programs.
    leaf: Option<Leaf>,
    /// Until all are dead.
    watched: WatchedProgram,
}

impl Mark {
    /// Marks what the command starts.
    pub(super) fn new(command: &mut Command) -> Self {
        let token = format!("{:016x}", RandomState::new().hash_one(getpid()));
        command.env(MARK, &token);
        orphans::begin(&token);
        Self { leaf: Leaf::new(&token), watched: WatchedProgram::new(&token), token }
    }

    /// Starts the program.
    pub(super) fn start(&mut self, command: &mut Command) -> io::Result<Child> {
        let mut spawn = || command.spawn();
        let child = orphans::child(
            || match &mut self.leaf {
                Some(leaf) => leaf.start(spawn),
                None => spawn(),
            },
            Child::id,
        )?;
        if let Some(leader) = pid(&child) {
            self.watched.lead(leader);
        }
        Ok(child)
    }

    /// Says that nothing can leave the program, since it runs in namespaces of its own.
    pub(super) fn seal(&self) {
        orphans::end(&self.token);
    }
}

/// The number of a child that was not reaped.
pub(super) fn pid(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.leaf = None;
        sweep(&self.token);
        orphans::end(&self.token);
        orphans::sweep();
    }
}

/// Kills the processes that are marked so, until none is found.
fn sweep(token: &str) {
    for _ in 0..ROUNDS {
        let mut found = false;
        for pid in processes().filter(|pid| is_marked(*pid, token)) {
            kill(pid, |pid| is_marked(pid, token));
            found = true;
        }
        if !found {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// The processes that may be ours, where the system lists them: all others are not to be read.
pub(super) fn processes() -> impl Iterator<Item = Pid> {
    let user = geteuid();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let pid = entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
        let is_ours = user.is_root() || entry.metadata().ok()?.uid() == user.as_raw();
        (is_ours && pid != getpid()).then_some(pid)
    })
}

/// The mark of a process. It is that with which its program was started, whatever the program does.
pub(super) fn mark(pid: Pid) -> Option<String> {
    let environment = std::fs::read(file(pid, "environ")).ok()?;
    environment.split(|byte| *byte == 0).find_map(|variable| {
        let token = variable.strip_prefix(MARK.as_bytes())?.strip_prefix(b"=")?;
        String::from_utf8(token.to_vec()).ok()
    })
}

fn is_marked(pid: Pid, token: &str) -> bool {
    mark(pid).is_some_and(|it| it == token)
}

/// A file that tells something of a process.
pub(super) fn file(pid: Pid, name: &str) -> PathBuf {
    format!("/proc/{}/{name}", pid.as_raw_nonzero()).into()
}

/// Kills a process, if it still is what it was found to be: its number may be that of another one now.
fn kill(pid: Pid, is_still: impl Fn(Pid) -> bool) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

        // The number is bound to the process before that is looked at.
        if let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) {
            if is_still(pid) {
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
            return;
        }
    }
    if is_still(pid) {
        let _ = kill_process(pid, Signal::KILL);
    }
}
