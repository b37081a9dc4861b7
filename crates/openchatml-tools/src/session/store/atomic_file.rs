//! A file that is replaced atomically.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The place of a file.
#[derive(Debug)]
pub(super) struct AtomicFile {
    folder: PathBuf,
    name: OsString,
}

impl AtomicFile {
    /// The place of the file at this path; of what it leads to, if it is a link.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let path = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                return Err(io::Error::other("it is not a regular file"));
            }
            // To replace it is to write it.
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

    /// The path of a file of ours beside it.
    pub(super) fn beside(&self, what: &str) -> PathBuf {
        let mut name = OsString::from(".");
        name.push(&self.name);
        name.push(".ocml-");
        name.push(what);
        self.folder.join(name)
    }

    /// Puts a new content in the place of the old one. It is on the disk when this returns.
    ///
    /// Its draft has always the same name, so that crashes leave one behind at most. Whoever has the
    /// journal's lock is the only one who writes it.
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

/// A name in a folder is on the disk when the folder is.
#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Elsewhere folders are no files.
#[cfg(not(unix))]
pub(super) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether this path still leads to this file.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let own = file.metadata()?;
    Ok(fs::metadata(path).is_ok_and(|at| (at.dev(), at.ino()) == (own.dev(), own.ino())))
}

/// Elsewhere a file that is open stays where it is.
#[cfg(not(unix))]
pub(super) fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}
