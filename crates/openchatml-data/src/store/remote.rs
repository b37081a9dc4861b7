//! Files of object stores: S3 and what is compatible with it, Google Cloud Storage, Azure, and web
//! servers.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::{HttpClient, HttpConnector};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{
    ClientOptions, ObjectStore, ObjectStoreExt as _, ObjectStoreScheme, WriteMultipart,
};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::runtime::Runtime;
use url::Url;

use super::{Blob, NewFile, Store};
use crate::error::DataError;

/// How often a range is requested before reading fails. The library also repeats requests that
/// fail at once; these are connections that break later.
const ATTEMPTS: usize = 4;

/// The size of a part of an upload.
const PART_BYTES: usize = 8 << 20;

/// The number of parts that are uploaded at once.
const UPLOADS: usize = 4;

/// An object store, or a folder in one.
struct Remote {
    store: Arc<dyn ObjectStore>,
}

struct RemoteBlob {
    store: Arc<dyn ObjectStore>,
    path: Path,
    len: u64,
    version: String,
}

struct RemoteFile {
    upload: Option<WriteMultipart>,
}

/// The runtime of all requests. The threads that read and write wait for it.
fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| runtime))
}

/// Waits for a request.
fn wait<T>(request: impl Future<Output = object_store::Result<T>>) -> io::Result<T> {
    runtime()?.block_on(request).map_err(|error| {
        let kind = match error {
            object_store::Error::NotFound { .. } => io::ErrorKind::NotFound,
            object_store::Error::PermissionDenied { .. }
            | object_store::Error::Unauthenticated { .. } => io::ErrorKind::PermissionDenied,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    })
}

/// Connects with the same TLS as the rest of this project.
#[derive(Debug)]
struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            object_store::Error::Generic { store: "HTTP client", source: error }
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(BuilderVerifierExt::with_platform_verifier)
            .map_err(|error| failed(error.into()))?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(config.with_no_client_auth())
            .connect_timeout(Duration::from_secs(10))
            .read_timeout(Duration::from_secs(60))
            .build()
            .map_err(|error| failed(error.into()))?;
        Ok(HttpClient::new(client))
    }
}

/// Returns the store of a URL and the path in it. Credentials and endpoints are environment
/// variables: `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT`, `AZURE_STORAGE_ACCOUNT_KEY`, …
pub(super) fn store(location: &str) -> Result<(Arc<dyn Store>, String), DataError> {
    let wrong = |error: &dyn std::fmt::Display| DataError::usage(format!("`{location}`: {error}"));
    let url = Url::parse(location).map_err(|error| wrong(&error))?;
    let (scheme, path) = ObjectStoreScheme::parse(&url).map_err(|error| wrong(&error))?;
    let store = match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let builder = AmazonS3Builder::from_env().with_url(location);
            builder.with_http_connector(Connector).build().map(|store| Arc::new(store) as _)
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            let builder = GoogleCloudStorageBuilder::from_env().with_url(location);
            builder.with_http_connector(Connector).build().map(|store| Arc::new(store) as _)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let builder = MicrosoftAzureBuilder::from_env().with_url(location);
            builder.with_http_connector(Connector).build().map(|store| Arc::new(store) as _)
        }
        ObjectStoreScheme::Http => {
            let builder = HttpBuilder::new().with_url(&url[..url::Position::BeforePath]);
            builder.with_http_connector(Connector).build().map(|store| Arc::new(store) as _)
        }
        _ => return Err(wrong(&"such locations are not supported")),
    };
    let store: Arc<dyn ObjectStore> = store.map_err(|error| wrong(&error))?;
    Ok((Arc::new(Remote { store }), path.to_string()))
}

impl Blob for RemoteBlob {
    fn len(&self) -> u64 {
        self.len
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn read_at(&self, start: u64, len: usize) -> io::Result<Bytes> {
        let end = start.saturating_add(u64::try_from(len).unwrap_or(u64::MAX)).min(self.len);
        if start >= end {
            return Ok(Bytes::new());
        }
        let mut attempt = 1;
        loop {
            match wait(self.store.get_range(&self.path, start..end)) {
                Err(error) if error.kind() == io::ErrorKind::Other && attempt < ATTEMPTS => {
                    attempt += 1;
                }
                read => return read,
            }
        }
    }
}

impl Write for RemoteFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let Some(upload) = &mut self.upload else { return Err(io::ErrorKind::BrokenPipe.into()) };
        // Starting a part needs the runtime.
        let _entered = runtime()?.enter();
        wait(upload.wait_for_capacity(UPLOADS))?;
        upload.write(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for RemoteFile {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        match self.upload.take() {
            Some(upload) => wait(upload.finish()).map(drop),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for RemoteFile {
    fn drop(&mut self) {
        if let Some(upload) = self.upload.take() {
            // The parts have no name yet. Stores remove them after some time if this fails.
            let _ = wait(upload.abort());
        }
    }
}

impl Store for Remote {
    fn open(&self, path: &str) -> io::Result<Arc<dyn Blob>> {
        let path = Path::from(path);
        let found = wait(self.store.head(&path))?;
        let version = found.e_tag.unwrap_or_else(|| found.last_modified.to_rfc3339());
        Ok(Arc::new(RemoteBlob { store: self.store.clone(), path, len: found.size, version }))
    }

    fn create(&self, path: &str) -> io::Result<Box<dyn NewFile>> {
        let upload = wait(self.store.put_multipart(&Path::from(path)))?;
        let upload = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        Ok(Box::new(RemoteFile { upload: Some(upload) }))
    }

    fn write(&self, path: &str, content: &[u8]) -> io::Result<()> {
        let content = Bytes::copy_from_slice(content);
        wait(self.store.put(&Path::from(path), content.into())).map(drop)
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        let path = Path::from(path);
        let read = wait(async { self.store.get(&path).await?.bytes().await });
        match read {
            Ok(content) => Ok(Some(content.to_vec())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let prefix = Path::from(folder);
        let found = wait(self.store.list(Some(&prefix)).try_collect::<Vec<_>>())?;
        let mut files: Vec<_> = found.into_iter().map(|it| it.location.to_string()).collect();
        files.sort();
        Ok(files)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        match wait(self.store.delete(&Path::from(path))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Takes the folder for this process only: object stores have no locks.
    fn lock(&self, folder: &str) -> io::Result<Box<dyn Send>> {
        static LOCKED: Mutex<Vec<String>> = Mutex::new(Vec::new());
        struct Lock(String);
        impl Drop for Lock {
            fn drop(&mut self) {
                let mut locked = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
                locked.retain(|folder| *folder != self.0);
            }
        }
        let name = format!("{} {folder}", self.store);
        let mut locked = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
        if locked.contains(&name) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        locked.push(name.clone());
        Ok(Box::new(Lock(name)))
    }
}
