//! A scripted server of raw completions.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

/// An action of the server during a response.
pub enum ServerAction {
    /// Sends these bytes in a separate chunk.
    Send(Vec<u8>),
    /// Waits until the channel receives a value or is closed.
    Wait(Receiver<()>),
    /// Breaks the connection.
    Break,
}

/// A response.
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The content type.
    pub content_type: &'static str,
    /// The actions.
    pub actions: Vec<ServerAction>,
}

impl Answer {
    /// Returns a completion with this text in chunks of a few characters, which ends by itself.
    pub fn saying(text: &str) -> Self {
        let mut actions = said(text);
        actions.extend([chunk(json!({"text": "", "finish_reason": "stop"})), done()]);
        Self::stream(actions)
    }

    /// Returns a stream of server-sent events.
    pub fn stream(actions: Vec<ServerAction>) -> Self {
        Self { status: 200, content_type: "text/event-stream; charset=utf-8", actions }
    }

    /// Returns an error.
    pub fn error(status: u16, body: &str) -> Self {
        let actions = vec![ServerAction::Send(body.as_bytes().to_vec())];
        Self { status, content_type: "application/json", actions }
    }
}

/// Returns events with this text in chunks of a few characters.
pub fn said(text: &str) -> Vec<ServerAction> {
    let chars: Vec<char> = text.chars().collect();
    let texts = chars.chunks(5).map(|some| some.iter().collect::<String>());
    texts.map(|text| chunk(json!({"text": text, "finish_reason": null}))).collect()
}

/// Returns an event with one choice.
pub fn chunk(choice: Value) -> ServerAction {
    let event = json!({"object": "text_completion", "choices": [choice]});
    ServerAction::Send(format!("data: {event}\n\n").into_bytes())
}

/// Returns the last event.
pub fn done() -> ServerAction {
    ServerAction::Send(b"data: [DONE]\n\n".to_vec())
}

/// Returns a response to `GET /v1/models`.
pub fn models(owner: &str) -> Value {
    json!({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": owner}]})
}

/// A server on a local port, which stops when it is dropped.
pub struct ScriptedServer {
    url: String,
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Value>>>,
    is_over: Arc<AtomicBool>,
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // The server waits for a connection; this one ends it.
        drop(TcpStream::connect(self.address));
    }
}

impl ScriptedServer {
    /// Starts a server that answers requests with `answer`, which receives the body and the number
    /// of the request, from 0.
    ///
    /// # Panics
    ///
    /// No port is available.
    pub fn start(answer: impl Fn(&Value, usize) -> Answer + Send + Sync + 'static) -> Self {
        Self::with_models(None, answer)
    }

    /// Starts such a server with this list of models.
    ///
    /// # Panics
    ///
    /// No port is available.
    pub fn with_models(
        models: Option<Value>,
        answer: impl Fn(&Value, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = listener.local_addr().expect("it has an address");
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (answer, all) = (Arc::new(answer), asked.clone());
        let models = models.map(Arc::new);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let (answer, all, models) = (answer.clone(), all.clone(), models.clone());
                // The server ignores clients that disconnect.
                std::thread::spawn(move || drop(serve(stream, models.as_deref(), &*answer, &all)));
            }
        });
        Self { url: format!("http://{address}"), address, asked, is_over }
    }

    /// Returns the URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the bodies of the requests so far.
    pub fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(
    stream: TcpStream,
    models: Option<&Value>,
    answer: &dyn Fn(&Value, usize) -> Answer,
    asked: &Mutex<Vec<Value>>,
) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    let mut request = String::new();
    reader.read_line(&mut request)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    if request.starts_with("GET ") {
        let answer = match models {
            Some(models) => Answer::error(200, &models.to_string()),
            None => Answer::error(404, ""),
        };
        return send(stream, answer);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body)?;
    let number = {
        let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(body.clone());
        asked.len() - 1
    };
    send(stream, answer(&body, number))
}

fn send(mut out: TcpStream, answer: Answer) -> io::Result<()> {
    let Answer { status, content_type, actions } = answer;
    write!(
        out,
        "HTTP/1.1 {status} Said\r\ncontent-type: {content_type}\r\n\
            transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )?;
    for act in actions {
        match act {
            ServerAction::Send(bytes) => {
                write!(out, "{:x}\r\n", bytes.len())?;
                out.write_all(&bytes)?;
                out.write_all(b"\r\n")?;
                out.flush()?;
            }
            ServerAction::Wait(word) => drop(word.recv()),
            ServerAction::Break => return out.shutdown(Shutdown::Both),
        }
    }
    out.write_all(b"0\r\n\r\n")
}
