//! Files as batches of rows, with the place of each row.

mod bytes;
mod elements;
mod lines;
mod tables;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use self::bytes::Bytes;
use self::elements::Elements;
use self::lines::Lines;
use self::tables::Table;
use crate::error::DataError;
use crate::foreign::foreign_kind;
use crate::store::{Blob, open};

/// Some rows of a file.
#[derive(Debug)]
pub(crate) struct Rows {
    /// The rows; of a file of lines, the lines that are not blank, as bytes.
    pub(crate) batch: RecordBatch,
    /// The number of each row in the file, from 1, and its first byte, if the file has lines.
    pub(crate) places: Vec<RowPlace>,
    /// The lines that exceed the limit.
    pub(crate) too_long: Vec<LongLine>,
    /// The size in memory.
    pub(crate) bytes: usize,
    /// Where the rows end.
    pub(crate) end: Position,
}

/// The place of a row in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowPlace {
    pub(crate) row: u64,
    pub(crate) byte: u64,
}

/// A line that is too long to be read.
#[derive(Clone, Debug)]
pub(crate) struct LongLine {
    pub(crate) place: RowPlace,
    pub(crate) bytes: u64,
    /// Its first bytes.
    pub(crate) beginning: Vec<u8>,
}

/// The number of rows before a place in a file, including blank lines, and of bytes, if the file
/// has lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

/// The limits of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchLimits {
    pub(crate) rows: usize,
    /// A batch ends with the row that reaches this size.
    pub(crate) bytes: usize,
    /// The limit for one line.
    pub(crate) line: usize,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Lines of JSON, compressed or not.
    Lines(Compression),
    /// One JSON array of records, compressed or not.
    Elements(Compression),
    Parquet,
    /// An Arrow file with an index at its end.
    ArrowFile,
    /// A stream of Arrow batches.
    ArrowStream,
}

/// How the lines of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// A file whose kind is known.
#[derive(Clone)]
pub(crate) struct InputFile {
    /// Its location, as it was named.
    pub(crate) name: String,
    pub(crate) kind: FileKind,
    pub(crate) blob: Arc<dyn Blob>,
}

/// The endings of texts that are not JSON, and what they are.
const OTHER_ENDINGS: &[(&[&str], &str)] = &[
    (&[".csv", ".tsv"], "it is a table as text: write its records as JSONL or Parquet first"),
    (&[".yaml", ".yml"], "it is YAML: write its records as JSONL first"),
];

/// What a file is, if it is of no kind that can be read.
fn other_kind(name: &str, first: &[u8]) -> Option<&'static str> {
    if let Some(what) = foreign_kind(first) {
        return Some(what);
    }
    // A file of JSON can have any name.
    let is_json = first.trim_ascii_start().first().is_none_or(|byte| matches!(byte, b'{' | b'['));
    let name = name.to_ascii_lowercase();
    let has = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let other = OTHER_ENDINGS.iter().filter(|_| !is_json).find(|(endings, _)| has(endings));
    other.map(|(_, what)| *what)
}

impl InputFile {
    /// Opens a file, and looks at its first bytes.
    pub(crate) fn open(name: &str) -> Result<Self, DataError> {
        let (blob, name) = open(name)?;
        let name = name.as_str();
        let failed = |error| DataError::input(name, error);
        let first = blob.read_at(0, 16).map_err(failed)?;
        if let Some(what) = other_kind(name, &first) {
            return Err(DataError::input(name, what));
        }
        let lines = |compression| match elements::is_array(&Bytes::head(&blob, compression)) {
            true => FileKind::Elements(compression),
            false => FileKind::Lines(compression),
        };
        let kind = match first.as_ref() {
            [0x1F, 0x8B, ..] => lines(Compression::Gzip),
            [0x28, 0xB5, 0x2F, 0xFD, ..] => lines(Compression::Zstd),
            [b'P', b'A', b'R', b'1', ..] => FileKind::Parquet,
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] => FileKind::ArrowFile,
            [0xFF, 0xFF, 0xFF, 0xFF, ..] => FileKind::ArrowStream,
            first if elements::may_be_array(first) => lines(Compression::None),
            _ => FileKind::Lines(Compression::None),
        };
        let is_table = !matches!(kind, FileKind::Lines(_) | FileKind::Elements(_));
        if is_table && blob.is_stream() {
            let what = "tables are not read from their beginning to their end: name a file";
            return Err(DataError::input(name, what));
        }
        Ok(Self { name: name.to_owned(), kind, blob })
    }

    /// Whether the file has lines.
    pub(crate) fn has_lines(&self) -> bool {
        matches!(self.kind, FileKind::Lines(_) | FileKind::Elements(_))
    }

    /// Returns the columns of the file, or `None` if it has lines.
    pub(crate) fn schema(&self) -> Result<Option<SchemaRef>, DataError> {
        match self.kind {
            FileKind::Lines(_) | FileKind::Elements(_) => Ok(None),
            _ => Table::schema(self).map(Some),
        }
    }

    /// Starts to read the rows after a position.
    pub(crate) fn rows(&self, from: Position, limits: BatchLimits) -> Result<Source, DataError> {
        match self.kind {
            FileKind::Lines(compression) => {
                Lines::new(self, compression, from, limits).map(Source::Lines)
            }
            FileKind::Elements(compression) => {
                Elements::new(self, compression, from, limits).map(Source::Elements)
            }
            _ => Table::new(self, from, limits).map(Source::Table),
        }
    }
}

impl Rows {
    /// The number of records, including those that are too long.
    pub(crate) fn count(&self) -> u64 {
        u64::try_from(self.places.len() + self.too_long.len()).unwrap_or_default()
    }
}

/// The rows of a file.
pub(crate) enum Source {
    Lines(Lines),
    Elements(Elements),
    Table(Table),
}

impl Source {
    /// Returns the next rows: at most `most` of them.
    pub(crate) fn next(&mut self, most: usize) -> Result<Option<Rows>, DataError> {
        match self {
            Self::Lines(lines) => lines.next(most),
            Self::Elements(elements) => elements.next(most),
            Self::Table(table) => table.next(most),
        }
    }
}
