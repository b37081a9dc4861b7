//! Makes processes that lost their parent children of this process.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

use super::mark::{file, mark, processes};

/// Whether this process asked for it.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// How often orphans are looked for: whoever is killed leaves orphans of its own.
const ROUNDS: usize = 64;

/// How long an orphan has to die before it is looked for again.
const PAUSE: Duration = Duration::from_millis(1);

/// Children that are no orphans, and programs that may have some.
#[derive(Default)]
struct KnownProcesses {
    children: HashSet<Pid>,
    /// The tokens of programs that run.
    running: HashSet<String>,
}

static KNOWN: LazyLock<Mutex<KnownProcesses>> = LazyLock::new(Mutex::default);

fn known() -> MutexGuard<'static, KnownProcesses> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks for it, unless there are children already: what a shell started before it became this process
/// is none of ours, and nor is what that leaves behind.
pub(super) fn start() -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        if processes().any(is_child) {
            return Err(io::Error::other("this process has child processes that are not tools"));
        }
        rustix::process::set_child_subreaper(Some(getpid()))?;
        IS_ON.store(true, Ordering::Release);
        Ok(())
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    Err(io::ErrorKind::Unsupported.into())
}

/// Starts a child, which is never taken for an orphan.
pub(super) fn child<T>(
    spawn: impl FnOnce() -> io::Result<T>,
    id: impl FnOnce(&T) -> Option<u32>,
) -> io::Result<T> {
    // Nobody looks for orphans until it is known.
    let mut known = known();
    let spawned = spawn()?;
    let pid = id(&spawned).and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    known.children.extend(pid);
    Ok(spawned)
}

/// From here on, orphans may be those of a program with this token.
pub(super) fn begin(token: &str) {
    known().running.insert(token.into());
}

/// From here on, no orphan is that of a running program with this token.
pub(super) fn end(token: &str) {
    known().running.remove(token);
}

/// Kills the orphans that belong to no program that runs, and reaps all that are dead.
///
/// An orphan without a mark may belong to any program that runs, and is spared as long as one does.
pub(super) fn sweep() {
    if !IS_ON.load(Ordering::Acquire) {
        return;
    }
    for _ in 0..ROUNDS {
        if !sweep_once(&mut known()) {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether there may be more.
fn sweep_once(known: &mut KnownProcesses) -> bool {
    let children: HashSet<Pid> = processes().filter(|pid| is_child(*pid)).collect();
    // Numbers that were reaped are given away again.
    known.children.retain(|pid| children.contains(pid));
    let mut found = false;
    for orphan in children.difference(&known.children) {
        let is_spared = match mark(*orphan) {
            Some(token) => known.running.contains(&token),
            None => !known.running.is_empty(),
        };
        if !is_spared {
            // As a child that was not reaped it keeps its number.
            let _ = kill_process(*orphan, Signal::KILL);
            found = true;
        }
        let _ = waitpid(Some(*orphan), WaitOptions::NOHANG);
    }
    found
}

/// Whether a process is a child of this one.
fn is_child(pid: Pid) -> bool {
    let parent = || {
        let stat = std::fs::read_to_string(file(pid, "stat")).ok()?;
        // The name of the program stands in parentheses, and may have some.
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    parent() == Some(getpid().as_raw_nonzero().get())
}
