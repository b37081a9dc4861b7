//! Counts the notifications `tools/list_changed` in order: the SDK delivers notifications and
//! responses concurrently.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage, ServerNotification};
use rmcp::transport::{IntoTransport, Transport};

/// The number of times that a server reported a change of its tools.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolListChanges(Arc<AtomicU64>);

impl ToolListChanges {
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Wraps a transport and counts the notifications about tools.
pub(super) fn watched<T, E, A>(
    transport: T,
    changes: ToolListChanges,
) -> impl Transport<RoleClient, Error = E> + 'static
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    Watched { inner: transport.into_transport(), changes }
}

struct Watched<T> {
    inner: T,
    changes: ToolListChanges,
}

impl<T: Transport<RoleClient> + 'static> Transport<RoleClient> for Watched<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let message = self.inner.receive().await;
        if let Some(ServerJsonRpcMessage::Notification(it)) = &message
            && matches!(it.notification, ServerNotification::ToolListChangedNotification(_))
        {
            self.changes.0.fetch_add(1, Ordering::SeqCst);
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
