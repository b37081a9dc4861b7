//! The files to read.

use std::path::{Path, PathBuf};

use clap::Args;

#[derive(Args, Clone, Debug)]
pub(crate) struct FilesArgs {
    /// Files, folders or patterns (`data/*.jsonl`) to read (`-` or none: standard input)
    ///
    /// Of a folder, all files named *.json, *.jsonl, *.ndjson, *.txt and *.ocml are read, also
    /// compressed ones (*.gz, *.zst), except hidden files, files that begin with `_`, and those
    /// that a file `.ocmlignore` names, in the syntax of `.gitignore`.
    pub(crate) files: Vec<PathBuf>,

    /// Of folders, read the files with such a name instead, such as `*.md`; `!` before a pattern
    /// leaves files out; can be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(crate) glob: Vec<String>,
}

impl FilesArgs {
    /// Returns the path of a file inside of the folder that the command line names, or its name if
    /// the command line names the file.
    pub(crate) fn inside<'p>(&self, path: &'p Path) -> &'p Path {
        let folders = self.files.iter().filter(|file| file.is_dir());
        let inside = folders.filter_map(|folder| path.strip_prefix(folder).ok());
        let name = path.file_name().map_or(path, Path::new);
        inside.min_by_key(|inside| inside.as_os_str().len()).unwrap_or(name)
    }
}
