//! Replaces files atomically.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};

use tempfile::{Builder, NamedTempFile};

/// The existing temporary files, which are removed if the process is told to end.
static DRAFTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// New content of a file, in a temporary file next to it until it is complete.
#[derive(Debug)]
pub(super) struct Draft {
    file: Option<NamedTempFile>,
    target: PathBuf,
}

impl Draft {
    /// Starts new content for `target`, which may not exist.
    pub(super) fn beside(target: &Path) -> io::Result<Self> {
        remove_drafts_at_the_end();
        // The target of a link is replaced, not the link.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = Builder::new();
        builder.prefix(".ocml-").suffix(".tmp");
        let old = fs::metadata(&target).ok().map(|metadata| metadata.permissions());
        match old {
            // Replacing a file requires the permission to write it.
            Some(old) if old.readonly() => return Err(io::ErrorKind::PermissionDenied.into()),
            Some(old) => builder.permissions(old),
            None => builder.permissions(permissions_of_a_new_file()),
        };
        let file = builder.tempfile_in(folder)?;
        if let Ok(mut drafts) = DRAFTS.lock() {
            drafts.push(file.path().to_owned());
        }
        Ok(Self { file: Some(file), target })
    }

    /// Replaces the old content by the new content.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let path = file.path().to_owned();
        let finished = persist(file, &self.target);
        forget(&path);
        finished
    }
}

fn persist(file: NamedTempFile, target: &Path) -> io::Result<()> {
    if let Ok(old) = fs::metadata(target) {
        // The mask of the process applies to a new file, but not to an existing one.
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(target).map(drop).map_err(|error| error.error)
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            let path = file.path().to_owned();
            drop(file);
            forget(&path);
        }
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), NamedTempFile::flush)
    }
}

#[cfg(unix)]
fn permissions_of_a_new_file() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode(0o666)
}

#[cfg(not(unix))]
fn permissions_of_a_new_file() -> fs::Permissions {
    // On other systems the only permission is to write, and a new file has it.
    let template = tempfile::tempfile().and_then(|file| file.metadata());
    template.map(|metadata| metadata.permissions()).expect("a new file has permissions")
}

fn forget(path: &Path) {
    if let Ok(mut drafts) = DRAFTS.lock() {
        drafts.retain(|draft| draft != path);
    }
}

/// Removes temporary files if the process is told to end.
fn remove_drafts_at_the_end() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let end = || {
            for draft in DRAFTS.lock().iter().flat_map(|drafts| drafts.iter()) {
                let _ = fs::remove_file(draft);
            }
            // The exit status that a shell reports for an interrupted process.
            std::process::exit(130);
        };
        // Without a handler, at most a temporary file remains.
        let _ = ctrlc::set_handler(end);
    });
}
