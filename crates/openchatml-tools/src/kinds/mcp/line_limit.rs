//! Messages of a server that are too long or malformed. They become errors, so that no call waits
//! for them forever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use memchr::memchr;
use rmcp::model::ServerJsonRpcMessage;
use tokio::io::{AsyncRead, ReadBuf};

use super::exact_numbers::{ExactNumbers, NumberHider};

/// The maximum size of a message, in bytes.
pub(super) const MOST: usize = 16_000_000;

/// The error that replaces a response that is too long.
pub(super) const TOO_LONG: &str = "the answer is too long";

/// The error that replaces a response that cannot be parsed.
pub(super) const UNREADABLE: &str = "the answer cannot be read";

/// A line may be this many times as long as the longest message. A longer line ends the connection,
/// because no response could follow it in reasonable time.
const PATIENCE: usize = 16;

/// The number of bytes at the beginning and at the end of a message in which its id is searched.
const EDGE: usize = 128;
const CHUNK: usize = 16 << 10;

/// Reads lines and drops those that are too long. If such a line, or one that cannot be parsed, is
/// a response, an error for the same request replaces it. Numbers that the SDK cannot represent are
/// masked.
pub(super) struct LimitedLines<R> {
    inner: R,
    hider: NumberHider,
    /// The bytes that were read, and how many of them were passed on.
    ready: Vec<u8>,
    given: usize,
    /// The current line, unless it is too long.
    message: Vec<u8>,
    /// Whether an error has already replaced the line.
    is_answered: bool,
    /// The length of the current line, its beginning and, if it is too long, its end.
    line: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
    most: usize,
}

impl<R> LimitedLines<R> {
    pub(super) fn new(inner: R, exact_numbers: &ExactNumbers) -> Self {
        Self::with_most(inner, exact_numbers, MOST)
    }

    fn with_most(inner: R, exact_numbers: &ExactNumbers, most: usize) -> Self {
        Self {
            inner,
            hider: exact_numbers.hider(),
            ready: Vec::new(),
            given: 0,
            message: Vec::new(),
            is_answered: false,
            line: 0,
            head: Vec::new(),
            tail: Vec::new(),
            most,
        }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let end = memchr(b'\n', bytes);
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            self.part(part);
            bytes = rest;
            if end.is_some() {
                self.end();
                bytes = &rest[1..];
            }
        }
    }

    /// Processes a part of a line.
    fn part(&mut self, part: &[u8]) {
        let room = EDGE - self.head.len();
        self.head.extend_from_slice(&part[..part.len().min(room)]);
        self.line = self.line.saturating_add(part.len());
        if self.line <= self.most {
            self.hider.feed(part, &mut self.message);
        } else {
            self.message = Vec::new();
            // The line may never end, so it is answered now if its beginning contains the id. If
            // the id is at the end, the answer waits for the end.
            self.answer_too_long(b"");
            self.tail.extend_from_slice(&part[part.len().saturating_sub(EDGE)..]);
            let excess = self.tail.len().saturating_sub(EDGE);
            self.tail.drain(..excess);
        }
    }

    /// Replaces the line by an error, once, if the part that was read contains the id of the
    /// request.
    fn answer_too_long(&mut self, tail: &[u8]) {
        if self.is_answered {
            return;
        }
        if let Some(id) = answered(&self.head, tail) {
            self.ready.extend_from_slice(&error(&id, TOO_LONG));
            self.ready.push(b'\n');
            self.is_answered = true;
        }
    }

    /// Processes the end of a line.
    fn end(&mut self) {
        self.hider.end(&mut self.message);
        self.hider.reset();
        if self.line > self.most {
            let tail = std::mem::take(&mut self.tail);
            self.answer_too_long(&tail);
        } else {
            let message = std::mem::take(&mut self.message);
            self.ready.extend_from_slice(&readable(message));
            self.ready.push(b'\n');
        }
        self.is_answered = false;
        self.line = 0;
        self.head.clear();
        self.tail.clear();
    }
}

/// Returns the message, or an error if it is a response that cannot be parsed.
pub(super) fn readable(message: Vec<u8>) -> Vec<u8> {
    let (head, tail) = (&message[..message.len().min(EDGE)], message.len().saturating_sub(EDGE));
    let Some(id) = answered(head, &message[tail..]) else { return message };
    match serde_json::from_slice::<ServerJsonRpcMessage>(&message) {
        Ok(_) => message,
        Err(_) => error(&id, UNREADABLE),
    }
}

fn error(id: &str, message: &str) -> Vec<u8> {
    let error = format!(r#"{{"code":-32000,"message":"{message}"}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into_bytes()
}

/// Finds the id of the request that a message answers, in its beginning and end. The id can be
/// before or after the result.
fn answered(head: &[u8], tail: &[u8]) -> Option<String> {
    let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace([' ', '\t', '\r'], "");
    let version = r#""jsonrpc":"2.0","#;
    let is_answer = |rest: &str| {
        let rest = rest.strip_prefix(version).unwrap_or(rest);
        rest.starts_with(r#""result":"#) || rest.starts_with(r#""error":"#)
    };
    let before = plain(head);
    let before = before.strip_prefix('{')?;
    let before = before.strip_prefix(version).unwrap_or(before);
    if let Some((id, rest)) = before.strip_prefix(r#""id":"#).and_then(|it| it.split_once(',')) {
        return number(id).filter(|_| is_answer(rest)).map(str::to_owned);
    }
    if !is_answer(before) {
        return None;
    }
    let end_of_message = plain(tail);
    let end_of_message = end_of_message.strip_suffix('}')?;
    let end_of_message =
        end_of_message.strip_suffix(r#","jsonrpc":"2.0""#).unwrap_or(end_of_message);
    let (_, id) = end_of_message.rsplit_once(r#","id":"#)?;
    number(id).map(str::to_owned)
}

/// Returns the number of an id. Our request ids are numbers, but some servers return them as
/// strings.
fn number(id: &str) -> Option<&str> {
    let id = id.strip_prefix('"').and_then(|id| id.strip_suffix('"')).unwrap_or(id);
    (!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())).then_some(id)
}

impl<R: AsyncRead + Unpin> AsyncRead for LimitedLines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.given == this.ready.len() {
            this.ready.clear();
            this.given = 0;
            let mut chunk = [0; CHUNK];
            let mut read = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut this.inner).poll_read(context, &mut read))?;
            if read.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            this.take(read.filled());
            if this.line > this.most.saturating_mul(PATIENCE) {
                return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
            }
        }
        let rest = &this.ready[this.given..];
        let part = &rest[..rest.len().min(into.remaining())];
        into.put_slice(part);
        this.given += part.len();
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::{ExactNumbers, LimitedLines, UNREADABLE, readable};

    #[tokio::test]
    async fn responses_that_are_too_long_become_errors() {
        let long = "x".repeat(300);
        let fine = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let nested = format!(r#"{{"result":{{"a":"{long}","id":9}}}}"#);
        let lines = [
            fine.to_owned(),
            format!(r#"{{"jsonrpc": "2.0", "id": 2, "result": {{"a":"{long}","id":9}}}}"#),
            format!(r#"{{"result":{{"a":"{long}"}},"jsonrpc":"2.0","id":3}}"#),
            format!(r#"{{"result":{{"a":"{long}"}},"id":4,"jsonrpc":"2.0"}}"#),
            nested,
            fine.to_owned(),
        ];
        let text = lines.join("\n") + "\n";
        let mut out = String::new();
        let mut bounded = LimitedLines::with_most(text.as_bytes(), &ExactNumbers::new(), 200);
        bounded.read_to_string(&mut out).await.unwrap();
        assert!(out.lines().all(|line| line.len() <= 200));
        let errors: Vec<_> = out.lines().filter(|line| line.contains("-32000")).collect();
        let id = |it: &&str| it.split("\"id\":").nth(1).unwrap()[..1].to_owned();
        assert_eq!(errors.iter().map(id).collect::<String>(), "234");
        assert_eq!(out.lines().filter(|line| *line == fine).count(), 2);
    }

    #[tokio::test]
    async fn a_message_that_is_too_long_is_answered_before_its_end() {
        use tokio::io::AsyncWriteExt as _;
        let (mut write, read) = tokio::io::duplex(1 << 12);
        let mut bounded = LimitedLines::with_most(read, &ExactNumbers::new(), 200);
        let start = format!(r#"{{"jsonrpc":"2.0","id":7,"result":"{}"#, "x".repeat(300));
        write.write_all(start.as_bytes()).await.unwrap();
        let mut out = [0; 200];
        let read = bounded.read(&mut out).await.unwrap();
        assert!(out[..read].starts_with(br#"{"jsonrpc":"2.0","id":7,"error":"#));
        write.write_all(b"\"}\n{}\n").await.unwrap();
        let read = bounded.read(&mut out).await.unwrap();
        assert_eq!(&out[..read], b"{}\n", "it is answered once");
        // A line that never ends closes the connection.
        write.write_all(&[b'x'; 3300]).await.unwrap();
        assert!(bounded.read(&mut out).await.is_err());
    }

    #[test]
    fn malformed_responses_become_errors() {
        let deep = format!(r#"{{"id":5,"result":{{"a":{}{}}}}}"#, "[".repeat(500), "]".repeat(500));
        for text in [
            r#"{"jsonrpc":"2.0","id":5,"result":{"content":[}}"#,
            r#"{"jsonrpc": "2.0", "id": 5, "result": {}, "error": {"code": 1, "message": ""}}"#,
            r#"{"jsonrpc":"2.0","id":5,"error":{"code":4294967296,"message":""}}"#,
            r#"{"id":5,"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"\ud800"}]}}"#,
            r#"{"result":{"content":[}},"jsonrpc":"2.0","id":5}"#,
            r#"{"jsonrpc":"2.0","id":"5","result":{"content":[}}"#,
            r#"{"result":{"content":[}},"jsonrpc":"2.0","id": "5"}"#,
            &deep,
        ] {
            let error = readable(text.as_bytes().to_vec());
            assert_eq!(error, super::error("5", UNREADABLE), "{text}");
        }
        for text in [
            r#"{"jsonrpc":"2.0","id":5,"result":{"content":[]}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":[}}"#,
            r#"{"jsonrpc":"2.0","method":"x","params":{"id":5}"#,
            r#"{"jsonrpc":"2.0","id":"5a","result":{"content":[}}"#,
            r#"{"jsonrpc":"2.0","id":"","result":{"content":[}}"#,
            "Listening, id: 5",
        ] {
            assert_eq!(readable(text.as_bytes().to_vec()), text.as_bytes(), "{text}");
        }
    }
}
