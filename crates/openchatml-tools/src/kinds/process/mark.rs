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

/// The environment variable that marks programs.
pub(crate) const MARK: &str = "OPENCHATML_PROCESS";

/// The maximum number of searches: processes can start while others are killed.
const ROUNDS: usize = 64;

/// The maximum number of searches in a row that only wait for processes that start a program.
const WAITS: usize = 8;

/// The pause before the next search, in which killed processes end and others start.
const PAUSE: Duration = Duration::from_millis(1);

/// Identifies all processes of a program. Dropping it kills those that can be found.
#[derive(Debug)]
pub(super) struct Mark {
    token: String,
    /// `None` without control groups.
    leaf: Option<Leaf>,
    /// Keeps the watchdog active until all processes are dead.
    watched: WatchedProgram,
}

impl Mark {
    /// Marks the processes of a command.
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

    /// Marks the program as one in its own namespaces, which no process can leave.
    pub(super) fn seal(&self) {
        orphans::end(&self.token);
    }
}

/// Returns the process id of a child that was not reaped.
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

/// Kills the processes with this mark until none is found.
fn sweep(token: &str) {
    let mut waits = 0;
    for _ in 0..ROUNDS {
        let (mut found, mut is_starting) = (false, false);
        for pid in processes() {
            match environment(pid) {
                Some(environment) if token_in(&environment) == Some(token.as_bytes()) => {
                    kill(pid, |pid| is_marked(pid, token));
                    found = true;
                }
                Some(environment) => is_starting |= environment.is_empty() && has_program(pid),
                None => {}
            }
        }
        waits = if found { 0 } else { waits + 1 };
        if !found && (!is_starting || waits > WAITS) {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Lists the processes of this user, if the system has `/proc`. Other processes cannot be read.
pub(super) fn processes() -> impl Iterator<Item = Pid> {
    let user = geteuid();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let pid = entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
        let is_ours = user.is_root() || entry.metadata().ok()?.uid() == user.as_raw();
        (is_ours && pid != getpid()).then_some(pid)
    })
}

/// Returns the mark of a process: the one in the environment at the start of its program, even if
/// the program changed the variable.
pub(super) fn mark(pid: Pid) -> Option<String> {
    let environment = environment(pid)?;
    String::from_utf8(token_in(&environment)?.to_vec()).ok()
}

/// Returns the environment at the start of the program of a process. It is empty while the process
/// starts its program.
fn environment(pid: Pid) -> Option<Vec<u8>> {
    std::fs::read(file(pid, "environ")).ok()
}

/// Returns the token of the mark in an environment.
fn token_in(environment: &[u8]) -> Option<&[u8]> {
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|it| it.strip_prefix(MARK.as_bytes())?.strip_prefix(b"="))
}

/// Whether a process has a program. Processes of the kernel and dead ones have none.
fn has_program(pid: Pid) -> bool {
    std::fs::read_link(file(pid, "exe")).is_ok()
}

fn is_marked(pid: Pid, token: &str) -> bool {
    mark(pid).is_some_and(|it| it == token)
}

/// Returns the path of a file in `/proc`.
pub(super) fn file(pid: Pid, name: &str) -> PathBuf {
    format!("/proc/{}/{name}", pid.as_raw_nonzero()).into()
}

/// Kills a process if `is_still` still holds, because the system may have reused its id.
fn kill(pid: Pid, is_still: impl Fn(Pid) -> bool) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};

        // The process file descriptor is opened before the check, so that the id cannot change in
        // between.
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
