//! Where files are: on this machine, or in an object store.

mod glob;
mod local;
#[cfg(feature = "object-store")]
mod remote;
mod stream;

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

pub(crate) use self::glob::expand;
use self::local::Local;
use crate::error::DataError;

/// A file that can be read at any position.
pub(crate) trait Blob: Send + Sync {
    /// The size in bytes.
    fn len(&self) -> u64;

    /// What tells versions of the file apart: its time of change, or its tag.
    fn version(&self) -> &str;

    /// Whether the bytes can be read only once.
    fn is_stream(&self) -> bool {
        false
    }

    /// Reads bytes, as many as there are.
    fn read_at(&self, start: u64, len: usize) -> io::Result<Bytes>;

    /// The size of one read when the file is read from its beginning to its end.
    fn chunk(&self) -> usize {
        1 << 20
    }

    /// Reads bytes to the end of `out`, and returns their number.
    fn append_at(&self, start: u64, len: usize, out: &mut Vec<u8>) -> io::Result<usize> {
        let bytes = self.read_at(start, len)?;
        out.extend_from_slice(&bytes);
        Ok(bytes.len())
    }
}

/// A file that is being written. It appears under its name when it is finished, as a whole.
pub(crate) trait NewFile: Write + Send {
    /// Stores the file permanently, under its name.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// A place for files.
pub(crate) trait Store: Send + Sync {
    /// Opens a file.
    fn open(&self, path: &str) -> io::Result<Arc<dyn Blob>>;

    /// Starts to write a file.
    fn create(&self, path: &str) -> io::Result<Box<dyn NewFile>>;

    /// Writes a small file as a whole.
    fn write(&self, path: &str, content: &[u8]) -> io::Result<()> {
        let mut new = self.create(path)?;
        new.write_all(content)?;
        new.finish()
    }

    /// Returns the content of a small file, or `None` if there is no such file.
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>>;

    /// Returns the paths of all files in a folder and its folders, sorted.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Removes a file, if there is one.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Takes a folder for this process, until the result is dropped.
    fn lock(&self, folder: &str) -> io::Result<Box<dyn Send>>;
}

/// Returns the store of a location and the path in it.
///
/// # Errors
///
/// The location is a URL that this build does not support, or that is malformed.
pub(crate) fn store(location: &str) -> Result<(Arc<dyn Store>, String), DataError> {
    if !is_url(location) {
        return Ok((Arc::new(Local), location.to_owned()));
    }
    #[cfg(feature = "object-store")]
    return remote::store(location);
    #[cfg(not(feature = "object-store"))]
    return Err(DataError::usage(format!(
        "`{location}`: this build has no object stores; build it with the feature `object-store`"
    )));
}

/// The location of standard input, and its name in messages.
pub(crate) const STDIN: (&str, &str) = ("-", "<stdin>");

/// Opens an input, and returns its name for messages.
pub(crate) fn open(location: &str) -> Result<(Arc<dyn Blob>, String), DataError> {
    if location == STDIN.0 {
        let blob = stream::stdin().map_err(|error| DataError::usage(error.to_string()))?;
        return Ok((blob, STDIN.1.to_owned()));
    }
    let (store, path) = store(location)?;
    let blob = store.open(&path).map_err(|error| DataError::input(location, error))?;
    Ok((blob, location.to_owned()))
}

/// Whether a location is a URL and not a path.
pub(crate) fn is_url(location: &str) -> bool {
    location.split_once("://").is_some_and(|(scheme, _)| {
        scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Reads a file from a position on.
pub(crate) struct BlobReader {
    blob: Arc<dyn Blob>,
    at: u64,
    ahead: Bytes,
    chunk: usize,
}

impl BlobReader {
    /// Starts to read at the beginning.
    pub(crate) fn new(blob: Arc<dyn Blob>) -> Self {
        let chunk = blob.chunk();
        Self { blob, at: 0, ahead: Bytes::new(), chunk }
    }

    /// Starts to read at a position, in small steps.
    pub(crate) fn at(blob: Arc<dyn Blob>, at: u64) -> Self {
        Self { blob, at, ahead: Bytes::new(), chunk: 64 << 10 }
    }

    /// Reads a chunk to the end of `out`, without a copy between. Returns 0 at the end of the file.
    pub(crate) fn append(&mut self, out: &mut Vec<u8>) -> io::Result<usize> {
        let ahead = std::mem::take(&mut self.ahead);
        out.extend_from_slice(&ahead);
        let read = match ahead.is_empty() {
            true => self.blob.append_at(self.at, self.chunk, out)?,
            false => ahead.len(),
        };
        self.at += u64::try_from(read).unwrap_or_default();
        Ok(read)
    }
}

impl Read for BlobReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.ahead.is_empty() {
            self.ahead = self.blob.read_at(self.at, self.chunk)?;
        }
        let read = self.ahead.len().min(buf.len());
        buf[..read].copy_from_slice(&self.ahead.split_to(read));
        self.at += u64::try_from(read).unwrap_or_default();
        Ok(read)
    }
}

impl Seek for BlobReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.blob.len().checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        self.ahead = Bytes::new();
        Ok(self.at)
    }
}

/// Reads at most `len` bytes to the end of `out`. Returns 0 at the end.
pub(crate) fn append_from(from: &mut dyn Read, len: usize, out: &mut Vec<u8>) -> io::Result<usize> {
    let first = out.len();
    out.resize(first + len, 0);
    let read = loop {
        match from.read(&mut out[first..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read,
        }
    };
    out.truncate(first + *read.as_ref().unwrap_or(&0));
    read
}

/// A folder for outputs.
#[derive(Clone)]
pub(crate) struct Folder {
    store: Arc<dyn Store>,
    path: String,
    /// The name for messages.
    name: String,
}

impl Folder {
    /// Returns the folder at a location. It may not exist yet.
    pub(crate) fn new(location: &str) -> Result<Self, DataError> {
        let name = location.trim_end_matches('/').to_owned();
        let (store, path) = store(&name)?;
        Ok(Self { store, path, name })
    }

    /// Whether a location is in the folder or in one of its folders.
    pub(crate) fn contains(&self, location: &str) -> bool {
        if is_url(&self.name) || is_url(location) {
            let inner = location.strip_prefix(&self.name);
            return inner.is_some_and(|inner| inner.is_empty() || inner.starts_with('/'));
        }
        let place = |path: &str| {
            let path = Path::new(path);
            path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_default()
        };
        place(location).starts_with(place(&self.name))
    }

    fn inside(&self, file: &str) -> String {
        match self.path.is_empty() {
            true => file.to_owned(),
            false => format!("{}/{file}", self.path),
        }
    }

    /// The name of a file for messages.
    pub(crate) fn name_of(&self, file: &str) -> String {
        format!("{}/{file}", self.name)
    }

    fn failed(&self, file: &str) -> impl FnOnce(io::Error) -> DataError + use<> {
        let name = self.name_of(file);
        move |error| DataError::output(name, error)
    }

    pub(crate) fn create(&self, file: &str) -> Result<Box<dyn NewFile>, DataError> {
        self.store.create(&self.inside(file)).map_err(self.failed(file))
    }

    /// Writes a small file as a whole.
    pub(crate) fn write(&self, file: &str, content: &[u8]) -> Result<(), DataError> {
        self.store.write(&self.inside(file), content).map_err(self.failed(file))
    }

    pub(crate) fn read(&self, file: &str) -> Result<Option<Vec<u8>>, DataError> {
        let read = self.store.read(&self.inside(file));
        read.map_err(|error| DataError::input(&self.name_of(file), error))
    }

    /// Returns the size of a file, if there is one.
    pub(crate) fn size(&self, file: &str) -> Option<u64> {
        self.store.open(&self.inside(file)).ok().map(|blob| blob.len())
    }

    /// Returns the names of all files, in the folder and in its folders.
    pub(crate) fn files(&self) -> Result<Vec<String>, DataError> {
        let listed = self.store.list(&self.path);
        let listed = listed.map_err(|error| DataError::input(&self.name, error))?;
        let start = if self.path.is_empty() { 0 } else { self.path.len() + 1 };
        Ok(listed.iter().filter_map(|path| path.get(start..)).map(str::to_owned).collect())
    }

    pub(crate) fn remove(&self, file: &str) -> Result<(), DataError> {
        self.store.remove(&self.inside(file)).map_err(self.failed(file))
    }

    /// Takes the folder for this process.
    pub(crate) fn lock(&self) -> Result<Box<dyn Send>, DataError> {
        self.store.lock(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => DataError::usage(format!(
                "another run writes to `{}`: wait for it, or name another folder",
                self.name
            )),
            _ => DataError::output(self.name.clone(), error),
        })
    }
}
