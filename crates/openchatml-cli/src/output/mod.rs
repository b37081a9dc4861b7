//! Where output goes: standard output, or a file that is written whole or not at all.

mod json;
mod replace;

pub(crate) use self::json::{escape, pretty};

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use self::replace::Draft;
use crate::failure::Failure;

/// Where a command writes its data.
#[derive(Debug)]
pub(crate) struct Target {
    sink: Sink,
    name: String,
}

#[derive(Debug)]
enum Sink {
    Stdout(io::Stdout),
    /// Something that cannot be replaced: a device, a pipe.
    Device(File),
    Draft(Draft),
}

impl Target {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        Self { sink: Sink::Stdout(io::stdout()), name: "standard output".to_owned() }
    }

    /// The file of this name, or standard output if there is none.
    ///
    /// # Errors
    ///
    /// The file cannot be written. Nothing has been changed then.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            return Ok(Self::stdout());
        };
        let name = format!("`{}`", path.display());
        let sink = match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                OpenOptions::new().write(true).open(path).map(Sink::Device)
            }
            _ => Draft::beside(path).map(Sink::Draft),
        };
        let sink = sink.map_err(|error| Failure::write(&name, &error))?;
        Ok(Self { sink, name })
    }

    /// Whether somebody reads it on a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(&self.sink, Sink::Stdout(stdout) if stdout.is_terminal())
    }

    /// Writes a text from its beginning. Where that is U+FEFF, a byte order mark stands before it:
    /// readers take the first one for that.
    pub(crate) fn write_text(&mut self, text: &str) -> Result<(), Failure> {
        if text.starts_with('\u{feff}') {
            self.write("\u{feff}".as_bytes())?;
        }
        self.write(text.as_bytes())
    }

    /// Writes `bytes`, and holds none of them back.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match &mut self.sink {
            Sink::Stdout(stdout) => {
                let mut stdout = stdout.lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())
            }
            Sink::Device(file) => file.write_all(bytes),
            Sink::Draft(draft) => draft.write_all(bytes),
        };
        written.map_err(|error| Failure::write(&self.name, &error))
    }

    /// Puts what was written in its place. Without this, a file stays as it was.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self.sink {
            Sink::Draft(draft) => {
                draft.finish().map_err(|error| Failure::write(&self.name, &error))
            }
            Sink::Stdout(_) | Sink::Device(_) => Ok(()),
        }
    }
}
