//! Puts each program into its own control group (version 2), which it cannot leave.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::process::getpid;

use super::watchdog;

/// The group of this process, and the group below it that contains those of the programs.
struct Tree {
    own: PathBuf,
    tree: PathBuf,
}

/// The groups, if they could be created.
static TREE: OnceLock<Tree> = OnceLock::new();

/// Groups that could not be removed because their processes were still ending.
static LEFT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Creates the group that contains those of the programs.
pub(super) fn create() -> io::Result<()> {
    if TREE.get().is_some() {
        return Ok(());
    }
    let own = own().ok_or(io::ErrorKind::Unsupported)?;
    // Without write permission here, no process can be moved out of this group.
    OpenOptions::new().write(true).open(own.join("cgroup.procs"))?;
    let tree = own.join(format!("openchatml-{}", getpid().as_raw_nonzero()));
    match fs::create_dir(&tree) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        // A group of an earlier process with the same id.
        _ => {}
    }
    if !tree.join("cgroup.kill").exists() {
        let _ = fs::remove_dir(&tree);
        return Err(io::ErrorKind::Unsupported.into());
    }
    watchdog::tell_tree(&tree);
    let _ = TREE.set(Tree { own, tree });
    Ok(())
}

/// Returns the group of this process.
fn own() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        let path = Path::new(path).strip_prefix(root).ok()?;
        let is_inside = path.components().all(|it| matches!(it, std::path::Component::Normal(_)));
        (after.starts_with("cgroup2 ") && is_inside).then(|| Path::new(place).join(path))
    })
}

/// The group of a program. Dropping it kills its processes.
#[derive(Debug)]
pub(super) struct Leaf {
    path: PathBuf,
    /// Whether this process may be in the group, which must not be killed in that case.
    is_shared: bool,
}

impl Leaf {
    /// Creates a group of this name, if programs have groups.
    pub(super) fn new(name: &str) -> Option<Self> {
        let path = TREE.get()?.tree.join(name);
        fs::create_dir(&path).ok()?;
        Some(Self { path, is_shared: false })
    }

    /// Starts a program in the group. This process enters the group for that time, because moving
    /// the program after its start would miss its first children.
    pub(super) fn start<T>(&mut self, spawn: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let _inside = GroupMembership::enter(self);
        spawn()
    }
}

/// The membership of this process in a group. Only one thread has one at a time.
struct GroupMembership<'l>(&'l mut Leaf);

impl<'l> GroupMembership<'l> {
    fn enter(leaf: &'l mut Leaf) -> Option<Self> {
        enter(&leaf.path).ok()?;
        leaf.is_shared = true;
        Some(Self(leaf))
    }
}

impl Drop for GroupMembership<'_> {
    fn drop(&mut self) {
        self.0.is_shared = TREE.get().is_none_or(|tree| enter(&tree.own).is_err());
    }
}

/// Moves this process into a group.
fn enter(group: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(group.join("cgroup.procs"))?.write_all(b"0")
}

impl Drop for Leaf {
    fn drop(&mut self) {
        if self.is_shared {
            return;
        }
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        left.push(std::mem::take(&mut self.path));
        // The watchdog removes the last groups.
        left.retain(|path| {
            fs::remove_dir(path).is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
        });
    }
}
