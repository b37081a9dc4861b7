//! A connection to a server, and the calls on it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use openchatml::Code;
use rmcp::model::{
    CallToolRequestParams, CancelledNotification, CancelledNotificationParam, ClientCapabilities,
    ClientConfig, ClientRequest, Implementation, PaginatedRequestParams, ProgressNotificationParam,
    ProgressToken, Request, RequestId, ServerResult,
};
use rmcp::service::{NotificationContext, Peer, PeerRequestOptions, RunningService, ServiceError};
use rmcp::transport::IntoTransport;
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio_util::sync::DropGuard;

use super::bound::{MOST, TOO_LONG};
use super::{NotConnected, ServerOptions, content};
use crate::{Call, Failure, Outcome, Progress};

/// A connection to a server. It is closed when this is dropped.
pub(super) struct Connection {
    peer: Peer<RoleClient>,
    listeners: Arc<Listeners>,
    _service: RunningService<RoleClient, Arc<Listeners>>,
    /// What ends the program at the other end.
    _program: Option<DropGuard>,
}

/// The calls that run, by what the server reports their progress under.
#[derive(Default)]
pub(super) struct Listeners {
    calls: Mutex<HashMap<ProgressToken, Listener>>,
}

struct Listener {
    call: Call,
    /// How far it had come when the server last said so.
    done: f64,
}

impl ClientHandler for Listeners {
    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let mut calls = self.calls.lock().await;
        let Some(listener) = calls.get_mut(&progress.progress_token) else { return };
        // Reports are handled side by side: one that was overtaken is old news.
        if progress.progress > listener.done {
            listener.done = progress.progress;
            let (done, total, message) = (progress.progress, progress.total, progress.message);
            listener.call.progress(Progress { done, total, message });
        }
    }

    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("openchatml-tools", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
    }
}

impl Connection {
    pub(super) async fn open<T, E, A>(
        transport: T,
        options: &ServerOptions,
    ) -> Result<Self, NotConnected>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let listeners = Arc::new(Listeners::default());
        let served = listeners.clone().serve(transport);
        let service = match tokio::time::timeout(options.timeout, served).await {
            Ok(service) => service.map_err(NotConnected::new)?,
            Err(_) => return Err(NotConnected::new("it did not answer in time")),
        };
        let peer = service.peer().clone();
        Ok(Self { peer, listeners, _service: service, _program: None })
    }

    /// The same connection, which takes the program at its other end with it.
    #[cfg(unix)]
    pub(super) fn with_program(mut self, mut group: crate::kinds::process::Group) -> Self {
        use std::time::Duration;

        /// How long a program has to end by itself once its input is closed.
        const PATIENCE: Duration = Duration::from_secs(2);

        let over = tokio_util::sync::CancellationToken::new();
        self._program = Some(over.clone().drop_guard());
        tokio::spawn(async move {
            tokio::select! {
                _ = group.wait() => return,
                () = over.cancelled() => {}
            }
            let _ = tokio::time::timeout(PATIENCE, group.wait()).await;
        });
        self
    }

    pub(super) fn instructions(&self) -> Option<String> {
        self.peer.peer_info()?.instructions.clone()
    }

    pub(super) fn is_gone(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// The tools of the server, page by page, and no more than so many.
    pub(super) async fn list(&self, most: usize) -> Result<Vec<rmcp::model::Tool>, NotConnected> {
        let mut tools = Vec::new();
        let mut cursor = None;
        loop {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.peer.list_tools(Some(page)).await.map_err(NotConnected::new)?;
            tools.extend(page.tools);
            if tools.len() > most {
                return Err(NotConnected::new(format!("it lists more than {most} tools")));
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(tools);
            }
        }
    }

    /// Makes a call of the tool that the server calls so.
    pub(super) async fn call(&self, tool: &str, call: &Call) -> Outcome {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = Some(arguments(call)?);
        let request = ClientRequest::CallToolRequest(Request::new(params));
        // A report that comes before the call is listed waits for the lock.
        let mut calls = self.listeners.calls.lock().await;
        let options = PeerRequestOptions::no_options();
        let sent = self.peer.send_cancellable_request(request, options).await;
        let handle = sent.map_err(failure)?;
        let token = handle.progress_token.clone();
        let mut running = Running {
            peer: self.peer.clone(),
            listeners: self.listeners.clone(),
            id: Some(handle.id.clone()),
            token: token.clone(),
        };
        calls.insert(token, Listener { call: call.clone(), done: f64::NEG_INFINITY });
        drop(calls);
        let answer = handle.await_response().await;
        running.id = None;
        match answer.map_err(failure)? {
            ServerResult::CallToolResult(result) => content::outcome(result),
            ServerResult::EmptyResult(_) => content::outcome(Default::default()),
            ServerResult::InputRequiredResult(_) => {
                Err(Failure::new("the tool asks for something that nobody here can answer"))
            }
            _ => Err(Failure::new("the server answers with something that is no result")),
        }
    }
}

fn arguments(call: &Call) -> Result<Map<String, Value>, Failure> {
    let text = call.arguments();
    serde_json::from_str(text).map_err(|_| Failure::new("the arguments are no JSON object"))
}

/// What the model is told. What the transport says of addresses and files is not for it.
fn failure(error: ServiceError) -> Failure {
    match error {
        ServiceError::McpError(error) if error.message == TOO_LONG => {
            Failure::with_code(Code::ToolOutput, format!("the answer is longer than {MOST} bytes"))
        }
        ServiceError::McpError(error) => {
            Failure::new(format!("the server refuses the call: {}", error.message))
        }
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
            Failure::new("the server of the tool is gone")
        }
        ServiceError::UnexpectedResponse => {
            Failure::new("the server answers with something that is no result")
        }
        _ => Failure::new("the server gave the call up"),
    }
}

/// A call that the server has, until its answer is here. To drop it is to cancel it.
struct Running {
    peer: Peer<RoleClient>,
    listeners: Arc<Listeners>,
    /// `None` once the server has answered.
    id: Option<RequestId>,
    token: ProgressToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Without a runtime, there is no connection either.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (peer, listeners) = (self.peer.clone(), self.listeners.clone());
        let (id, token) = (self.id.take(), self.token.clone());
        runtime.spawn(async move {
            listeners.calls.lock().await.remove(&token);
            let Some(id) = id else { return };
            let params = CancelledNotificationParam::new(Some(id), Some(CANCELLED.to_owned()));
            let notification = CancelledNotification::new(params);
            // A server that is gone has cancelled it already.
            let _ = peer.send_notification(notification.into()).await;
        });
    }
}

/// What the server is told.
const CANCELLED: &str = "nobody waits for the result anymore";

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("is_gone", &self.is_gone()).finish_non_exhaustive()
    }
}
