//! Servers of the Model Context Protocol: what they list become function tools.
//!
//! A call carries its progress and its cancellation to and from the server. A server that dies takes
//! with it the calls that it was to answer, and no others: they fail, and so does every later one.

mod bound;
mod connection;
mod content;
mod tool;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::io::{AsyncRead, AsyncWrite};

use self::bound::Bounded;
use self::connection::Connection;
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
    connection: Arc<Connection>,
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
    /// How many tools it may list.
    pub tools: usize,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            namespace: "functions".to_owned(),
            trusts_hints: false,
            timeout: Duration::from_secs(30),
            tools: 1_000,
        }
    }
}

/// Why there is no connection to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotConnected {
    /// Why. It may quote the server, and is for whoever runs this, not for the model.
    pub why: String,
}

impl NotConnected {
    fn new(why: impl fmt::Display) -> Self {
        const LONGEST: usize = 1_000;
        let mut why = why.to_string();
        why.truncate(why.floor_char_boundary(LONGEST));
        Self { why }
    }
}

impl fmt::Display for NotConnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no connection to the server: {}", self.why)
    }
}

impl std::error::Error for NotConnected {}

/// Starts a program and speaks with it over its input and output.
///
/// It leads a process group of its own, which is killed once nobody has the server or one of its
/// tools anymore. Its standard error is yours, unless the command says otherwise.
///
/// # Errors
///
/// The program cannot be started, is no such server, or does not list its tools in time.
#[cfg(unix)]
pub async fn connect_stdio(
    mut command: tokio::process::Command,
    options: &ServerOptions,
) -> Result<Server, NotConnected> {
    use std::process::Stdio;

    use super::process::Group;

    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut group = Group::spawn(&mut command).map_err(NotConnected::new)?;
    let piped = group.child().stdout.take().zip(group.child().stdin.take());
    let (read, write) = piped.ok_or_else(|| NotConnected::new("the program has no pipes"))?;
    let connection = Connection::open((Bounded::new(read), write), options).await?;
    list(connection.with_program(group), options).await
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
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    let mut patience = ExponentialBackoff::default();
    (patience.max_times, patience.base_duration) = (Some(3), Duration::from_millis(250));
    config.retry_config = Arc::new(patience);
    for (name, value) in headers {
        let wrong = |_| NotConnected::new(format!("`{}` is no header", name.escape_debug()));
        let key: HeaderName = name.parse().map_err(|_| wrong(()))?;
        let mut value: HeaderValue = value.parse().map_err(|_| wrong(()))?;
        value.set_sensitive(true);
        config.custom_headers.insert(key, value);
    }
    // As the SDK's own client: an idle connection whose last answer was not read to its end stalls.
    let client = crate::client::builder().redirect(Policy::none()).pool_max_idle_per_host(0);
    let client = client.build().map_err(NotConnected::new)?;
    let transport = StreamableHttpClientTransport::with_client(client, config);
    list(Connection::open(transport, options).await?, options).await
}

/// Speaks with a server over any pair of streams, one message a line.
///
/// # Errors
///
/// There is no such server at the other end, or it does not list its tools in time.
pub async fn connect(
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    options: &ServerOptions,
) -> Result<Server, NotConnected> {
    list(Connection::open((Bounded::new(read), write), options).await?, options).await
}

async fn list(connection: Connection, options: &ServerOptions) -> Result<Server, NotConnected> {
    let connection = Arc::new(connection);
    let listed = tokio::time::timeout(options.timeout, connection.list(options.tools));
    let listed = listed.await.map_err(|_| NotConnected::new("its tools took too long"))??;
    let mut entries: Vec<(String, Entry)> = Vec::with_capacity(listed.len());
    for listed in listed {
        let name = format!("{}.{}", options.namespace, tool::name(&listed.name));
        if entries.iter().any(|(other, _)| *other == name) {
            let theirs = listed.name.escape_debug();
            return Err(NotConnected::new(format!("its tool `{theirs}` is a second `{name}`")));
        }
        entries.push((name, tool::entry(&connection, listed, options)?));
    }
    Ok(Server { entries, connection })
}

impl Server {
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
        self.connection.instructions()
    }

    /// Whether the server is gone.
    pub fn is_gone(&self) -> bool {
        self.connection.is_gone()
    }
}
