//! Messages of a server that are too long: an answer that nobody can take is an error, and not silence.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use memchr::memchr;
use tokio::io::{AsyncRead, ReadBuf};

use super::digits::{Digits, Hider};

/// The bytes of a message.
pub(super) const MOST: usize = 16_000_000;

/// What stands in the place of an answer that is too long.
pub(super) const TOO_LONG: &str = "the answer is too long";

/// How much of the beginning and of the end of a message is looked at.
const EDGE: usize = 128;
const CHUNK: usize = 16 << 10;

/// Lines, of which those that are too long are cut off. If one was an answer, an error follows it, which
/// answers the same request. Numbers that the SDK cannot hold are hidden from it.
pub(super) struct Bounded<R> {
    inner: R,
    hider: Hider,
    /// What was read, and how much of it was given on.
    ready: Vec<u8>,
    given: usize,
    /// The length of the line that is being read, its beginning and, if it is too long, its end.
    line: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
    most: usize,
}

impl<R> Bounded<R> {
    pub(super) fn new(inner: R, digits: &Digits) -> Self {
        Self::with_most(inner, digits, MOST)
    }

    fn with_most(inner: R, digits: &Digits, most: usize) -> Self {
        let (ready, head, tail) = (Vec::new(), Vec::new(), Vec::new());
        Self { inner, hider: digits.hider(), ready, given: 0, line: 0, head, tail, most }
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

    /// A part of a line.
    fn part(&mut self, part: &[u8]) {
        let room = EDGE - self.head.len();
        self.head.extend_from_slice(&part[..part.len().min(room)]);
        let fits = part.len().min(self.most.saturating_sub(self.line));
        self.hider.feed(&part[..fits], &mut self.ready);
        self.line = self.line.saturating_add(part.len());
        if self.line > self.most {
            self.tail.extend_from_slice(&part[part.len().saturating_sub(EDGE)..]);
            let excess = self.tail.len().saturating_sub(EDGE);
            self.tail.drain(..excess);
        }
    }

    /// The end of a line.
    fn end(&mut self) {
        self.hider.end(&mut self.ready);
        self.hider.reset();
        self.ready.push(b'\n');
        if self.line > self.most
            && let Some(id) = answered(&self.head, &self.tail)
        {
            let error = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32000,\"message\":\"{TOO_LONG}\"}}}}\n"
            );
            self.ready.extend_from_slice(error.as_bytes());
        }
        self.line = 0;
        self.head.clear();
        self.tail.clear();
    }
}

/// The id of the request that a message answers, of which these are the beginning and the end. It stands
/// before the result, or behind it.
fn answered(head: &[u8], tail: &[u8]) -> Option<String> {
    let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace([' ', '\t', '\r'], "");
    let version = r#""jsonrpc":"2.0","#;
    let before = plain(head);
    let before = before.strip_prefix('{').map(|it| it.strip_prefix(version).unwrap_or(it));
    let before =
        before.and_then(|it| it.strip_prefix(r#""id":"#)).and_then(|it| it.split_once(','));
    if let Some((id, _)) = before {
        return is_number(id).then(|| id.to_owned());
    }
    let behind = plain(tail);
    let behind = behind.strip_suffix('}')?;
    let behind = behind.strip_suffix(r#","jsonrpc":"2.0""#).unwrap_or(behind);
    let (_, id) = behind.rsplit_once(r#","id":"#)?;
    is_number(id).then(|| id.to_owned())
}

/// The ids of our requests are numbers.
fn is_number(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
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

    use super::{Bounded, Digits};

    #[tokio::test]
    async fn answers_that_are_too_long_become_errors() {
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
        let mut bounded = Bounded::with_most(text.as_bytes(), &Digits::new(), 200);
        bounded.read_to_string(&mut out).await.unwrap();
        assert!(out.lines().all(|line| line.len() <= 200));
        let errors: Vec<_> = out.lines().filter(|line| line.contains("-32000")).collect();
        let id = |it: &&str| it.split("\"id\":").nth(1).unwrap()[..1].to_owned();
        assert_eq!(errors.iter().map(id).collect::<String>(), "234");
        assert_eq!(out.lines().filter(|line| *line == fine).count(), 2);
    }
}
