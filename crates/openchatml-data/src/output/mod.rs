//! Shards: output files of a kind, with checksums.

mod arrow;
mod encode;
mod parquet;
mod shard;

use std::str::FromStr;
use std::sync::Arc;

pub(crate) use self::encode::{Encoded, Encoder, Kept, field_of_lines, lines};
pub(crate) use self::shard::{Shard, ShardFile};
use crate::error::DataError;

/// Returns the error that a file cannot be written.
type Failed = Arc<dyn Fn(&dyn std::fmt::Display) -> DataError + Send + Sync>;

/// The kind of the output files.
///
/// ```
/// use openchatml_data::FileFormat;
///
/// assert_eq!("jsonl.gz".parse(), Ok(FileFormat::JsonlGzip));
/// assert_eq!(FileFormat::Parquet.ending(), "parquet");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileFormat {
    /// Lines of JSON.
    #[default]
    Jsonl,
    /// Lines of JSON, compressed with gzip.
    JsonlGzip,
    /// Lines of JSON, compressed with Zstandard.
    JsonlZstd,
    /// Parquet, compressed with Zstandard.
    Parquet,
    /// Arrow (Feather), compressed with Zstandard.
    Arrow,
}

impl FileFormat {
    /// All kinds.
    pub const ALL: &'static [Self] =
        &[Self::Jsonl, Self::JsonlGzip, Self::JsonlZstd, Self::Parquet, Self::Arrow];

    /// Returns the ending of the names of such files.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::JsonlGzip => "jsonl.gz",
            Self::JsonlZstd => "jsonl.zst",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    /// Whether the files have lines.
    pub(crate) const fn has_lines(self) -> bool {
        matches!(self, Self::Jsonl | Self::JsonlGzip | Self::JsonlZstd)
    }
}

impl FromStr for FileFormat {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|format| format.ending() == word);
        found.copied().ok_or("the kinds of files are jsonl, jsonl.gz, jsonl.zst, parquet and arrow")
    }
}
