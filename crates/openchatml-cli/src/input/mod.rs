//! Where documents come from, and where in a file their parts stand.

mod batches;
mod decode;
mod page;
mod slot;

pub(crate) use self::batches::{Batch, Batches};
pub(crate) use self::decode::Decoded;
pub(crate) use self::page::Page;
pub(crate) use self::slot::{Slot, detect_line};

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use openchatml::{Carrier, Code, Diagnostic, Format, Severity, Span, detect};

use crate::args::Choice;
use crate::console::Console;
use crate::failure::Failure;

/// Canonical JSON.
pub(crate) const JSON: Format = Format::JSON;

/// So much is read before anybody could look at a progress bar.
const PROGRESS_BYTES: u64 = 64 << 20;

/// Where a document comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

/// The origins that the command line names: `-` and nothing at all are standard input.
pub(crate) fn origins(files: &[PathBuf]) -> Vec<Origin> {
    if files.is_empty() {
        return vec![Origin::Stdin];
    }
    files.iter().map(|path| Origin::of(path)).collect()
}

impl Origin {
    /// The origin that one argument names.
    pub(crate) fn of(path: &Path) -> Self {
        if path.as_os_str() == "-" { Self::Stdin } else { Self::File(path.to_owned()) }
    }

    /// What people call it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdin => "<stdin>".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Whether its name says that each of its lines is a document.
    pub(crate) fn is_jsonl(&self) -> bool {
        matches!(self, Self::File(path) if path.extension().is_some_and(|ext| ext == "jsonl"))
    }

    /// Its name in a message of ours.
    fn quoted(&self) -> String {
        match self {
            Self::Stdin => "standard input".to_owned(),
            Self::File(path) => format!("`{}`", path.display()),
        }
    }

    /// Opens it, and shows progress while it is read if that may take a while.
    pub(crate) fn open(&self, console: &Console) -> Result<Opened, Failure> {
        let failed = |error: &io::Error| Failure::read(&self.quoted(), error);
        let (read, len): (Box<dyn Read + Send>, _) = match self {
            Self::Stdin => {
                let stdin = io::stdin();
                if stdin.is_terminal() {
                    console.hint("reading standard input: what you type is read, up to Ctrl-D");
                }
                (Box::new(stdin), None)
            }
            Self::File(path) => {
                let file = File::open(path).map_err(|error| failed(&error))?;
                let metadata = file.metadata().map_err(|error| failed(&error))?;
                if metadata.is_dir() {
                    return Err(failed(&io::ErrorKind::IsADirectory.into()));
                }
                (Box::new(file), metadata.is_file().then_some(metadata.len()))
            }
        };
        let bar = progress(console, len);
        Ok(Opened { read, bar, quoted: self.quoted() })
    }

    /// Reads all of it, but no more than `most` bytes.
    pub(crate) fn read(&self, most: usize, console: &Console) -> Result<Vec<u8>, Failure> {
        let mut opened = self.open(console)?;
        let mut bytes = Vec::new();
        let bound = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        let read = opened.by_ref().take(bound).read_to_end(&mut bytes);
        console.stop_progress();
        read.map_err(|error| opened.failed(&error))?;
        if bytes.len() > most {
            let text = format!(
                "{}: the input exceeds the limit `input_bytes` of {most} (E-LIMIT)",
                self.name()
            );
            return Err(Failure::Refused(text));
        }
        Ok(bytes)
    }
}

/// Something that is being read.
pub(crate) struct Opened {
    read: Box<dyn Read + Send>,
    bar: Option<ProgressBar>,
    quoted: String,
}

impl Opened {
    /// Reading failed.
    pub(crate) fn failed(&self, error: &io::Error) -> Failure {
        Failure::read(&self.quoted, error)
    }
}

impl Read for Opened {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.read.read(buf)?;
        if let Some(bar) = &self.bar {
            bar.inc(u64::try_from(read).unwrap_or_default());
            if bar.is_hidden() && bar.position() > PROGRESS_BYTES {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        }
        Ok(read)
    }
}

/// A bar for something that is so long, if anybody will see it. Where nobody knows how long it is,
/// the bar appears once that was a lot.
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

/// Why a document cannot be read at all.
pub(crate) enum Unreadable<'d> {
    /// It is no text: this was found.
    NoText(&'d [Diagnostic]),
    /// Nothing speaks for any format.
    NoFormat(Failure),
}

/// The format of a document: the one that was named, or the likeliest.
///
/// # Errors
///
/// It is no text, or nothing speaks for any format.
pub(crate) fn format_of<'d>(
    choice: Choice,
    decoded: &'d Decoded<'_>,
    name: &str,
    console: &Console,
) -> Result<Format, Unreadable<'d>> {
    if decoded.is_no_text() {
        return Err(Unreadable::NoText(&decoded.found));
    }
    match choice {
        Choice::Format(format) => return Ok(format),
        // They are JSON, whatever they stand for.
        Choice::Tokens(_) => return Ok(JSON),
        Choice::Auto => {}
    }
    let found = detect(&decoded.text);
    let is_object = begins_an_object(&decoded.text);
    if let Some(found) = found.first().filter(|found| is_json(found.format) || !is_object) {
        let sure = found.confidence;
        console.detail(&format!("{name}: detected {} ({sure} %)", found.format));
        return Ok(found.format);
    }
    if is_object {
        // What is broken JSON does not become markup because its strings have some in them, and
        // its reader can say where it is broken.
        console.detail(&format!("{name}: nothing detected; read as {}", JSON.dialect().id));
        return Ok(JSON);
    }
    Err(match decoded.found.as_slice() {
        [] => Unreadable::NoFormat(undetected(name)),
        // One reason is enough.
        [first, ..] => Unreadable::NoText(std::slice::from_ref(first)),
    })
}

/// Whether a text begins like a JSON object. No other format does.
fn begins_an_object(text: &str) -> bool {
    text.trim_start()
        .strip_prefix('{')
        .is_some_and(|rest| rest.trim_start().starts_with(['"', '}']))
}

/// Nothing speaks for any format.
pub(crate) fn undetected(name: &str) -> Failure {
    Failure::Refused(format!("{name}: no format is detected; name one with `--from`"))
}

/// A finding of ours rather than of a reader.
pub(crate) fn finding(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic {
        code,
        severity: Severity::Error,
        span,
        message: message.into(),
        help: None,
        fix: None,
        pointer: None,
    }
}

/// Whether documents of this format are JSON.
pub(crate) fn is_json(format: Format) -> bool {
    format.carrier() == Carrier::Json
}
