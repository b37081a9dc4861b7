//! Reads the standard error of programs line by line.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinHandle;

/// The receiver of the standard error of servers: it gets the name of the server and a line.
///
/// A line comes from the server and may contain control characters: escape it before you print it.
/// A line is truncated after 4,096 bytes.
///
/// ```
/// use openchatml_tools::kinds::mcp::{ServerOptions, ServerStderr};
///
/// let mut options = ServerOptions::default();
/// options.stderr = Some(ServerStderr::new("files", |name, line| eprintln!("{name}: {line:?}")));
/// ```
#[derive(Clone)]
pub struct ServerStderr {
    name: Arc<str>,
    tell: Arc<Tell>,
}

type Tell = dyn Fn(&str, &str) + Send + Sync;

impl ServerStderr {
    /// Passes the lines of the server with this name to `tell`.
    pub fn new(name: &str, tell: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        Self { name: name.into(), tell: Arc::new(tell) }
    }

    /// Returns a receiver for another server.
    #[cfg(feature = "config")]
    pub(crate) fn named(&self, name: &str) -> Self {
        Self { name: name.into(), ..self.clone() }
    }

    /// Passes the lines to the receiver until the pipe ends.
    pub(super) fn listen(&self, pipe: impl AsyncRead + Send + Unpin + 'static) -> JoinHandle<()> {
        let stderr = self.clone();
        tokio::spawn(async move { stderr.read(pipe).await })
    }

    async fn read(self, mut pipe: impl AsyncRead + Unpin) {
        let mut line = Line::default();
        let mut chunk = Vec::with_capacity(1 << 14);
        while let Ok(1..) = pipe.read_buf(&mut chunk).await {
            for &byte in &chunk {
                if byte == b'\n' {
                    line.end(&self);
                } else {
                    line.push(byte);
                }
            }
            chunk.clear();
        }
        if !line.record.is_empty() {
            line.end(&self);
        }
    }
}

impl fmt::Debug for ServerStderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerStderr").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for ServerStderr {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.tell, &other.tell)
    }
}

impl Eq for ServerStderr {}

/// An incomplete line.
#[derive(Default)]
struct Line {
    record: Vec<u8>,
    is_cut: bool,
}

impl Line {
    fn push(&mut self, byte: u8) {
        /// The maximum length of a line, in bytes.
        const MOST: usize = 4_096;

        if self.record.len() < MOST {
            self.record.push(byte);
        } else {
            self.is_cut = true;
        }
    }

    fn end(&mut self, stderr: &ServerStderr) {
        let Self { record, is_cut } = std::mem::take(self);
        let text = String::from_utf8_lossy(&record);
        let text = text.strip_suffix('\r').unwrap_or(&text);
        if is_cut {
            (stderr.tell)(&stderr.name, &format!("{text}…"));
        } else {
            (stderr.tell)(&stderr.name, text);
        }
    }
}

/// Waits for the last lines of a program that has ended. Another process may keep the pipe open, so
/// the time is limited.
pub(super) async fn finish(mut listening: JoinHandle<()>) {
    /// The maximum time to wait.
    const PATIENCE: Duration = Duration::from_millis(500);

    if tokio::time::timeout(PATIENCE, &mut listening).await.is_err() {
        listening.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::ServerStderr;

    #[tokio::test]
    async fn lines_are_reported_one_by_one_and_truncated() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = lines.clone();
        let stderr = ServerStderr::new("a", move |name, line| {
            sink.lock().unwrap().push(format!("{name}: {line}"));
        });
        let mut text = b"one\r\n\n\xff\n".to_vec();
        text.extend([b'x'; 5_000]);
        text.extend(b"\nend");
        stderr.read(text.as_slice()).await;
        let mut lines = lines.lock().unwrap().clone();
        let long = lines.remove(3);
        assert_eq!((long.len(), long.ends_with("x…")), ("a: …".len() + 4_096, true));
        assert_eq!(lines, ["a: one", "a: ", "a: \u{fffd}", "a: end"]);
    }
}
