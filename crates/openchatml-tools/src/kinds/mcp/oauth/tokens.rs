//! The tokens of logged-in users, in files.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::Url;
use rmcp::transport::auth::{AuthorizationMetadata, StoredCredentials};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::restricted_client::bare;
use crate::kinds::mcp::ConnectError;

/// A folder with the access tokens of a user: one file for each server.
///
/// A token is stored under the URL of its server, without the query, and is sent to no other
/// server. On Unix, other users cannot read the files. A folder that other users can write to is
/// rejected, and a new folder is private to the user.
///
/// ```
/// use openchatml_tools::kinds::mcp::TokenFolder;
///
/// let tokens = TokenFolder::new("/home/me/.local/state/openchatml/tokens");
/// assert!(!tokens.holds("https://tools.example/mcp"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFolder {
    path: PathBuf,
}

impl TokenFolder {
    /// Creates a folder at this path. The directory is created when the first token is stored.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Whether there is a token for the server at this URL. It may have expired.
    pub fn holds(&self, url: &str) -> bool {
        let server = Url::parse(url).map(bare);
        server.is_ok_and(|server| self.file(&server, "json").exists())
    }

    /// Removes the token for the server at this URL. Returns whether there was one. The
    /// authorization server is not informed.
    ///
    /// # Errors
    ///
    /// The file cannot be removed.
    pub async fn remove(&self, url: &str) -> io::Result<bool> {
        let Some(server) = Url::parse(url).ok().map(bare).filter(|_| self.holds(url)) else {
            return Ok(false);
        };
        // The lock prevents a concurrent renewal from storing another token.
        let _lock = self.lock(&server).await?;
        self.discard(&server)
    }

    /// Removes the token. The caller must hold the lock.
    pub(super) fn discard(&self, server: &Url) -> io::Result<bool> {
        match fs::remove_file(self.file(server, "json")) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the file of a server. It contains the host name for people who look into the folder.
    fn file(&self, server: &Url, extension: &str) -> PathBuf {
        let host = server.host_str().unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        let host = host.chars().take(64).map(|c| if is_plain(c) { c } else { '_' });
        let digest = Sha256::digest(server.as_str());
        let digest: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.path.join(format!("{}-{digest}.{extension}", host.collect::<String>()))
    }

    /// Waits for the lock on the token of the server. Dropping the file releases the lock.
    pub(super) async fn lock(&self, server: &Url) -> io::Result<File> {
        /// The pause between two attempts.
        const PAUSE: Duration = Duration::from_millis(50);

        self.create()?;
        let file = own().create(true).truncate(false).open(self.file(server, "lock"))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn create(&self) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        builder.create(&self.path)?;
        self.check()
    }

    /// Rejects a folder to which other users can write.
    fn check(&self) -> io::Result<()> {
        only_ours_to_write(&self.path, &fs::metadata(&self.path)?)
    }

    /// Loads the record of a server, if it exists.
    pub(super) fn load(&self, server: &Url) -> Result<Option<TokenRecord>, ConnectError> {
        /// The maximum size of a file, in bytes.
        const LONGEST: u64 = 1 << 20;

        let path = self.file(server, "json");
        let login_error =
            |what: &str| ConnectError::logged_out(format!("`{}` {what}", path.display()));
        let mut bytes = Vec::new();
        let file = File::open(&path).and_then(|file| {
            self.check()?;
            only_ours_to_write(&path, &file.metadata()?)?;
            Ok(file)
        });
        match file.and_then(|file| file.take(LONGEST).read_to_end(&mut bytes)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(login_error(&format!("cannot be read: {error}"))),
            Ok(_) => {}
        }
        // The error is not included, because it may quote a secret.
        let record: TokenRecord =
            serde_json::from_slice(&bytes).map_err(|_| login_error("contains no token"))?;
        if record.server != *server {
            return Err(login_error("contains the token of another server"));
        }
        Ok(Some(record))
    }

    /// Replaces the record of a server. The caller must hold the lock.
    pub(super) fn keep(&self, record: &TokenRecord) -> Result<(), ConnectError> {
        let path = self.file(&record.server, "json");
        self.write(&path, record).map_err(|error| {
            ConnectError::new(format!("cannot store the token in `{}`: {error}", path.display()))
        })
    }

    fn write(&self, path: &Path, record: &TokenRecord) -> io::Result<()> {
        self.create()?;
        let draft = path.with_extension("tmp");
        // A draft of an interrupted process.
        let _ = fs::remove_file(&draft);
        let mut file = own().create_new(true).open(&draft)?;
        file.write_all(&serde_json::to_vec(record)?)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&draft, path)
    }
}

/// Rejects a path that another user owns or can write to.
fn only_ours_to_write(path: &Path, metadata: &fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
        if !is_ours || metadata.mode() & 0o022 != 0 {
            let why = format!("other users can write to `{}`", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
    }
    Ok(())
}

/// Returns options for a new file that other users cannot read.
fn own() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The stored record of a server. It contains the endpoints for the renewal, so that nobody can
/// change them later.
#[derive(Clone, Deserialize, Serialize)]
pub(super) struct TokenRecord {
    /// The server that receives the token.
    pub(super) server: Url,
    /// The resource of the token, as in the authorization request.
    pub(super) resource: Url,
    /// The authorization server, if the user named it.
    pub(super) issuer: Option<String>,
    /// The metadata of the authorization server.
    pub(super) metadata: AuthorizationMetadata,
    pub(super) client_secret: Option<String>,
    pub(super) credentials: StoredCredentials,
}

impl TokenRecord {
    /// Returns the access token, if there is one.
    pub(super) fn token(&self) -> Option<String> {
        self.field("access_token")
    }

    fn field(&self, name: &str) -> Option<String> {
        let response = serde_json::to_value(self.credentials.token_response.as_ref()?).ok()?;
        response.get(name)?.as_str().map(str::to_owned)
    }

    /// Returns all secrets of the record.
    pub(super) fn secrets(&self) -> impl Iterator<Item = String> {
        let tokens = [self.token(), self.field("refresh_token"), self.field("id_token")];
        tokens.into_iter().flatten().chain(self.client_secret.clone())
    }

    /// Whether the access token remains valid for a while, as far as its lifetime is known.
    pub(super) fn is_fresh(&self) -> bool {
        /// The minimum remaining lifetime in seconds. A token with less is renewed first.
        const LEAST: u64 = 30;

        let response = self.credentials.token_response.as_ref();
        let response = response.and_then(|it| serde_json::to_value(it).ok());
        let lifetime = response.and_then(|it| it.get("expires_in")?.as_u64());
        let Some((lifetime, received)) = lifetime.zip(self.credentials.token_received_at) else {
            return true;
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let left = lifetime.saturating_sub(now.saturating_sub(received));
        left >= LEAST.min(lifetime / 2).max(1)
    }
}
