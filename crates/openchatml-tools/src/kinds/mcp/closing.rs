//! Connections that are being closed.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::sync::watch;

/// The timeout for ending a session, or for a program to end after its input is closed.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// A connection that is being closed.
#[derive(Debug)]
pub(super) struct Closing;

/// The number of connections that are being closed.
static CLOSING: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));

impl Closing {
    pub(super) fn new() -> Self {
        CLOSING.send_modify(|count| *count += 1);
        Self
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        CLOSING.send_modify(|count| *count -= 1);
    }
}

/// Waits until all dropped connections are closed: HTTP sessions are ended (`DELETE`), and programs
/// have ended or were killed. This takes a few seconds at most.
///
/// If the runtime ends earlier, sessions stay open until their servers end them.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// // After the last tool of a server was dropped, and before the runtime ends.
/// openchatml_tools::kinds::mcp::closed().await;
/// # }
/// ```
pub async fn closed() {
    let mut closing = CLOSING.subscribe();
    // The sender is never dropped.
    let _ = closing.wait_for(|count| *count == 0).await;
}
