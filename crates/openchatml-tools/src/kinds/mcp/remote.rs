//! A server whose connection may break, and whose tools may change.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::connection::Connection;
use super::connector::Connector;
use super::failure::{gone, removed};
use super::{ConnectError, ServerOptions};
use crate::{Call, Failure, Outcome};

/// A server with automatic reconnection.
pub(super) struct RemoteServer {
    options: ServerOptions,
    state: Mutex<State>,
    /// The number of failed reconnections.
    failures: AtomicU64,
}

/// The tools of a server, and the connection that they were listed on.
pub(super) struct Listed {
    pub(super) tools: Vec<rmcp::model::Tool>,
    pub(super) connection: Arc<Connection>,
}

struct State {
    connector: Connector,
    connection: Arc<Connection>,
    /// The names of the tools in the last list of the server.
    offered: HashSet<String>,
    /// The number of reported changes at the time of the last list, or `None` if this connection
    /// has no list yet.
    listed: Option<u64>,
}

impl RemoteServer {
    /// Connects to the server and lists its tools. A connector that cannot reconnect requires an
    /// existing connection.
    pub(super) async fn new(
        mut connector: Connector,
        connection: Option<Connection>,
        options: &ServerOptions,
    ) -> Result<(Arc<Self>, Listed), ConnectError> {
        let connection = match connection {
            Some(connection) => connection,
            None => connector.connect(options).await?,
        };
        let connection = Arc::new(connection);
        let mut state = State { connector, connection, offered: HashSet::new(), listed: None };
        let listed = state.list(options).await?;
        let (options, failures) = (options.clone(), AtomicU64::new(0));
        Ok((Arc::new(Self { options, state: Mutex::new(state), failures }), listed))
    }

    /// Returns a working connection with a current list of tools.
    async fn ready(
        &self,
        tool: &str,
        deadline: Option<Instant>,
    ) -> Result<Arc<Connection>, Failure> {
        let failures = self.failures.load(Ordering::SeqCst);
        let mut state = self.state.lock().await;
        // The list request may be the first to notice a broken connection. No call was made yet, so
        // reconnecting is safe.
        let mut is_listed = false;
        for _ in 0..2 {
            if state.connection.is_disconnected() {
                // Another call has tried to reconnect in the meantime. Waiting calls must not each
                // repeat all attempts.
                if failures != self.failures.load(Ordering::SeqCst) {
                    return Err(gone());
                }
                if state.reconnect(&self.options, deadline).await.is_err() {
                    self.failures.fetch_add(1, Ordering::SeqCst);
                    return Err(gone());
                }
            }
            // If the tools change again during the list, the next call lists them.
            is_listed = state.is_listed() || state.list(&self.options).await.is_ok();
            if is_listed {
                break;
            }
        }
        if !is_listed {
            return Err(Failure::new("the server does not list its tools").retryable());
        }
        if !state.offered.contains(tool) {
            return Err(removed());
        }
        Ok(state.connection.clone())
    }

    /// Calls the tool with this name of the server, at most once.
    pub(super) async fn call(&self, tool: &str, call: &Call) -> Outcome {
        call.set_unstarted(true);
        let outcome = match self.ready(tool, call.deadline()).await {
            Ok(connection) => {
                call.set_unstarted(false);
                connection.call(tool, call).await
            }
            Err(failure) => Err(failure),
        };
        outcome.map_err(|mut failure| {
            failure.message = self.options.secrets.redact(failure.message);
            failure
        })
    }

    /// Returns the connection, and reconnects if it is broken.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, ConnectError> {
        let mut state = self.state.lock().await;
        if state.connection.is_disconnected() {
            state.reconnect(&self.options, None).await?;
        }
        Ok(state.connection.clone())
    }

    /// Lists the tools of the server.
    pub(super) async fn list(&self) -> Result<Listed, ConnectError> {
        let mut state = self.state.lock().await;
        if state.connection.is_disconnected() {
            state.reconnect(&self.options, None).await?;
        }
        state.list(&self.options).await
    }

    pub(super) fn options(&self) -> &ServerOptions {
        &self.options
    }

    /// Whether the connection is known to be broken. While it is in use, it counts as working.
    pub(super) fn is_disconnected(&self) -> bool {
        self.state.try_lock().is_ok_and(|state| state.connection.is_disconnected())
    }
}

impl State {
    /// Reconnects: immediately, and then several times with a pause that doubles each time.
    async fn reconnect(
        &mut self,
        options: &ServerOptions,
        deadline: Option<Instant>,
    ) -> Result<(), ConnectError> {
        let attempts = if self.connector.is_repeatable() { options.reconnects } else { 0 };
        let mut wait = options.backoff;
        let mut result = Err(ConnectError::new("the connection has broken"));
        for attempt in 0..attempts {
            if attempt > 0 {
                let next = Instant::now() + wait;
                if deadline.is_some_and(|deadline| deadline <= next) {
                    break;
                }
                tokio::time::sleep_until(next).await;
                wait = wait.saturating_mul(2);
            }
            match self.connector.connect(options).await {
                Ok(connection) => {
                    self.connection = Arc::new(connection);
                    self.listed = None;
                    return Ok(());
                }
                Err(error) => result = Err(error),
            }
        }
        result
    }

    /// Whether the list of tools is current, as far as the server reported changes.
    fn is_listed(&self) -> bool {
        self.listed == Some(self.connection.changes())
    }

    async fn list(&mut self, options: &ServerOptions) -> Result<Listed, ConnectError> {
        // The number is read before the request, so that a change during the list causes another
        // list.
        let changes = self.connection.changes();
        let tools = tokio::time::timeout(options.timeout, self.connection.tools(options.tools));
        let tools = tools
            .await
            .map_err(|_| ConnectError::unusable("timeout while listing the tools"))??;
        self.offered = tools.iter().map(|tool| tool.name.to_string()).collect();
        self.listed = Some(changes);
        Ok(Listed { tools, connection: self.connection.clone() })
    }
}

impl fmt::Debug for RemoteServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("is_gone", &self.is_disconnected()).finish_non_exhaustive()
    }
}
