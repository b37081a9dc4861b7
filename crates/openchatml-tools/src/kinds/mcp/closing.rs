//! Connections that are being closed.

use std::sync::LazyLock;
use std::time::Duration;

use tokio::sync::watch;

/// How long a server has: to hear that its session is over, or to end once its input is closed.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// A connection that is being closed.
#[derive(Debug)]
pub(super) struct Closing;

/// How many there are.
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

/// Waits until the connections to servers that nobody has anymore are closed: sessions over HTTP are ended
/// (`DELETE`), and programs have ended or were killed. That takes a few seconds at most.
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
