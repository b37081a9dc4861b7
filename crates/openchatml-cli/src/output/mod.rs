//! The output: standard output, or a file that is written completely or not at all.

mod json;
mod packed;
mod replace;

pub(crate) use self::json::pretty;
pub(crate) use openchatml_data::record::escape;

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use self::packed::Packer;
use self::replace::Draft;
use crate::failure::Failure;

/// The target of data.
#[derive(Debug)]
pub(crate) struct Target {
    sink: Sink,
    /// Compresses what is written to a file whose name says so.
    packer: Option<Packer>,
    name: String,
}

#[derive(Debug)]
enum Sink {
    Stdout(io::Stdout),
    /// A target that cannot be replaced: a device or a pipe.
    Device(File),
    Draft(Draft),
}

impl Target {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        let sink = Sink::Stdout(io::stdout());
        Self { sink, packer: None, name: "standard output".to_owned() }
    }

    /// Opens the file with this name, or standard output if there is none.
    ///
    /// # Errors
    ///
    /// The file cannot be written. It has not been changed.
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
        Ok(Self { sink, packer: Packer::of(path), name })
    }

    /// Whether the output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(&self.sink, Sink::Stdout(stdout) if stdout.is_terminal())
    }

    /// Writes the beginning of a text. If it begins with U+FEFF, a byte order mark is written
    /// before it, because readers remove the first one.
    pub(crate) fn write_text(&mut self, text: &str) -> Result<(), Failure> {
        if text.starts_with('\u{feff}') {
            self.write("\u{feff}".as_bytes())?;
        }
        self.write(text.as_bytes())
    }

    /// Writes `bytes` immediately, unless they are compressed first.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match &mut self.packer {
            None => self.sink.write(bytes),
            Some(packer) => packer.pack(bytes).and_then(|packed| self.sink.write(&packed)),
        };
        written.map_err(|error| Failure::write(&self.name, &error))
    }

    /// Replaces the file by the written data. Without this call, the file is not changed.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let rest = self.packer.take().map_or(Ok(Vec::new()), Packer::finish);
        let written = rest.and_then(|rest| self.sink.write(&rest));
        let finished = written.and_then(|()| match self.sink {
            Sink::Draft(draft) => draft.finish(),
            Sink::Stdout(_) | Sink::Device(_) => Ok(()),
        });
        finished.map_err(|error| Failure::write(&self.name, &error))
    }
}

impl Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => {
                let mut stdout = stdout.lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())
            }
            Self::Device(file) => file.write_all(bytes),
            Self::Draft(draft) => draft.write_all(bytes),
        }
    }
}
