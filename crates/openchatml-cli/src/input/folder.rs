//! Finds the files in folders.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;

use crate::failure::Failure;

/// The names of the files that are read, if the user names no others.
const NAMES: &[&str] = &["json", "jsonl", "ndjson", "txt", "ocml"];

/// The endings of compressed files.
const PACKED: &[&str] = &["", ".gz", ".zst"];

/// The endings of tables, which only `ocml data` reads.
const TABLES: &[&str] = &["parquet", "arrow"];

/// The file with patterns of files that are left out.
const IGNORE: &str = ".ocmlignore";

/// The files in a folder.
pub(super) struct Found {
    /// The files, in order of their paths.
    pub(super) files: Vec<PathBuf>,
    /// The links to folders, which are not followed.
    pub(super) links: Vec<PathBuf>,
    /// The tables, which are not read.
    pub(super) tables: Vec<PathBuf>,
}

/// Finds the files in a folder.
///
/// # Errors
///
/// A part of the folder cannot be read, a pattern is malformed, or there are no such files.
pub(super) fn files(folder: &Path, globs: &[String]) -> Result<Found, Failure> {
    let quoted = format!("`{}`", folder.display());
    let mut patterns = OverrideBuilder::new(folder);
    let usual =
        NAMES.iter().flat_map(|name| PACKED.iter().map(move |end| format!("*.{name}{end}")));
    // A pattern that leaves out files adds none.
    let adds = globs.iter().any(|glob| !glob.starts_with('!'));
    let tables = TABLES.iter().map(|name| format!("*.{name}"));
    let all: Vec<String> =
        usual.chain(tables).filter(|_| !adds).chain(globs.iter().cloned()).collect();
    for glob in &all {
        let added = patterns.add(glob);
        added.map_err(|error| Failure::Usage(format!("--glob `{glob}`: {error}")))?;
    }
    let patterns = patterns.build().map_err(|error| Failure::Usage(error.to_string()))?;
    let mut walk = WalkBuilder::new(folder);
    walk.standard_filters(false).hidden(true).add_custom_ignore_filename(IGNORE);
    // Overrides of the walk would take precedence over the ignored names, so the patterns are a
    // filter.
    walk.filter_entry(move |entry| {
        let is_folder = entry.path().is_dir();
        // `ocml data` writes what is not data to such files, as other tools do.
        let is_aside = !adds && entry.file_name().as_encoded_bytes().starts_with(b"_");
        entry.depth() == 0 || !is_aside && !patterns.matched(entry.path(), is_folder).is_ignore()
    });
    walk.sort_by_file_path(Path::cmp);
    let (mut files, mut links, mut tables) = (Vec::new(), Vec::new(), Vec::new());
    let is_table = |path: &Path| {
        !adds && path.extension().is_some_and(|it| TABLES.iter().any(|table| it == *table))
    };
    for entry in walk.build() {
        let entry =
            entry.map_err(|error| Failure::Refused(format!("cannot read {quoted}: {error}")))?;
        // A link to a file is read as the file, as in the cache of Hugging Face. A link to a folder
        // is not followed, because it can lead back.
        if entry.path_is_symlink() && entry.depth() > 0 {
            let found = if entry.path().is_dir() { &mut links } else { &mut files };
            found.push(entry.into_path());
        } else if entry.file_type().is_some_and(|kind| kind.is_file()) {
            let found = if is_table(entry.path()) { &mut tables } else { &mut files };
            found.push(entry.into_path());
        }
    }
    if files.is_empty() {
        let usual = || NAMES.iter().map(|name| format!("*.{name}")).collect::<Vec<_>>();
        let names = if adds { globs.to_vec() } else { usual() };
        let links = match links.as_slice() {
            [] => String::new(),
            [link, ..] => {
                format!("; links to folders, such as `{}`, are not followed", link.display())
            }
        };
        let tables = if tables.is_empty() { "" } else { "; `ocml data` reads its tables" };
        return Err(Failure::Usage(format!(
            "the folder {quoted} has no files named {}{links}{tables}",
            names.join(", ")
        )));
    }
    Ok(Found { files, links, tables })
}
