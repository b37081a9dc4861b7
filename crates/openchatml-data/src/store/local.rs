//! Files of this machine.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;

use super::stream::Stream;
use super::{Blob, NewFile, Store};

/// The files of this machine.
pub(super) struct Local;

/// The file that a run locks in its folder.
const LOCK: &str = ".lock";

/// The ending of files that are not finished.
const UNFINISHED: &str = ".unfinished";

struct LocalBlob {
    file: File,
    len: u64,
    version: String,
}

impl Blob for LocalBlob {
    fn len(&self) -> u64 {
        self.len
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn read_at(&self, start: u64, len: usize) -> io::Result<Bytes> {
        let mut bytes = Vec::new();
        self.append_at(start, len, &mut bytes)?;
        Ok(bytes.into())
    }

    fn chunk(&self) -> usize {
        256 << 10
    }

    fn append_at(&self, start: u64, len: usize, out: &mut Vec<u8>) -> io::Result<usize> {
        let left = usize::try_from(self.len.saturating_sub(start)).unwrap_or(usize::MAX);
        let first = out.len();
        out.resize(first + len.min(left), 0);
        let mut filled = first;
        let read = loop {
            let at = start + u64::try_from(filled - first).unwrap_or_default();
            match read_at(&self.file, &mut out[filled..], at) {
                Ok(0) => break Ok(filled - first),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        out.truncate(filled);
        read
    }
}

#[cfg(unix)]
fn read_at(file: &File, buf: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buf, at)
}

#[cfg(windows)]
fn read_at(file: &File, buf: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buf, at)
}

#[cfg(unix)]
fn is_pipe(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &fs::Metadata) -> bool {
    false
}

/// A file with another name until it is finished.
struct LocalFile {
    file: File,
    unfinished: PathBuf,
    path: PathBuf,
    is_finished: bool,
}

impl Write for LocalFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.file.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl NewFile for LocalFile {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.unfinished, &self.path)?;
        self.is_finished = true;
        sync_folder(&self.path)
    }
}

impl Drop for LocalFile {
    fn drop(&mut self) {
        if !self.is_finished {
            // A failure that is already reported ends the run: the next one replaces the file.
            let _ = fs::remove_file(&self.unfinished);
        }
    }
}

/// Makes the name of a file permanent.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        #[cfg(unix)]
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

impl Store for Local {
    fn open(&self, path: &str) -> io::Result<Arc<dyn Blob>> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if is_pipe(&metadata) {
            return Ok(Arc::new(Stream::new(Box::new(file))));
        }
        if !metadata.is_file() {
            let what = "it is a device, not a file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let changed = metadata.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
        let version = changed.map_or_else(String::new, |time| time.as_nanos().to_string());
        Ok(Arc::new(LocalBlob { file, len: metadata.len(), version }))
    }

    fn create(&self, path: &str) -> io::Result<Box<dyn NewFile>> {
        let path = PathBuf::from(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut unfinished = path.clone().into_os_string();
        unfinished.push(UNFINISHED);
        let unfinished = PathBuf::from(unfinished);
        let file = File::create(&unfinished)?;
        Ok(Box::new(LocalFile { file, unfinished, path, is_finished: false }))
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(path) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut files = Vec::new();
        let mut folders = vec![PathBuf::from(folder)];
        while let Some(folder) = folders.pop() {
            let entries = match fs::read_dir(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries?,
            };
            for entry in entries {
                let entry = entry?;
                if entry.file_name() == LOCK {
                    continue;
                }
                match entry.file_type()?.is_dir() {
                    true => folders.push(entry.path()),
                    false => files.push(entry.path().display().to_string()),
                }
            }
        }
        files.sort();
        Ok(files)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn lock(&self, folder: &str) -> io::Result<Box<dyn Send>> {
        fs::create_dir_all(folder)?;
        let path = Path::new(folder).join(LOCK);
        let file = File::create(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Box::new(Lock { file, path })),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// A locked folder.
struct Lock {
    file: File,
    path: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is locked, no other process can have locked a file with this name.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}
