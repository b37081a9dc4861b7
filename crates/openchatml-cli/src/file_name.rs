//! What the endings of a file's name say about its content.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// Returns the compression that the last ending of a name says: `.gz`, `.zst` or `.zstd`.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "gz" => Some(Self::Gzip),
            "zst" | "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Splits a name into the name of the unpacked file and the ending of the compression.
fn unpacked(path: &Path) -> (PathBuf, Option<&OsStr>) {
    match Compression::of(path) {
        Some(_) => (path.with_extension(""), path.extension()),
        None => (path.to_owned(), None),
    }
}

/// Changes the name of the unpacked file, and keeps the ending of the compression.
pub(crate) fn rename_unpacked(path: &Path, rename: impl FnOnce(PathBuf) -> PathBuf) -> PathBuf {
    let (name, ending) = unpacked(path);
    let name = rename(name);
    let Some(ending) = ending else { return name };
    let mut name = name.into_os_string();
    name.push(".");
    name.push(ending);
    name.into()
}

/// Whether each line of the unpacked file is a document: `.jsonl`, `.ndjson`.
pub(crate) fn is_jsonl(path: &Path) -> bool {
    let (name, _) = unpacked(path);
    ends_with(&name, &["jsonl", "ndjson"])
}

/// Whether the unpacked file is one JSON document: `.json`.
pub(crate) fn is_json(path: &Path) -> bool {
    let (name, _) = unpacked(path);
    ends_with(&name, &["json"])
}

/// Whether a name has one of these endings.
pub(crate) fn ends_with(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|end| endings.iter().any(|ending| end == *ending))
}
