//! Adopts orphaned descendants of programs, so that they can be found and killed.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

use super::mark::{file, mark, processes};

/// Whether this process is a subreaper.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// The maximum number of searches for orphans: killed processes leave orphans of their own.
const ROUNDS: usize = 64;

/// The pause before the next search, in which killed processes end.
const PAUSE: Duration = Duration::from_millis(1);

/// The known children, which are not orphans, and the programs that may leave orphans.
#[derive(Default)]
struct KnownProcesses {
    children: HashSet<Pid>,
    /// The tokens of running programs.
    running: HashSet<String>,
}

static KNOWN: LazyLock<Mutex<KnownProcesses>> = LazyLock::new(Mutex::default);

fn known() -> MutexGuard<'static, KnownProcesses> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes this process a subreaper, unless it already has children: a shell may have started them
/// before it became this process, so they and their orphans must not be killed.
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

/// Starts a child that never counts as an orphan.
pub(super) fn child<T>(
    spawn: impl FnOnce() -> io::Result<T>,
    id: impl FnOnce(&T) -> Option<u32>,
) -> io::Result<T> {
    // The lock is held until the child is known, so that it does not count as an orphan.
    let mut known = known();
    let spawned = spawn()?;
    let pid = id(&spawned).and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    known.children.extend(pid);
    Ok(spawned)
}

/// Registers a running program with this token.
pub(super) fn begin(token: &str) {
    known().running.insert(token.into());
}

/// Unregisters the program with this token.
pub(super) fn end(token: &str) {
    known().running.remove(token);
}

/// Kills the orphans that belong to no running program, and reaps all dead ones.
///
/// An orphan without a mark may belong to any running program, so it is kept while a program runs.
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

/// Returns whether there may be more orphans.
fn sweep_once(known: &mut KnownProcesses) -> bool {
    let children: HashSet<Pid> = processes().filter(|pid| is_child(*pid)).collect();
    // The system reuses the ids of reaped processes.
    known.children.retain(|pid| children.contains(pid));
    let mut found = false;
    for orphan in children.difference(&known.children) {
        let is_spared = match mark(*orphan) {
            Some(token) => known.running.contains(&token),
            None => !known.running.is_empty(),
        };
        if !is_spared {
            // The id is still valid: a child keeps its id until it is reaped.
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
        // The name of the program is in parentheses and may contain parentheses.
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    parent() == Some(getpid().as_raw_nonzero().get())
}
