//! Connects to a server, and reconnects if necessary.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::io::{AsyncRead, AsyncWrite};

use super::connection::Connection;
use super::exact_numbers::{ExactNumbers, RestoringWriter};
use super::http::{Authorize, HttpClient};
use super::line_limit::LimitedLines;
use super::{ConnectError, ServerOptions};
use crate::secrets::{Secrets, of_url};

/// How to connect to a server.
pub(super) enum Connector {
    /// Streams of the caller. Reconnecting is impossible.
    Once,
    /// A program to start (stdio transport).
    #[cfg(unix)]
    ServerProcess(Box<tokio::process::Command>),
    /// A server over streamable HTTP.
    Http(Http),
}

impl Connector {
    /// Whether reconnecting is possible.
    pub(super) fn is_repeatable(&self) -> bool {
        !matches!(self, Self::Once)
    }

    pub(super) async fn connect(
        &mut self,
        options: &ServerOptions,
    ) -> Result<Connection, ConnectError> {
        match self {
            Self::Once => Err(ConnectError::new("the server closed its streams")),
            #[cfg(unix)]
            Self::ServerProcess(command) => start(command, options).await,
            Self::Http(http) => http.connect(options).await,
        }
    }
}

#[cfg(unix)]
async fn start(
    command: &mut tokio::process::Command,
    options: &ServerOptions,
) -> Result<Connection, ConnectError> {
    use std::process::Stdio;

    use crate::kinds::process::Group;

    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    if options.stderr.is_some() {
        command.stderr(Stdio::piped());
    }
    let mut group = Group::spawn(command).map_err(|error| unstarted(command, &error))?;
    let piped = group.child().stdout.take().zip(group.child().stdin.take());
    let (read, write) = piped.ok_or_else(|| ConnectError::new("cannot connect to the program"))?;
    let pipe = group.child().stderr.take();
    let stderr = options.stderr.as_ref().zip(pipe).map(|(receiver, pipe)| receiver.listen(pipe));
    match over(read, write, options).await {
        Ok(connection) => Ok(connection.with_program(group, stderr)),
        Err(error) => {
            // Kill the program. Its standard error may explain the failure.
            drop(group);
            if let Some(stderr) = stderr {
                super::stderr::finish(stderr).await;
            }
            Err(error)
        }
    }
}

/// Returns the error for a program that cannot be started.
#[cfg(unix)]
fn unstarted(command: &tokio::process::Command, error: &std::io::Error) -> ConnectError {
    let command = command.as_std();
    let program = command.get_program().to_string_lossy();
    match command.get_current_dir() {
        Some(folder) if !folder.is_dir() => {
            ConnectError::new(format!("cannot run `{program}` in `{}`: {error}", folder.display()))
        }
        _ => ConnectError::new(format!("cannot start `{program}`: {error}")),
    }
}

/// Connects over streams with one message per line.
pub(super) async fn over(
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    options: &ServerOptions,
) -> Result<Connection, ConnectError> {
    use rmcp::transport::async_rw::AsyncRwTransport;

    let exact_numbers = ExactNumbers::new();
    let (read, write) = (
        LimitedLines::new(read, &exact_numbers),
        RestoringWriter::new(write, exact_numbers.clone()),
    );
    // Lines are already limited; this limit would drop long lines silently.
    let transport = AsyncRwTransport::new_client(read, write).with_max_line_length(usize::MAX);
    Connection::open(transport, exact_numbers, options).await
}

/// A server over streamable HTTP.
pub(super) struct Http {
    url: Arc<str>,
    headers: Vec<(HeaderName, HeaderValue)>,
    client: reqwest::Client,
    authorization: Option<Arc<dyn Authorize>>,
}

impl Http {
    /// Creates a connector, and adds the secrets that are sent to the server to the options.
    pub(super) fn new<'n, 'v>(
        url: &str,
        headers: impl IntoIterator<Item = (&'n str, &'v str)>,
        options: &ServerOptions,
    ) -> Result<(Self, ServerOptions), ConnectError> {
        let mut parsed = Vec::new();
        let mut secrets = of_url(url);
        for (name, text) in headers {
            let wrong = |_| ConnectError::new(format!("invalid header `{}`", name.escape_debug()));
            let key: HeaderName = name.parse().map_err(|_| wrong(()))?;
            let mut value: HeaderValue = text.parse().map_err(|_| wrong(()))?;
            value.set_sensitive(true);
            parsed.push((key, value));
            secrets.extend(Secrets::of_header(text));
        }
        // No connection pool, like the client of the SDK: an idle connection whose last response
        // was not read to the end blocks.
        let client = crate::client::builder().redirect(Policy::none()).pool_max_idle_per_host(0);
        let client = client.build().map_err(ConnectError::new)?;
        let http = Self { url: url.into(), headers: parsed, client, authorization: None };
        let secrets = options.secrets.and(secrets);
        Ok((http, ServerOptions { secrets, ..options.clone() }))
    }

    /// Adds an access token to each request.
    #[cfg(feature = "oauth")]
    pub(super) fn with_authorization(
        mut self,
        authorization: Arc<dyn Authorize>,
    ) -> Result<Self, ConnectError> {
        if self.headers.iter().any(|it| it.0 == reqwest::header::AUTHORIZATION) {
            return Err(ConnectError::new("a header already contains an authorization"));
        }
        self.authorization = Some(authorization);
        Ok(self)
    }

    async fn connect(&self, options: &ServerOptions) -> Result<Connection, ConnectError> {
        let Some(authorization) = &self.authorization else { return self.open(options).await };
        // Fetch the token here, because the transport would hide the reason of a failure.
        authorization.token().await?;
        match self.open(options).await {
            // The server only rejected the token. Try again with another token.
            Err(error) if error.needs_login => {
                authorization.token().await?;
                self.open(options).await
            }
            done => done,
        }
    }

    async fn open(&self, options: &ServerOptions) -> Result<Connection, ConnectError> {
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url.clone());
        let mut patience = ExponentialBackoff::default();
        (patience.max_times, patience.base_duration) = (Some(3), Duration::from_millis(250));
        config.retry_config = Arc::new(patience);
        // No reinitialization: the SDK would repeat a call in a new session, but calls run at most
        // once.
        config.reinit_on_expired_session = false;
        config.custom_headers.extend(self.headers.iter().cloned());
        let exact_numbers = ExactNumbers::new();
        let client =
            HttpClient::new(self.client.clone(), exact_numbers.clone(), self.authorization.clone());
        let transport = StreamableHttpClientTransport::with_client(client, config);
        Connection::open(transport, exact_numbers, options).await
    }
}
