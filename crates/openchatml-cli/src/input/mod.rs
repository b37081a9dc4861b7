//! The sources of documents, and the places of their parts in a file.

mod ahead;
mod batches;
mod compressed;
mod folder;
mod format;
mod records;

use self::ahead::{Look, LookForEvent};
pub(crate) use self::batches::{Batch, Batches};
use self::compressed::Unpacked;
pub(crate) use self::format::{Unreadable, format_of, format_of_lines};
pub(crate) use openchatml_data::record::{
    Decoded, Page, RecordFormat, Slot, detect_lines, document_of_record, finding, is_json,
    of_record, of_records,
};

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use openchatml::Format;

use crate::args::{Choice, FilesArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::file_name;

/// Canonical JSON.
pub(crate) const JSON: Format = Format::JSON;

/// The size from which on a progress bar is shown.
const PROGRESS_BYTES: u64 = 64 << 20;

/// The origin of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

/// Returns the origins that the command line names. `-`, or no argument, is standard input. A folder
/// stands for the files in it.
///
/// # Errors
///
/// A folder cannot be read, or contains no such files.
pub(crate) fn origins(args: &FilesArgs, console: &Console) -> Result<Vec<Origin>, Failure> {
    if args.files.is_empty() {
        return Ok(vec![Origin::Stdin]);
    }
    let mut origins = Vec::new();
    for path in &args.files {
        let found = if path.is_dir() {
            folder::files(path, &args.glob)?
        } else if let Some((folder, pattern)) = pattern(path) {
            // Other globs would add files that the pattern leaves out.
            let excluded = args.glob.iter().filter(|glob| glob.starts_with('!')).cloned();
            folder::files(&folder, &std::iter::once(pattern).chain(excluded).collect::<Vec<_>>())?
        } else {
            origins.push(Origin::of(path));
            continue;
        };
        for link in found.links {
            let name = link.display();
            console.warning(&format!("`{name}` is a link to a folder, which is not followed"));
        }
        if let [table, others @ ..] = found.tables.as_slice() {
            let name = table.display();
            let more = match others.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            console.warning(&format!("`{name}`{more} not read: `ocml data` reads tables"));
        }
        origins.extend(found.files.into_iter().map(Origin::File));
    }
    Ok(origins)
}

/// Returns the folder and the rest of a path that is a pattern, such as `data/*.jsonl`. A file whose
/// name has these characters is no pattern.
fn pattern(path: &Path) -> Option<(PathBuf, String)> {
    let text = path.to_str().filter(|text| text.contains(['*', '?', '[']) && !path.exists())?;
    let parts: Vec<_> = text.split('/').collect();
    let first = parts.iter().position(|part| part.contains(['*', '?', '[']))?;
    let folder = match parts[..first].join("/") {
        none if none.is_empty() && first == 0 => PathBuf::from("."),
        root if root.is_empty() => PathBuf::from("/"),
        folder => PathBuf::from(folder),
    };
    let pattern = format!("/{}", parts[first..].join("/"));
    folder.is_dir().then_some((folder, pattern))
}

impl Origin {
    /// The path of the file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdin => None,
            Self::File(path) => Some(path),
        }
    }

    /// Returns the origin of an argument.
    pub(crate) fn of(path: &Path) -> Self {
        if path.as_os_str() == "-" { Self::Stdin } else { Self::File(path.to_owned()) }
    }

    /// Returns the name for messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdin => "<stdin>".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Whether the name of the file means that each line is a document.
    pub(crate) fn is_jsonl(&self) -> bool {
        self.path().is_some_and(file_name::is_jsonl)
    }

    /// Returns the name inside a message.
    fn quoted(&self) -> String {
        match self {
            Self::Stdin => "standard input".to_owned(),
            Self::File(path) => format!("`{}`", path.display()),
        }
    }

    /// Opens the origin. Shows progress if reading may take a while.
    pub(crate) fn open(&self, console: &Console) -> Result<Opened, Failure> {
        let failed = |error: &io::Error| Failure::read(&self.quoted(), error);
        let (read, len): (Box<dyn Read + Send>, _) = match self {
            Self::Stdin => {
                let stdin = io::stdin();
                if stdin.is_terminal() {
                    console.hint("reading standard input; end it with Ctrl-D");
                }
                (Box::new(stdin), None)
            }
            Self::File(path) => {
                let file = File::open(path).map_err(|error| failed(&error))?;
                let metadata = file.metadata().map_err(|error| failed(&error))?;
                if metadata.is_dir() {
                    return Err(Failure::Io(format!(
                        "cannot read {}: it is a folder, and this command reads one file; `check`, `convert`, `detect`, `fmt` and `tokens` read folders",
                        self.quoted()
                    )));
                }
                (Box::new(file), metadata.is_file().then_some(metadata.len()))
            }
        };
        let bar = progress(console, len);
        let read = Box::new(Unpacked::new(read));
        Ok(Opened {
            read,
            ahead: Vec::new(),
            given: 0,
            is_array: false,
            bar,
            quoted: self.quoted(),
        })
    }

    /// Reads the whole input, but at most `most` bytes.
    pub(crate) fn read(&self, most: usize, console: &Console) -> Result<Vec<u8>, Failure> {
        self.open(console)?.read_all(&self.name(), most, console)
    }

    /// Opens the origin as a document, or as lines that are documents: if the user requested it, if
    /// the name says so, or if the input begins with two lines of JSON.
    pub(crate) fn input(
        &self,
        from: Choice,
        jsonl: bool,
        most: usize,
        console: &Console,
    ) -> Result<Input, Failure> {
        let mut opened = self.open(console)?;
        let may_be_json = match from {
            Choice::Auto | Choice::Tokens(_) => true,
            Choice::Format(format) => is_json(format),
        };
        // The name can also mean that each line is an event of one response.
        let is_named = self.is_jsonl() && !(may_be_json && opened.begins_with_events()?);
        if jsonl || is_named || may_be_json && opened.begins_with_lines_of_json()? {
            return Ok(Input::Lines(opened));
        }
        let may_hold_records = matches!(from, Choice::Auto) || may_be_json && !ids(from);
        if may_hold_records && opened.begins_with_records()? {
            opened.is_array = true;
            return Ok(Input::Lines(opened));
        }
        opened.read_all(&self.name(), most, console).map(Input::Document)
    }
}

/// Whether token ids are read, which are JSON arrays.
fn ids(from: Choice) -> bool {
    matches!(from, Choice::Tokens(_))
}

/// The content of an origin.
pub(crate) enum Input {
    /// One document.
    Document(Vec<u8>),
    /// One document per line, or in each value of a JSON array.
    Lines(Opened),
}

/// An open input.
pub(crate) struct Opened {
    read: Box<dyn Read + Send>,
    /// Bytes that were read ahead, and the number of them that were returned.
    ahead: Vec<u8>,
    given: usize,
    /// Whether the documents are the values of a JSON array.
    pub(crate) is_array: bool,
    bar: Option<ProgressBar>,
    quoted: String,
}

/// The maximum number of bytes to read ahead to decide whether lines are documents.
const AHEAD_BYTES: usize = 16 << 20;

impl Opened {
    /// Reading failed.
    pub(crate) fn failed(&self, error: &io::Error) -> Failure {
        Failure::read(&self.quoted, error)
    }

    /// Reads the whole input, but at most `most` bytes.
    fn read_all(mut self, name: &str, most: usize, console: &Console) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let bound = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        let read = self.by_ref().take(bound).read_to_end(&mut bytes);
        console.stop_progress();
        read.map_err(|error| self.failed(&error))?;
        if bytes.len() > most {
            let text =
                format!("{name}: the input exceeds the limit `input_bytes` of {most} (E-LIMIT)");
            return Err(Failure::Refused(text));
        }
        Ok(bytes)
    }

    /// Whether each line is a JSON document, as far as the first lines show.
    fn begins_with_lines_of_json(&mut self) -> Result<bool, Failure> {
        let mut looked = Look::default();
        self.look(|ahead, ends| looked.at(ahead, ends))
    }

    /// Whether the first line is an event of a streamed response.
    fn begins_with_events(&mut self) -> Result<bool, Failure> {
        let mut looked = LookForEvent::default();
        self.look(|ahead, ends| looked.at(ahead, ends))
    }

    /// Whether the input is a JSON array of conversations, as far as the first one shows.
    fn begins_with_records(&mut self) -> Result<bool, Failure> {
        let mut looked = records::Look::default();
        self.look(|ahead, _| looked.at(ahead))
    }

    /// Reads ahead until an answer is known, or the input ends. Later reads return the bytes that
    /// were read for this.
    fn look(&mut self, mut at: impl FnMut(&[u8], bool) -> Option<bool>) -> Result<bool, Failure> {
        let mut chunk = vec![0; 64 << 10];
        loop {
            if let Some(answer) = at(&self.ahead, false) {
                return Ok(answer);
            }
            if self.ahead.len() > AHEAD_BYTES {
                return Ok(false);
            }
            let read = match self.read.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(|error| self.failed(&error))?,
            };
            if read == 0 {
                return Ok(at(&self.ahead, true).unwrap_or(false));
            }
            self.ahead.extend_from_slice(&chunk[..read]);
        }
    }
}

impl Read for Opened {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let ahead = &self.ahead[self.given..];
        let read = match ahead.len().min(buf.len()) {
            0 => self.read.read(buf)?,
            read => {
                buf[..read].copy_from_slice(&ahead[..read]);
                self.given += read;
                if self.given == self.ahead.len() {
                    (self.ahead, self.given) = (Vec::new(), 0);
                }
                read
            }
        };
        if let Some(bar) = &self.bar {
            bar.inc(u64::try_from(read).unwrap_or_default());
            if bar.is_hidden() && bar.position() > PROGRESS_BYTES {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        }
        Ok(read)
    }
}

/// Creates a progress bar for input of this size, if it is visible. If the size is unknown, the bar
/// appears after many bytes.
fn progress(console: &Console, len: Option<u64>) -> Option<ProgressBar> {
    if !console.wants_progress() || len.is_some_and(|len| len < PROGRESS_BYTES) {
        return None;
    }
    let (target, style) = match len {
        Some(_) => (
            ProgressDrawTarget::stderr(),
            "{bar:32} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        ),
        None => (ProgressDrawTarget::hidden(), "{spinner} {bytes}, {bytes_per_sec}"),
    };
    let bar = ProgressBar::with_draw_target(len, target);
    bar.set_style(ProgressStyle::with_template(style).ok()?);
    console.start_progress(bar.clone());
    Some(bar)
}
