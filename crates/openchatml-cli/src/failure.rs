//! Failures and exit statuses.

use std::fmt;
use std::io;

use openchatml::Code;

/// The code of a failure to detect a format.
pub(crate) const UNKNOWN: Code = Code::FormatUnknown;

/// The status of a command that completed its work. The worst status is the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// No errors.
    #[default]
    Fine,
    /// Errors were found, or input was rejected.
    Found,
    /// Input could not be read, output could not be written, or the usage was wrong.
    Failed,
    /// The user interrupted the command.
    #[cfg(feature = "run")]
    Interrupted,
}

/// The exit status of the process.
impl From<Status> for u8 {
    fn from(status: Status) -> Self {
        match status {
            Status::Fine => 0,
            Status::Found => 1,
            Status::Failed => 2,
            // The exit status that a shell reports for an interrupted process.
            #[cfg(feature = "run")]
            Status::Interrupted => 130,
        }
    }
}

/// The reason why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The usage is wrong.
    Usage(String),
    /// Input or output failed.
    Io(String),
    /// The input is not usable at all.
    Refused(String),
    /// The format of the input is unknown: the error, and notes about it.
    Unknown(Vec<String>),
    /// Nobody reads the output any more. No message is printed.
    Closed,
}

impl Failure {
    /// Reading `name` failed.
    pub(crate) fn read(name: &str, error: &io::Error) -> Self {
        let help = match name {
            "`all`" => "; losses are allowed with an equals sign: --allow-loss=all",
            _ => "",
        };
        Self::Io(format!("cannot read {name}: {}{help}", reason(error)))
    }

    /// Writing `name` failed.
    pub(crate) fn write(name: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Io(format!("cannot write {name}: {}", reason(error))),
        }
    }

    /// Returns the exit status.
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

/// Returns the message of the system in our style.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
