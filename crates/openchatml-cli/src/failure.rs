//! How the command ends.

use std::fmt;
use std::io;
use std::process::ExitCode;

use openchatml::Code;

/// The code of a failure to detect a format.
pub(crate) const UNKNOWN: Code = Code::FormatUnknown;

/// How a command that could do its work ended. The worst of several is the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// All is fine.
    #[default]
    Fine,
    /// Errors were found, or input was refused.
    Found,
    /// Something could not be read or written, or the usage was wrong.
    Failed,
    /// Somebody interrupted it.
    #[cfg(feature = "run")]
    Interrupted,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Fine => Self::SUCCESS,
            Status::Found => Self::from(1),
            Status::Failed => Self::from(2),
            // What a shell says of a process that was interrupted.
            #[cfg(feature = "run")]
            Status::Interrupted => Self::from(130),
        }
    }
}

/// Why a command could not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The command was called in a way that makes no sense.
    Usage(String),
    /// Something could not be read or written.
    Io(String),
    /// The input cannot be used at all.
    Refused(String),
    /// The format of the input is not known: what is wrong, and notes about it.
    Unknown(Vec<String>),
    /// Nobody reads the output any more. Nothing is said about it.
    Closed,
}

impl Failure {
    /// Reading `name` failed.
    pub(crate) fn read(name: &str, error: &io::Error) -> Self {
        Self::Io(format!("cannot read {name}: {}", reason(error)))
    }

    /// Writing `name` failed.
    pub(crate) fn write(name: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Io(format!("cannot write {name}: {}", reason(error))),
        }
    }

    /// The exit status that says so.
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::Closed => Status::Fine,
            Self::Refused(_) | Self::Unknown(_) => Status::Found,
            Self::Usage(_) | Self::Io(_) => Status::Failed,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Io(text) | Self::Refused(text) => f.write_str(text),
            Self::Unknown(lines) => f.write_str(&lines.join("; ")),
            Self::Closed => f.write_str("the output was closed"),
        }
    }
}

/// What the system says, in the style of our own messages.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
