//! Servers of the Model Context Protocol. Their tools become function tools.
//!
//! The progress and the cancellation of a call are passed between the server and the router. If a
//! connection breaks, its running calls fail, and their replies say that the result is unknown.
//! These calls are never repeated. The next call opens a new connection.
//!
//! If a server reports that its tools changed, they are listed again before the next call, and a
//! call of a removed tool is rejected. New tools appear after [`Server::refresh`] or with the next
//! connection.

mod closing;
mod connection;
mod connector;
mod content;
mod exact_numbers;
mod failure;
mod http;
mod line_limit;
mod list_changed;
mod listing;
#[cfg(feature = "oauth")]
mod oauth;
mod one_line;
mod remote;
#[cfg(unix)]
mod stderr;
mod tool;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

pub use self::closing::closed;
use self::connector::{Connector, Http};
#[cfg(feature = "oauth")]
pub use self::oauth::{Login, OAuth, TokenFolder};
use self::remote::RemoteServer;
#[cfg(unix)]
pub use self::stderr::ServerStderr;
use crate::secrets::Secrets;
use crate::server_features::{ServerPrompt, ServerResource, ServerResourceTemplate};
use crate::{Entry, InvalidToolName, Toolbox};

/// A server, and the tools that it listed when it was connected to.
///
/// The connection stays open as long as the server or one of its tools exists.
///
/// ```no_run
/// use openchatml_tools::kinds::mcp::{self, ServerOptions};
/// use openchatml_tools::{Router, RouterOptions, Toolbox};
/// use tokio::process::Command;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut command = Command::new("mcp-server-everything");
/// command.arg("stdio");
/// let server = mcp::connect_stdio(command, &ServerOptions::default()).await?;
/// let mut tools = Toolbox::default();
/// server.add_to(&mut tools)?; // `functions.echo`, `functions.get-sum`, …
/// let router = Router::new(tools, RouterOptions::default())?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Server {
    entries: Vec<(String, Entry)>,
    instructions: Option<String>,
    remote: Arc<RemoteServer>,
}

/// How to connect to a server, and how far to trust it.
///
/// ```
/// use openchatml_tools::kinds::mcp::ServerOptions;
///
/// let mut options = ServerOptions::default();
/// options.namespace = "files".to_owned(); // Its tools are `files.read`, `files.write`, …
/// assert!(!options.trusts_hints);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The namespace of its tools; `functions` by default.
    pub namespace: String,
    /// Whether to trust the server about which tools are idempotent. Only calls of idempotent tools
    /// are repeated.
    pub trusts_hints: bool,
    /// The timeout for connecting and for listing the tools.
    pub timeout: Duration,
    /// The maximum number of tools, of resources and of prompts that the server may list.
    pub tools: usize,
    /// How often to reconnect after the connection has broken, before a call fails.
    pub reconnects: u32,
    /// The pause after the first attempt. Each further pause is twice as long.
    pub backoff: Duration,
    /// The receiver of the standard error of the program. Without one, the command determines where
    /// it goes.
    #[cfg(unix)]
    pub stderr: Option<ServerStderr>,
    /// Additional secrets that no error may contain.
    pub(crate) secrets: Secrets,
    /// Whether duplicate names of the server remain in the entries. The caller then selects among
    /// them.
    pub(crate) keeps_clashes: bool,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            namespace: "functions".to_owned(),
            trusts_hints: false,
            timeout: Duration::from_secs(30),
            tools: 1_000,
            reconnects: 3,
            backoff: Duration::from_millis(250),
            #[cfg(unix)]
            stderr: None,
            secrets: Secrets::default(),
            keeps_clashes: false,
        }
    }
}

/// The error of a connection that failed, or of a server that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectError {
    /// The reason, on one line and without the secrets of the connection. It may quote the server.
    /// It is for the operator, not for the model.
    pub why: String,
    /// Whether there is a connection in spite of the error: the server sent invalid data.
    pub is_connected: bool,
    /// Whether a login at the server may help: nobody is logged in, the login has expired, or the
    /// server requires an authorization.
    pub needs_login: bool,
}

impl ConnectError {
    fn new(why: impl fmt::Display) -> Self {
        let why = one_line::one_line(&why.to_string());
        Self { why, is_connected: false, needs_login: false }
    }

    /// Creates the error for a missing or expired login.
    #[cfg(feature = "oauth")]
    fn logged_out(why: impl fmt::Display) -> Self {
        Self { needs_login: true, ..Self::new(why) }
    }

    /// Creates the error for a server that is connected but cannot be used.
    fn unusable(why: impl fmt::Display) -> Self {
        Self { is_connected: true, ..Self::new(why) }
    }

    /// Removes the secrets from the error.
    fn without(self, secrets: &Secrets) -> Self {
        const LONGEST: usize = 1_000;
        let mut why = secrets.redact(self.why);
        why.truncate(why.floor_char_boundary(LONGEST));
        Self { why, ..self }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_connected {
            "the server cannot be used"
        } else {
            "cannot connect to the server"
        };
        write!(f, "{what}: {}", self.why)
    }
}

impl std::error::Error for ConnectError {}

/// Starts a program and connects to it over its standard input and output.
///
/// The program leads its own process group, which is killed when the server and all of its tools
/// are dropped. It inherits the standard error, unless the command or [`ServerOptions::stderr`]
/// sets another one. If the program ends earlier, the next call restarts it.
///
/// # Errors
///
/// The program cannot be started, is not an MCP server, or does not list its tools in time.
#[cfg(unix)]
pub async fn connect_stdio(
    command: tokio::process::Command,
    options: &ServerOptions,
) -> Result<Server, ConnectError> {
    Server::open(Connector::ServerProcess(Box::new(command)), None, options).await
}

/// Connects to a server over streamable HTTP, with these headers in every request. Redirects are
/// not followed, because the headers are only for this server.
///
/// # Errors
///
/// A header is invalid, or the server is unreachable, is not an MCP server, or does not list its
/// tools in time.
///
/// ```no_run
/// use openchatml_tools::kinds::mcp::{self, ServerOptions};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let key = ("authorization", "Bearer 1234");
/// let server =
///     mcp::connect_http("https://tools.example/mcp", [key], &ServerOptions::default()).await?;
/// # Ok(())
/// # }
/// ```
pub async fn connect_http(
    url: &str,
    headers: impl IntoIterator<Item = (&str, &str)>,
    options: &ServerOptions,
) -> Result<Server, ConnectError> {
    let (http, options) = Http::new(url, headers, options)?;
    Server::open(Connector::Http(http), None, &options).await
}

/// Connects to a server over streamable HTTP like [`connect_http`], with an access token in each
/// request. Secrets and tokens are sent only to the authorization server and to the server.
///
/// # Errors
///
/// Like [`connect_http`], or the authorization failed.
///
/// ```no_run
/// use openchatml_tools::kinds::mcp::{self, OAuth, ServerOptions};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let oauth = OAuth::new("my-client", "s3cret");
/// let options = ServerOptions::default();
/// let server = mcp::connect_authorized("https://tools.example/mcp", [], oauth, &options).await?;
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "oauth")]
pub async fn connect_authorized(
    url: &str,
    headers: impl IntoIterator<Item = (&str, &str)>,
    oauth: OAuth,
    options: &ServerOptions,
) -> Result<Server, ConnectError> {
    let (http, mut options) = Http::new(url, headers, options)?;
    options.secrets = options.secrets.and([oauth.client_secret.clone()]);
    let redacted = |error: ConnectError| error.without(&options.secrets);
    let authorization = oauth::Authorization::new(url, oauth, &options.secrets, options.timeout)
        .map_err(redacted)?;
    let http = http.with_authorization(Arc::new(authorization))?;
    Server::open(Connector::Http(http), None, &options).await
}

/// Connects to a server over streamable HTTP like [`connect_http`], with the access token of a user
/// who [logged in](Login::log_in). The token is sent to no other server. It is renewed at the
/// authorization server of the login.
///
/// # Errors
///
/// Like [`connect_http`], or nobody is logged in, or the login has expired
/// ([`ConnectError::needs_login`]).
///
/// ```no_run
/// use openchatml_tools::kinds::mcp::{self, Login, ServerOptions, TokenFolder};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let login = Login::new(TokenFolder::new("tokens"));
/// let options = ServerOptions::default();
/// let server = mcp::connect_logged_in("https://tools.example/mcp", [], login, &options).await?;
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "oauth")]
pub async fn connect_logged_in(
    url: &str,
    headers: impl IntoIterator<Item = (&str, &str)>,
    login: Login,
    options: &ServerOptions,
) -> Result<Server, ConnectError> {
    let (http, mut options) = Http::new(url, headers, options)?;
    options.secrets = options.secrets.and(login.client_secret.clone());
    let redacted = |error: ConnectError| error.without(&options.secrets);
    let record =
        oauth::StoredToken::new(url, login, &options.secrets, options.timeout).map_err(redacted)?;
    let http = http.with_authorization(Arc::new(record))?;
    Server::open(Connector::Http(http), None, &options).await
}

/// Connects to a server over any pair of streams, with one message per line. When the streams end,
/// the tools fail.
///
/// # Errors
///
/// The other end is not an MCP server, or does not list its tools in time.
pub async fn connect(
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    options: &ServerOptions,
) -> Result<Server, ConnectError> {
    let connection = connector::over(read, write, options).await;
    let connection = connection.map_err(|error| error.without(&options.secrets))?;
    Server::open(Connector::Once, Some(connection), options).await
}

impl Server {
    async fn open(
        connector: Connector,
        connection: Option<connection::Connection>,
        options: &ServerOptions,
    ) -> Result<Self, ConnectError> {
        let redacted = |error: ConnectError| error.without(&options.secrets);
        let (remote, listed) =
            RemoteServer::new(connector, connection, options).await.map_err(redacted)?;
        let instructions = listed.connection.instructions();
        let entries = tool::entries(&remote, listed).map_err(redacted)?;
        Ok(Self { entries, instructions, remote })
    }

    /// Lists the tools of the server again. [`entries`](Self::entries) then returns the current
    /// tools. Entries that were returned before do not change; calls of removed tools are rejected.
    ///
    /// # Errors
    ///
    /// The server is unreachable, or does not list its tools in time. The entries do not change.
    ///
    /// ```no_run
    /// # async fn check(mut server: openchatml_tools::kinds::mcp::Server)
    /// # -> Result<(), Box<dyn std::error::Error>> {
    /// server.refresh().await?;
    /// let mut tools = openchatml_tools::Toolbox::default();
    /// server.add_to(&mut tools)?; // For the next router.
    /// # Ok(())
    /// # }
    /// ```
    pub async fn refresh(&mut self) -> Result<(), ConnectError> {
        let redacted = |error: ConnectError| error.without(&self.remote.options().secrets);
        let listed = self.remote.list().await.map_err(redacted)?;
        let instructions = listed.connection.instructions();
        self.entries = tool::entries(&self.remote, listed).map_err(redacted)?;
        self.instructions = instructions;
        Ok(())
    }

    /// Lists the resources of the server.
    ///
    /// All texts come from the server and may contain control characters.
    ///
    /// # Errors
    ///
    /// The server is unreachable, does not list its resources in time, or lists more than
    /// [`ServerOptions::tools`].
    ///
    /// ```no_run
    /// # async fn check(server: openchatml_tools::kinds::mcp::Server)
    /// # -> Result<(), Box<dyn std::error::Error>> {
    /// for resource in server.resources().await? {
    ///     println!("{:?} is {:?}", resource.name, resource.uri);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resources(&self) -> Result<Vec<ServerResource>, ConnectError> {
        let most = self.remote.options().tools;
        let resources = async { self.remote.connection().await?.resources(most).await };
        Ok(self.in_time(resources).await?.into_iter().map(listing::resource).collect())
    }

    /// Lists the resource templates of the server.
    ///
    /// # Errors
    ///
    /// Like [`resources`](Self::resources).
    pub async fn resource_templates(&self) -> Result<Vec<ServerResourceTemplate>, ConnectError> {
        let most = self.remote.options().tools;
        let templates = async { self.remote.connection().await?.resource_templates(most).await };
        Ok(self.in_time(templates).await?.into_iter().map(listing::template).collect())
    }

    /// Lists the prompts of the server.
    ///
    /// # Errors
    ///
    /// Like [`resources`](Self::resources).
    pub async fn prompts(&self) -> Result<Vec<ServerPrompt>, ConnectError> {
        let most = self.remote.options().tools;
        let prompts = async { self.remote.connection().await?.prompts(most).await };
        Ok(self.in_time(prompts).await?.into_iter().map(listing::prompt).collect())
    }

    async fn in_time<T>(
        &self,
        listed: impl Future<Output = Result<T, ConnectError>>,
    ) -> Result<T, ConnectError> {
        let ServerOptions { timeout, secrets, .. } = self.remote.options();
        let listed = tokio::time::timeout(*timeout, listed).await;
        let late = || ConnectError::unusable("timeout while listing");
        listed.unwrap_or_else(|_| Err(late())).map_err(|error| error.without(secrets))
    }

    /// Returns the tools, with the names that models use.
    ///
    /// Characters that are not allowed in names are replaced by `_`: `files/read` is
    /// `functions.files_read`.
    pub fn entries(&self) -> &[(String, Entry)] {
        &self.entries
    }

    /// Adds the tools to a toolbox.
    ///
    /// # Errors
    ///
    /// A name is used twice or invalid. The tools before it have been added.
    pub fn add_to(&self, tools: &mut Toolbox) -> Result<(), InvalidToolName> {
        let mut entries = self.entries.iter();
        entries.try_for_each(|(name, entry)| tools.insert(name, entry.clone()))
    }

    /// Returns the instructions of the server for the use of its tools. They come from the server:
    /// if you add them to a prompt, you trust the server.
    pub fn instructions(&self) -> Option<String> {
        self.instructions.clone()
    }

    /// Whether the connection is known to be broken. The next call reconnects if possible.
    pub fn is_disconnected(&self) -> bool {
        self.remote.is_disconnected()
    }
}
