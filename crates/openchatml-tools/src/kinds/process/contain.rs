//! System features that keep programs from leaving their group.

use std::io;

use super::{cgroup, orphans};

/// The system feature that contains programs that leave their process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containment {
    /// Each program has its own control group (cgroup version 2) below that of this process. It
    /// cannot leave the group without the permissions to do so.
    ControlGroup,
    /// Orphaned descendants become children of this process (`PR_SET_CHILD_SUBREAPER`), which then
    /// finds them. An orphan that has another environment is assigned to its program only when no
    /// other program runs.
    Subreaper,
}

/// Makes the system contain programs that leave their process group: with control groups if this
/// process can create them, otherwise as their subreaper. Returns which of the two is used.
///
/// Both affect the whole process. A subreaper kills each child that it did not start as a tool,
/// because it counts as an orphan of a tool. Call this only in a program that starts no other
/// children, and before it starts tools. Without containment, processes are found by an environment
/// variable that they inherit.
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

/// Like [`contain`], but only with this feature.
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
