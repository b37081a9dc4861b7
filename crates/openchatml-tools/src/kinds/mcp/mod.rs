//! Servers of the Model Context Protocol: what they list become function tools.
//!
//! A call carries its progress and its cancellation to and from the server. When a connection breaks, the
//! calls that run on it fail, and their replies say that nobody knows whether they were done. No call is made
//! again for that. The next one connects anew.
//!
//! A server may say that its tools changed. They are listed again before the next call then: a tool that is
//! no longer there is refused. Tools that are new are there when [`Server::refresh`] is asked for them, or
//! when the server is connected to the next time.

mod bound;
mod closing;
mod connection;
mod content;
mod dial;
mod digits;
mod failure;
mod http;
mod listing;
#[cfg(feature = "oauth")]
mod oauth;
mod plain;
mod remote;
#[cfg(unix)]
mod stderr;
mod tool;
mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

pub use self::closing::closed;
use self::dial::{Dial, Http};
#[cfg(feature = "oauth")]
pub use self::oauth::{Login, OAuth, TokenFolder};
pub(crate) use self::plain::Secrets;
use self::remote::Remote;
#[cfg(unix)]
pub use self::stderr::ServerStderr;
use crate::offer::{ServerPrompt, ServerResource, ServerResourceTemplate};
use crate::{Entry, NotAName, Toolbox};

/// A server, and the tools that it listed when it was connected to.
///
/// The connection lasts as long as this or one of its tools is there.
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
    remote: Arc<Remote>,
}

/// How a server is connected to, and how far it is trusted.
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
    /// What stands before the names of its tools: `functions`, unless you say otherwise.
    pub namespace: String,
    /// Whether a tool is idempotent because the server says so. Only then are its calls made again.
    pub trusts_hints: bool,
    /// How long to wait until it has listed its tools.
    pub timeout: Duration,
    /// How many tools it may list, and how many resources, and how many prompts.
    pub tools: usize,
    /// How often to try to connect again before a call fails, once the connection has broken.
    pub reconnects: u32,
    /// How long to wait after the first of these attempts. Each time after that, it is twice as long.
    pub backoff: Duration,
    /// Who is told what a program says on its standard error. Without it, that is where its command says.
    #[cfg(unix)]
    pub stderr: Option<ServerStderr>,
    /// What no error repeats, beside the secrets that the connection has.
    pub(crate) secrets: Secrets,
    /// Whether the entries have names twice if the server does: whoever takes them chooses among them.
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

/// Why there is no connection to a server, or why a server is not used that there is one to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotConnected {
    /// Why, on one line and without the secrets of the connection. It may quote the server, and is for whoever
    /// runs this, not for the model.
    pub why: String,
    /// Whether there is a connection all the same: the server says something that it should not.
    pub is_connected: bool,
    /// Whether it may help that somebody logs in at the server: nobody is logged in there, or not anymore, or
    /// the server asks for an authorization.
    pub needs_login: bool,
}

impl NotConnected {
    fn new(why: impl fmt::Display) -> Self {
        let why = plain::one_line(&why.to_string());
        Self { why, is_connected: false, needs_login: false }
    }

    /// Why nobody is logged in at a server.
    #[cfg(feature = "oauth")]
    fn logged_out(why: impl fmt::Display) -> Self {
        Self { needs_login: true, ..Self::new(why) }
    }

    /// Why a server is not used that there is a connection to.
    fn unusable(why: impl fmt::Display) -> Self {
        Self { is_connected: true, ..Self::new(why) }
    }

    /// The same, as it can be told.
    fn without(self, secrets: &Secrets) -> Self {
        const LONGEST: usize = 1_000;
        let mut why = secrets.redact(self.why);
        why.truncate(why.floor_char_boundary(LONGEST));
        Self { why, ..self }
    }
}

impl fmt::Display for NotConnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_connected {
            "the server cannot be used"
        } else {
            "no connection to the server"
        };
        write!(f, "{what}: {}", self.why)
    }
}

impl std::error::Error for NotConnected {}

/// Starts a program and speaks with it over its input and output.
///
/// It leads a process group of its own, which is killed once nobody has the server or one of its
/// tools anymore. Its standard error is yours, unless the command or [`ServerOptions::stderr`] says otherwise. If
/// it ends before, the next call starts it again.
///
/// # Errors
///
/// The program cannot be started, is no such server, or does not list its tools in time.
#[cfg(unix)]
pub async fn connect_stdio(
    command: tokio::process::Command,
    options: &ServerOptions,
) -> Result<Server, NotConnected> {
    Server::open(Dial::Program(Box::new(command)), None, options).await
}

/// Connects to a server over streamable HTTP, with these headers on every request. Redirects are
/// not followed: the headers are for this server.
///
/// # Errors
///
/// A header is none, or the server cannot be reached, is no such server, or does not list its tools
/// in time.
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
) -> Result<Server, NotConnected> {
    let (http, options) = Http::new(url, headers, options)?;
    Server::open(Dial::Http(http), None, &options).await
}

/// Connects to a server over streamable HTTP as [`connect_http`] does, and shows it an access token with each
/// request. No secret and no token is sent to anybody but the authorization server and the server.
///
/// # Errors
///
/// As [`connect_http`]; or there is no authorization.
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
) -> Result<Server, NotConnected> {
    let (http, mut options) = Http::new(url, headers, options)?;
    options.secrets = options.secrets.and([oauth.client_secret.clone()]);
    let told = |error: NotConnected| error.without(&options.secrets);
    let authorization =
        oauth::Authorization::new(url, oauth, &options.secrets, options.timeout).map_err(told)?;
    let http = http.with_authorization(Arc::new(authorization))?;
    Server::open(Dial::Http(http), None, &options).await
}

/// Connects to a server over streamable HTTP as [`connect_http`] does, and shows it with each request the access
/// token of somebody who [logged in](Login::log_in). The token is sent to nobody else, and is renewed at the
/// authorization server where they did.
///
/// # Errors
///
/// As [`connect_http`]; or nobody is logged in, or not anymore ([`NotConnected::needs_login`]).
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
) -> Result<Server, NotConnected> {
    let (http, mut options) = Http::new(url, headers, options)?;
    options.secrets = options.secrets.and(login.client_secret.clone());
    let told = |error: NotConnected| error.without(&options.secrets);
    let kept =
        oauth::KeptToken::new(url, login, &options.secrets, options.timeout).map_err(told)?;
    let http = http.with_authorization(Arc::new(kept))?;
    Server::open(Dial::Http(http), None, &options).await
}

/// Speaks with a server over any pair of streams, one message a line. Once they have ended, its tools fail.
///
/// # Errors
///
/// There is no such server at the other end, or it does not list its tools in time.
pub async fn connect(
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    options: &ServerOptions,
) -> Result<Server, NotConnected> {
    let connection = dial::over(read, write, options).await;
    let connection = connection.map_err(|error| error.without(&options.secrets))?;
    Server::open(Dial::Once, Some(connection), options).await
}

impl Server {
    async fn open(
        dial: Dial,
        connection: Option<connection::Connection>,
        options: &ServerOptions,
    ) -> Result<Self, NotConnected> {
        let told = |error: NotConnected| error.without(&options.secrets);
        let (remote, listed) = Remote::new(dial, connection, options).await.map_err(told)?;
        let instructions = listed.connection.instructions();
        let entries = tool::entries(&remote, listed).map_err(told)?;
        Ok(Self { entries, instructions, remote })
    }

    /// Lists the tools of the server again. [`entries`](Self::entries) are what it has now; tools that were
    /// handed out before stay as they are, and calls of those that are gone are refused.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, or does not list its tools in time. The entries are those before.
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
    pub async fn refresh(&mut self) -> Result<(), NotConnected> {
        let told = |error: NotConnected| error.without(&self.remote.options().secrets);
        let listed = self.remote.list().await.map_err(told)?;
        let instructions = listed.connection.instructions();
        self.entries = tool::entries(&self.remote, listed).map_err(told)?;
        self.instructions = instructions;
        Ok(())
    }

    /// The resources that the server lists: none, if it has none.
    ///
    /// What they say is the server's word, and may hold control characters.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, does not list them in time, or lists more than
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
    pub async fn resources(&self) -> Result<Vec<ServerResource>, NotConnected> {
        let most = self.remote.options().tools;
        let resources = async { self.remote.connection().await?.resources(most).await };
        Ok(self.in_time(resources).await?.into_iter().map(listing::resource).collect())
    }

    /// The templates of resources that the server lists: none, if it has none.
    ///
    /// # Errors
    ///
    /// As [`resources`](Self::resources).
    pub async fn resource_templates(&self) -> Result<Vec<ServerResourceTemplate>, NotConnected> {
        let most = self.remote.options().tools;
        let templates = async { self.remote.connection().await?.resource_templates(most).await };
        Ok(self.in_time(templates).await?.into_iter().map(listing::template).collect())
    }

    /// The prompts that the server lists: none, if it has none.
    ///
    /// # Errors
    ///
    /// As [`resources`](Self::resources).
    pub async fn prompts(&self) -> Result<Vec<ServerPrompt>, NotConnected> {
        let most = self.remote.options().tools;
        let prompts = async { self.remote.connection().await?.prompts(most).await };
        Ok(self.in_time(prompts).await?.into_iter().map(listing::prompt).collect())
    }

    async fn in_time<T>(
        &self,
        listed: impl Future<Output = Result<T, NotConnected>>,
    ) -> Result<T, NotConnected> {
        let ServerOptions { timeout, secrets, .. } = self.remote.options();
        let listed = tokio::time::timeout(*timeout, listed).await;
        let late = || NotConnected::unusable("what it lists took too long");
        listed.unwrap_or_else(|_| Err(late())).map_err(|error| error.without(secrets))
    }

    /// Its tools, by the names that models call them by.
    ///
    /// Letters of its own names that no name of ours can have are `_`: `files/read` is
    /// `functions.files_read`.
    pub fn entries(&self) -> &[(String, Entry)] {
        &self.entries
    }

    /// Adds its tools to those that are there.
    ///
    /// # Errors
    ///
    /// One of its names is taken, or is none. The tools before it have been added.
    pub fn add_to(&self, tools: &mut Toolbox) -> Result<(), NotAName> {
        let mut entries = self.entries.iter();
        entries.try_for_each(|(name, entry)| tools.insert(name, entry.clone()))
    }

    /// What the server says on how to use its tools. It is the server's word: whoever takes it into
    /// a prompt trusts the server.
    pub fn instructions(&self) -> Option<String> {
        self.instructions.clone()
    }

    /// Whether the connection is known to be broken. The next call connects anew, if that is possible.
    pub fn is_gone(&self) -> bool {
        self.remote.is_gone()
    }
}
