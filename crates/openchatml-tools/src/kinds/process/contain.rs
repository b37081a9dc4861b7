//! System features that keep programs from leaving their group.

use std::io;

use super::{cgroup, orphans};

/// The system feature that contains programs that leave their process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containment {
    /// Each has a control group (cgroup version 2) of its own, below that of this process. Nothing leaves
    /// that without the rights to.
    ControlGroup,
    /// Processes whose parent ends become children of this process (`PR_SET_CHILD_SUBREAPER`), which
    /// then finds them. One that a program has started with another environment is told apart
    /// from those of other programs only when none of these runs.
    Subreaper,
}

/// Has the system keep the programs that leave their process group: by control groups if this process
/// may make some, else as their subreaper. Returns which of the two it is.
///
/// Both concern the whole process. A subreaper takes each child that it did not start as a tool for what
/// a tool left behind, and kills it: call this only in a program that starts no children by itself, and
/// before it starts tools. Without it, processes are found by a variable of the environment that they
/// inherit.
///
/// # Errors
///
/// The system has neither feature. Linux has both.
pub fn contain() -> io::Result<Containment> {
    for containment in [Containment::ControlGroup, Containment::Subreaper] {
        if contain_by(containment).is_ok() {
            return Ok(containment);
        }
    }
    Err(io::ErrorKind::Unsupported.into())
}

/// The same, in this way and no other.
///
/// # Errors
///
/// The system does not have the feature, or rejects it.
pub fn contain_by(containment: Containment) -> io::Result<()> {
    match containment {
        Containment::ControlGroup => cgroup::create(),
        Containment::Subreaper => orphans::start(),
    }
}
