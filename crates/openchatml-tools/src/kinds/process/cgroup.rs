//! Programs in control groups (version 2) of their own, which they cannot leave.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::process::getpid;

use super::watchdog;

/// The group of this process, and in it the one that has those of the programs.
struct Tree {
    own: PathBuf,
    tree: PathBuf,
}

/// They, if the second could be made.
static TREE: OnceLock<Tree> = OnceLock::new();

/// Groups whose processes were still dying.
static LEFT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Makes the group that has those of the programs.
pub(super) fn create() -> io::Result<()> {
    if TREE.get().is_some() {
        return Ok(());
    }
    let own = own().ok_or(io::ErrorKind::Unsupported)?;
    // Whoever may not write here may not move a process away from here.
    OpenOptions::new().write(true).open(own.join("cgroup.procs"))?;
    let tree = own.join(format!("openchatml-{}", getpid().as_raw_nonzero()));
    match fs::create_dir(&tree) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        // What a process of the same number left behind.
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

/// The group of this process.
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

/// The group of a program. Its processes are killed when this is dropped.
#[derive(Debug)]
pub(super) struct Leaf {
    path: PathBuf,
    /// Whether this process may be in it. It must not be killed then.
    is_shared: bool,
}

impl Leaf {
    /// One of this name, if programs have any.
    pub(super) fn new(name: &str) -> Option<Self> {
        let path = TREE.get()?.tree.join(name);
        fs::create_dir(&path).ok()?;
        Some(Self { path, is_shared: false })
    }

    /// Starts a program in it: this process enters the group for as long as that takes. To move the
    /// program would be too late for what it starts first.
    pub(super) fn start<T>(&mut self, spawn: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let _inside = GroupMembership::enter(self);
        spawn()
    }
}

/// A stay of this process in a group. Only one thread at a time has one.
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

/// Moves this process.
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
        // The last ones are removed by whoever watches.
        left.retain(|path| {
            fs::remove_dir(path).is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
        });
    }
}
