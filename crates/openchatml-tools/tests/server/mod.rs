//! An HTTP/1.1 server whose answers a test supplies.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A request: its first line, its headers and its body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|it| it.0.eq_ignore_ascii_case(name)).map(|it| it.1.as_str())
    }

    /// The path and the query.
    pub(crate) fn target(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }
}

/// What the server does with a connection.
pub(crate) enum Answer {
    /// Sends these bytes and closes the connection.
    Bytes(Vec<u8>),
    /// Sends the first bytes, then repeats the second ones until the client closes the connection.
    Flood(Vec<u8>, Vec<u8>),
    /// Sends nothing until the client closes the connection.
    Hang,
}

/// An answer with this status, type and body.
pub(crate) fn answer(status: &str, kind: &str, body: impl AsRef<[u8]>) -> Answer {
    let body = body.as_ref();
    let length = body.len();
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    Answer::Bytes(bytes)
}

/// A server that runs until it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    /// How many connections the client closed.
    pub(crate) left: Arc<tokio::sync::Semaphore>,
    /// How many requests arrived.
    pub(crate) arrived: Arc<tokio::sync::Semaphore>,
    _tasks: JoinSet<()>,
}

impl Server {
    pub(crate) async fn new(answers: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let [left, arrived] = [0; 2].map(|none| Arc::new(tokio::sync::Semaphore::new(none)));
        let answers = Arc::new(answers);
        let mut tasks = JoinSet::new();
        let (log, gone, came) = (asked.clone(), left.clone(), arrived.clone());
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (answers, log, gone, came) =
                    (answers.clone(), log.clone(), gone.clone(), came.clone());
                connections.spawn(async move {
                    let mut stream = BufReader::new(stream);
                    let Some(asked) = read(&mut stream).await else { return };
                    let answer = answers(&asked);
                    log.lock().expect("nobody panicked").push(asked);
                    came.add_permits(1);
                    if write(stream, answer).await.is_err() {
                        gone.add_permits(1);
                    }
                });
            }
        });
        Self { address, asked, left, arrived, _tasks: tasks }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests since the last call of this method.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().expect("nobody panicked"))
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut asked = Asked::default();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
        let line = line.trim_end();
        if asked.line.is_empty() {
            asked.line = line.into();
        } else if let Some((name, value)) = line.split_once(':') {
            asked.headers.push((name.into(), value.trim().into()));
        } else {
            break;
        }
    }
    let length = asked.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    asked.body = String::from_utf8(body).ok()?;
    Some(asked)
}

async fn write(mut stream: BufReader<TcpStream>, answer: Answer) -> std::io::Result<()> {
    match answer {
        Answer::Bytes(bytes) => {
            stream.write_all(&bytes).await?;
            stream.shutdown().await
        }
        Answer::Flood(head, body) => {
            stream.write_all(&head).await?;
            loop {
                stream.write_all(&body).await?;
            }
        }
        Answer::Hang => {
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await?;
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    }
}
