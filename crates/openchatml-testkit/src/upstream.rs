//! A server of raw completions that says what a script says.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

/// What the server does in the course of one answer.
pub enum Act {
    /// Sends these bytes, in a chunk of their own.
    Send(Vec<u8>),
    /// Waits until somebody sends a word, or nobody can any more.
    Wait(Receiver<()>),
    /// Breaks the connection.
    Break,
}

/// An answer.
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// What is sent, as this.
    pub content_type: &'static str,
    /// What is done.
    pub acts: Vec<Act>,
}

impl Answer {
    /// A completion that says this, a few characters at a time, and ends by itself.
    pub fn saying(text: &str) -> Self {
        let mut acts = said(text);
        acts.extend([chunk(json!({"text": "", "finish_reason": "stop"})), done()]);
        Self::stream(acts)
    }

    /// A stream of server-sent events.
    pub fn stream(acts: Vec<Act>) -> Self {
        Self { status: 200, content_type: "text/event-stream; charset=utf-8", acts }
    }

    /// An error.
    pub fn error(status: u16, body: &str) -> Self {
        let acts = vec![Act::Send(body.as_bytes().to_vec())];
        Self { status, content_type: "application/json", acts }
    }
}

/// Events that say this, a few characters at a time.
pub fn said(text: &str) -> Vec<Act> {
    let chars: Vec<char> = text.chars().collect();
    let texts = chars.chunks(5).map(|some| some.iter().collect::<String>());
    texts.map(|text| chunk(json!({"text": text, "finish_reason": null}))).collect()
}

/// An event with one choice.
pub fn chunk(choice: Value) -> Act {
    let event = json!({"object": "text_completion", "choices": [choice]});
    Act::Send(format!("data: {event}\n\n").into_bytes())
}

/// The last event.
pub fn done() -> Act {
    Act::Send(b"data: [DONE]\n\n".to_vec())
}

/// What a server says of itself: the answer to `GET /v1/models`.
pub fn models(owner: &str) -> Value {
    json!({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": owner}]})
}

/// A server on a port of this machine, until this is dropped.
pub struct Scripted {
    url: String,
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Value>>>,
    is_over: Arc<AtomicBool>,
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // It waits for whoever comes next.
        drop(TcpStream::connect(self.address));
    }
}

impl Scripted {
    /// A server that answers each request as `answer` says, given the body and the number of the
    /// request, from 0.
    ///
    /// # Panics
    ///
    /// If there is no port.
    pub fn start(answer: impl Fn(&Value, usize) -> Answer + Send + Sync + 'static) -> Self {
        Self::with_models(None, answer)
    }

    /// The same, and its list of models is this.
    ///
    /// # Panics
    ///
    /// If there is no port.
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
                // A client that goes away is no concern of the server.
                std::thread::spawn(move || drop(serve(stream, models.as_deref(), &*answer, &all)));
            }
        });
        Self { url: format!("http://{address}"), address, asked, is_over }
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The bodies of the requests so far.
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
    let Answer { status, content_type, acts } = answer;
    write!(
        out,
        "HTTP/1.1 {status} Said\r\ncontent-type: {content_type}\r\n\
            transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )?;
    for act in acts {
        match act {
            Act::Send(bytes) => {
                write!(out, "{:x}\r\n", bytes.len())?;
                out.write_all(&bytes)?;
                out.write_all(b"\r\n")?;
                out.flush()?;
            }
            Act::Wait(word) => drop(word.recv()),
            Act::Break => return out.shutdown(Shutdown::Both),
        }
    }
    out.write_all(b"0\r\n\r\n")
}
