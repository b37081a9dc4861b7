//! A connection to a server, and the calls on it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use openchatml::Code;
use rmcp::model::{
    CallToolRequestParams, CancelledNotification, CancelledNotificationParam, ClientCapabilities,
    ClientConfig, ClientRequest, ErrorCode, Implementation, PaginatedRequestParams,
    ProgressNotificationParam, ProgressToken, Request, RequestId, ServerCapabilities, ServerResult,
};
use rmcp::service::{NotificationContext, Peer, PeerRequestOptions, RunningService, ServiceError};
use rmcp::transport::IntoTransport;
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use tokio::sync::Mutex;
#[cfg(unix)]
use tokio::task::JoinHandle;
#[cfg(unix)]
use tokio_util::sync::DropGuard;

use super::closing::{Closing, PATIENCE};
use super::exact_numbers::ExactNumbers;
use super::failure::{NO_RESULT, failure, is_broken_by, unlisted, unready};
use super::list_changed::{ToolListChanges, watched};
#[cfg(unix)]
use super::stderr;
use super::{ConnectError, ServerOptions, content};
use crate::{Call, Failure, Outcome, Progress};

/// A connection to a server. Dropping it ends the HTTP session or the program of the server.
pub(super) struct Connection {
    peer: Peer<RoleClient>,
    listeners: Arc<ProgressListeners>,
    exact_numbers: ExactNumbers,
    changes: ToolListChanges,
    /// Whether a request failed because the server is gone. Some transports do not report this.
    is_broken: AtomicBool,
    /// `None` once it is closed.
    service: Option<RunningService<RoleClient, Arc<ProgressListeners>>>,
    #[cfg(unix)]
    program: Option<ServerProcess>,
}

/// The program of the server.
#[cfg(unix)]
struct ServerProcess {
    /// Ends the program when it is dropped.
    over: DropGuard,
    /// Completes after the program has ended and its standard error was reported.
    ended: JoinHandle<()>,
}

/// The running calls, by their progress tokens.
#[derive(Default)]
pub(super) struct ProgressListeners {
    calls: Mutex<HashMap<ProgressToken, ProgressListener>>,
}

struct ProgressListener {
    call: Call,
    /// The last reported progress.
    done: f64,
}

impl ClientHandler for ProgressListeners {
    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let mut calls = self.calls.lock().await;
        let Some(listener) = calls.get_mut(&progress.progress_token) else { return };
        // Notifications are handled concurrently, so an older report may arrive later. It is
        // ignored.
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
        exact_numbers: ExactNumbers,
        options: &ServerOptions,
    ) -> Result<Self, ConnectError>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let (listeners, changes) =
            (Arc::new(ProgressListeners::default()), ToolListChanges::default());
        let served = listeners.clone().serve(watched(transport, changes.clone()));
        let service = match tokio::time::timeout(options.timeout, served).await {
            Ok(service) => service.map_err(|error| unready(&error))?,
            Err(_) => return Err(ConnectError::new("the server did not answer in time")),
        };
        let peer = service.peer().clone();
        let is_broken = AtomicBool::new(false);
        Ok(Self {
            peer,
            listeners,
            exact_numbers,
            changes,
            is_broken,
            service: Some(service),
            #[cfg(unix)]
            program: None,
        })
    }

    /// Attaches the program of the server, which ends with the connection.
    #[cfg(unix)]
    pub(super) fn with_program(
        mut self,
        mut group: crate::kinds::process::Group,
        stderr: Option<JoinHandle<()>>,
    ) -> Self {
        let over = tokio_util::sync::CancellationToken::new();
        let cancelled = over.clone();
        let ended = tokio::spawn(async move {
            let is_over = tokio::select! {
                _ = group.wait() => false,
                () = cancelled.cancelled() => true,
            };
            if is_over {
                let _ = tokio::time::timeout(PATIENCE, group.wait()).await;
            }
            // Kills the program and its descendants.
            drop(group);
            if let Some(stderr) = stderr {
                stderr::finish(stderr).await;
            }
        });
        self.program = Some(ServerProcess { over: over.drop_guard(), ended });
        self
    }

    pub(super) fn instructions(&self) -> Option<String> {
        self.peer.peer_info()?.instructions.clone()
    }

    pub(super) fn is_disconnected(&self) -> bool {
        self.peer.is_transport_closed() || self.is_broken.load(Ordering::SeqCst)
    }

    /// Returns how often the server reported that its tools changed.
    pub(super) fn changes(&self) -> u64 {
        self.changes.count()
    }

    pub(super) fn exact_numbers(&self) -> &ExactNumbers {
        &self.exact_numbers
    }

    /// Whether the server declares a capability.
    fn has(&self, what: impl Fn(&ServerCapabilities) -> bool) -> bool {
        self.peer.peer_info().is_some_and(|info| what(&info.capabilities))
    }

    /// Lists the tools of the server, at most this many.
    pub(super) async fn tools(&self, most: usize) -> Result<Vec<rmcp::model::Tool>, ConnectError> {
        let page = |page| async {
            let page = self.peer.list_tools(page).await?;
            Ok((page.tools, page.next_cursor))
        };
        self.all("tools", most, page).await
    }

    /// Lists the resources of the server.
    pub(super) async fn resources(
        &self,
        most: usize,
    ) -> Result<Vec<rmcp::model::Resource>, ConnectError> {
        if !self.has(|it| it.resources.is_some()) {
            return Ok(Vec::new());
        }
        let page = |page| async {
            let page = self.peer.list_resources(page).await?;
            Ok((page.resources, page.next_cursor))
        };
        self.all("resources", most, page).await
    }

    /// Lists the resource templates of the server. A server that does not know the request has
    /// none.
    pub(super) async fn resource_templates(
        &self,
        most: usize,
    ) -> Result<Vec<rmcp::model::ResourceTemplate>, ConnectError> {
        if !self.has(|it| it.resources.is_some()) {
            return Ok(Vec::new());
        }
        let page = |page| async {
            match self.peer.list_resource_templates(page).await {
                Ok(page) => Ok((page.resource_templates, page.next_cursor)),
                Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                    Ok((Vec::new(), None))
                }
                Err(error) => Err(error),
            }
        };
        self.all("resources/templates", most, page).await
    }

    /// Lists the prompts of the server.
    pub(super) async fn prompts(
        &self,
        most: usize,
    ) -> Result<Vec<rmcp::model::Prompt>, ConnectError> {
        if !self.has(|it| it.prompts.is_some()) {
            return Ok(Vec::new());
        }
        let page = |page| async {
            let page = self.peer.list_prompts(page).await?;
            Ok((page.prompts, page.next_cursor))
        };
        self.all("prompts", most, page).await
    }

    /// Reads a list page by page, at most this many items.
    async fn all<T, P>(
        &self,
        what: &str,
        most: usize,
        page: impl Fn(Option<PaginatedRequestParams>) -> P,
    ) -> Result<Vec<T>, ConnectError>
    where
        P: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
    {
        let mut listed = Vec::new();
        let mut cursor = None;
        loop {
            let asked = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let page = page(Some(asked)).await.inspect_err(|error| self.note(error));
            let (items, next) = page.map_err(|error| unlisted(what, &error))?;
            let is_empty = items.is_empty();
            listed.extend(items);
            if listed.len() > most {
                return Err(ConnectError::unusable(format!("it lists more than {most} {what}")));
            }
            match next {
                None => return Ok(listed),
                // Empty pages could continue forever.
                Some(_) if is_empty => {
                    let why =
                        format!("it returns an empty page of {what} that is not the last page");
                    return Err(ConnectError::unusable(why));
                }
                next => cursor = next,
            }
        }
    }

    /// Calls the tool with this name of the server.
    pub(super) async fn call(&self, tool: &str, call: &Call) -> Outcome {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = Some(self.exact_numbers.arguments(call.arguments())?);
        let request = ClientRequest::CallToolRequest(Request::new(params));
        // The lock delays a progress report that arrives before the call is registered.
        let mut calls = self.listeners.calls.lock().await;
        let options = PeerRequestOptions::no_options();
        let sent = self.peer.send_cancellable_request(request, options).await;
        let handle = sent.map_err(|error| self.failure(error))?;
        let token = handle.progress_token.clone();
        let mut running = RunningCall {
            peer: self.peer.clone(),
            listeners: self.listeners.clone(),
            id: Some(handle.id.clone()),
            token: token.clone(),
        };
        calls.insert(token, ProgressListener { call: call.clone(), done: f64::NEG_INFINITY });
        drop(calls);
        let answer = handle.await_response().await;
        running.id = None;
        match answer.map_err(|error| self.failure(error))? {
            ServerResult::CallToolResult(result) => content::outcome(result, &self.exact_numbers),
            ServerResult::EmptyResult(_) => {
                content::outcome(Default::default(), &self.exact_numbers)
            }
            ServerResult::InputRequiredResult(_) => {
                Err(Failure::new("the tool asks for input, which is not supported"))
            }
            _ => Err(Failure::with_code(Code::ToolOutput, NO_RESULT)),
        }
    }

    /// Returns the failure for the model.
    fn failure(&self, error: ServiceError) -> Failure {
        self.note(&error);
        failure(error)
    }

    /// Notes whether an error breaks the connection.
    fn note(&self, error: &ServiceError) {
        if is_broken_by(error) {
            self.is_broken.store(true, Ordering::SeqCst);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Without a runtime, the session cannot be ended.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (service, closing) = (self.service.take(), Closing::new());
        #[cfg(unix)]
        let program = self.program.take();
        runtime.spawn(async move {
            let _closing = closing;
            if let Some(mut service) = service {
                let _ = service.close_with_timeout(PATIENCE).await;
            }
            #[cfg(unix)]
            if let Some(ServerProcess { over, ended }) = program {
                drop(over);
                let _ = ended.await;
            }
        });
    }
}

/// A call that the server is processing. Dropping it before the response cancels the call.
struct RunningCall {
    peer: Peer<RoleClient>,
    listeners: Arc<ProgressListeners>,
    /// `None` after the response.
    id: Option<RequestId>,
    token: ProgressToken,
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        // Without a runtime, there is no connection.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (peer, listeners) = (self.peer.clone(), self.listeners.clone());
        let (id, token) = (self.id.take(), self.token.clone());
        runtime.spawn(async move {
            listeners.calls.lock().await.remove(&token);
            let Some(id) = id else { return };
            let params = CancelledNotificationParam::new(Some(id), Some(CANCELLED.to_owned()));
            let notification = CancelledNotification::new(params);
            // If the server is gone, there is nothing to cancel.
            let _ = peer.send_notification(notification.into()).await;
        });
    }
}

/// The reason in the cancellation notification.
const CANCELLED: &str = "the result is no longer needed";

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("is_gone", &self.is_disconnected())
            .finish_non_exhaustive()
    }
}
