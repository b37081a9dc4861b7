//! A completion that arrives from a server.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::time::{Instant, timeout_at};

use super::chunk::{self, FinishReason, Tail};
use super::client::{silent, unreachable};
use super::engine::Engine;
use super::sse::{Events, MOST_BYTES, TooLong};
use super::{Completion, Piece, PieceFuture, UpstreamError};
use crate::secrets::Secrets;

/// A completion that arrives from a server.
pub(super) struct CompletionStream {
    /// `None` after the end of the response.
    response: Option<Response>,
    framing: Framing,
    /// The engine, if the response must contain ids.
    wants_ids: Option<Engine>,
    /// The pieces that were not returned yet.
    ready: VecDeque<Result<Piece, UpstreamError>>,
    tail: Tail,
    /// Whether the server reported the end of the completion.
    is_finished: bool,
    /// The idle timeout, and the time by which the next data must arrive.
    idle: Duration,
    deadline: Instant,
    /// The time by which the completion must end.
    until: Option<Instant>,
    secrets: Secrets,
}

/// How a response is divided into parts.
enum Framing {
    Events(Events),
    /// One part per line; the incomplete line.
    Lines(Vec<u8>),
    /// One part; the data so far.
    Whole(Vec<u8>),
}

impl Framing {
    fn of(response: &Response) -> Self {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        match kind.and_then(|kind| kind.split(';').next()).map(str::trim) {
            Some("application/x-ndjson") => Self::Lines(Vec::new()),
            Some("application/json") => Self::Whole(Vec::new()),
            _ => Self::Events(Events::default()),
        }
    }

    /// Reads bytes, and passes the complete parts to `take`.
    fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(&str)) -> Result<(), TooLong> {
        match self {
            Self::Events(events) => return events.feed(bytes, take),
            Self::Lines(held) => {
                let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                let (whole, rest) = bytes.split_at(end);
                held.extend_from_slice(whole);
                if end > 0 {
                    let lines = held.split(|byte| *byte == b'\n');
                    lines
                        .filter(|line| !line.trim_ascii().is_empty())
                        .for_each(|line| take(&String::from_utf8_lossy(line)));
                    held.clear();
                }
                held.extend_from_slice(rest);
            }
            Self::Whole(held) => held.extend_from_slice(bytes),
        }
        match self {
            Self::Lines(held) | Self::Whole(held) if held.len() > MOST_BYTES => Err(TooLong),
            _ => Ok(()),
        }
    }

    /// Ends the response, and passes the last incomplete part to `take`.
    fn finish(self, mut take: impl FnMut(&str)) {
        match self {
            Self::Events(events) => events.finish(take),
            Self::Lines(held) | Self::Whole(held) if held.trim_ascii().is_empty() => {}
            Self::Lines(held) | Self::Whole(held) => take(&String::from_utf8_lossy(&held)),
        }
    }
}

impl CompletionStream {
    pub(super) fn new(
        response: Response,
        wants_ids: Option<Engine>,
        idle: Duration,
        until: Option<Instant>,
        secrets: Secrets,
    ) -> Self {
        Self {
            framing: Framing::of(&response),
            response: Some(response),
            wants_ids,
            ready: VecDeque::new(),
            tail: Tail::default(),
            is_finished: false,
            idle,
            deadline: Instant::now() + idle,
            until,
            secrets,
        }
    }
}

impl Completion for CompletionStream {
    fn next(&mut self) -> PieceFuture<'_> {
        Box::pin(async move {
            loop {
                if let Some(piece) = self.ready.pop_front() {
                    return piece.map(Some);
                }
                let Some(response) = &mut self.response else { return Ok(None) };
                let deadline = self.until.map_or(self.deadline, |it| it.min(self.deadline));
                match timeout_at(deadline, response.chunk()).await {
                    Ok(Ok(Some(bytes))) => self.arrived(&bytes)?,
                    Ok(Ok(None)) => self.ended()?,
                    Ok(Err(error)) => {
                        self.response = None;
                        return Err(unreachable(&error));
                    }
                    Err(_) => {
                        self.response = None;
                        return Err(match self.until {
                            Some(until) if until <= deadline => {
                                let text = "the completion exceeds its time limit";
                                UpstreamError::Connection(text.to_owned())
                            }
                            _ => silent(self.idle),
                        });
                    }
                }
            }
        })
    }
}

impl CompletionStream {
    /// Reads bytes.
    fn arrived(&mut self, bytes: &[u8]) -> Result<(), UpstreamError> {
        let mut framing = std::mem::replace(&mut self.framing, Framing::Whole(Vec::new()));
        let fed = framing.feed(bytes, |data| self.event(data));
        self.framing = framing;
        fed.map_err(|TooLong| {
            UpstreamError::InvalidResponse(format!("an event has more than {MOST_BYTES} bytes"))
        })
    }

    /// Ends the response.
    fn ended(&mut self) -> Result<(), UpstreamError> {
        self.response = None;
        let ended = "the response ended before the completion";
        let ended = || UpstreamError::Connection(ended.to_owned());
        let framing = std::mem::replace(&mut self.framing, Framing::Whole(Vec::new()));
        let has_begun = !self.tail.is_empty();
        framing.finish(|data| self.event(data));
        // An incomplete part at the end is a broken connection, not an invalid response.
        if has_begun && let Some(Err(UpstreamError::InvalidResponse(_))) = self.ready.back() {
            self.ready.pop_back();
            self.ready.push_back(Err(ended()));
        }
        match self.ready.is_empty() && !self.is_finished {
            true => Err(ended()),
            false => Ok(()),
        }
    }

    /// Reads a part.
    fn event(&mut self, data: &str) {
        if data.trim() == "[DONE]" {
            self.is_finished = true;
            return;
        }
        let chunk = match chunk::read(data) {
            Ok(chunk) => chunk,
            Err(error) => return self.fail(error),
        };
        let piece = match (self.wants_ids, chunk.ids) {
            (Some(engine), None) if !chunk.text.is_empty() => {
                return self.fail(UpstreamError::NoIds(engine.to_string()));
            }
            (Some(_), ids) => Piece::Ids(ids.unwrap_or_default()),
            (None, _) => Piece::Text(chunk.text),
        };
        self.push(piece);
        if let Some(finish) = chunk.finish {
            self.is_finished = true;
            match finish {
                FinishReason::CutOff(reason) => self.push(Piece::CutOff(reason)),
                FinishReason::Stop(stop) => {
                    let rest = stop.and_then(|stop| chunk::ending(stop, &self.tail));
                    rest.into_iter().for_each(|piece| self.push(piece));
                }
            }
        }
        chunk.usage.into_iter().for_each(|usage| self.push(Piece::Usage(usage)));
    }

    fn fail(&mut self, error: UpstreamError) {
        self.response = None;
        self.ready.push_back(Err(error.without(&self.secrets)));
    }

    fn push(&mut self, piece: Piece) {
        let is_empty = match &piece {
            Piece::Text(text) => text.is_empty(),
            Piece::Ids(ids) => ids.is_empty(),
            Piece::CutOff(_) | Piece::Usage(_) => false,
        };
        if !is_empty {
            // A usage report is not output of the model.
            if !matches!(piece, Piece::Usage(_)) {
                self.deadline = Instant::now() + self.idle;
            }
            self.tail.note(&piece);
            self.ready.push_back(Ok(piece));
        }
    }
}
