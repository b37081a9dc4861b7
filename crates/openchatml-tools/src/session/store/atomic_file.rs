//! A file that is replaced atomically.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The path of a file that is replaced as a whole.
#[derive(Debug)]
pub(super) struct AtomicFile {
    folder: PathBuf,
    name: OsString,
}

impl AtomicFile {
    /// Resolves the path of a file. If it is a symbolic link, the file is its target.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let path = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                return Err(io::Error::other("it is not a regular file"));
            }
            // A rename would replace a read-only file without an error.
            Ok(metadata) if metadata.permissions().readonly() => {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            Ok(_) => fs::canonicalize(path)?,
            Err(_) => path.to_owned(),
        };
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        Ok(Self { folder, name })
    }

    /// Returns the path of an auxiliary file in the same directory.
    pub(super) fn beside(&self, what: &str) -> PathBuf {
        let mut name = OsString::from(".");
        name.push(&self.name);
        name.push(".ocml-");
        name.push(what);
        self.folder.join(name)
    }

    /// Replaces the content. The new content is on the disk when this returns.
    ///
    /// The temporary file always has the same name, so that crashes leave at most one. Only the
    /// owner of the journal's lock writes it.
    pub(super) fn replace(&self, content: &[u8]) -> io::Result<()> {
        let (target, draft) = (self.folder.join(&self.name), self.beside("draft"));
        let old = fs::metadata(&target).ok().map(|metadata| metadata.permissions());
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&draft)?;
        let written = (|| {
            if let Some(old) = old {
                file.set_permissions(old)?;
            }
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&draft, &target)
        })();
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written?;
        sync_folder(&self.folder)
    }
}

/// Syncs a directory, so that the names of its files are on the disk.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Other systems cannot sync a directory.
#[cfg(not(unix))]
pub(super) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether the file is still the one at this path.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let own = file.metadata()?;
    Ok(fs::metadata(path).is_ok_and(|at| (at.dev(), at.ino()) == (own.dev(), own.ino())))
}

/// Other systems do not rename or remove an open file.
#[cfg(not(unix))]
pub(super) fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}
