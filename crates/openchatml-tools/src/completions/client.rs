//! The client of servers that offer `/v1/completions`.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response};
use serde_json::{Map, Value};

use super::chunk::{self, Finish, Tail};
use super::request;
use super::sse::{Events, MOST_BYTES};
use super::{Completion, NextPiece, Opening, Piece, Prompt, Request, Upstream, UpstreamError};

/// So much of an answer that is an error is read.
const MOST_OF_AN_ERROR: usize = 64 << 10;

/// A server that offers `/v1/completions`, as vLLM and llama.cpp do.
///
/// A prompt is sent as text, or as ids. These fields are sent, so that control tokens are part of
/// the answer: to vLLM `skip_special_tokens`, `spaces_between_special_tokens`,
/// `include_stop_str_in_output`, `add_special_tokens`, `stop_token_ids` and, where the prompt is
/// ids, `return_token_ids`; to llama.cpp `preserved_tokens`. Each passes over those of the other.
/// What [`CompletionsOptions::sampling`] says is sent, too, and overrules them.
///
/// The answer is a stream of server-sent events. A server that answers with one JSON object is
/// understood, too.
///
/// ```
/// use openchatml_tools::{Completions, CompletionsOptions};
///
/// let mut options = CompletionsOptions::default();
/// options.model = Some("openai/gpt-oss-20b".into());
/// let upstream = Completions::new("http://localhost:8000", options)?;
/// assert_eq!(upstream.url(), "http://localhost:8000/v1/completions");
/// # Ok::<(), openchatml_tools::UpstreamError>(())
/// ```
#[derive(Clone)]
pub struct Completions {
    client: Client,
    url: String,
    options: CompletionsOptions,
}

/// How a server of completions is asked.
#[derive(Clone)]
#[non_exhaustive]
pub struct CompletionsOptions {
    /// The name of the model. A server that has one need not be told.
    pub model: Option<String>,
    /// What proves that the caller may ask: it is sent as a bearer token.
    pub api_key: Option<String>,
    /// What else is sent: `temperature`, `max_tokens` (16,384 if this does not say), `stop`, …
    pub sampling: Map<String, Value>,
    /// How long it may take until the server answers the telephone.
    pub connect_timeout: Duration,
    /// How long the server may be silent.
    pub read_timeout: Duration,
}

impl Default for CompletionsOptions {
    fn default() -> Self {
        Self {
            model: None,
            api_key: None,
            sampling: Map::new(),
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(600),
        }
    }
}

/// Everything but the key.
impl fmt::Debug for CompletionsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompletionsOptions")
            .field("model", &self.model)
            .field("sampling", &self.sampling)
            .field("connect_timeout", &self.connect_timeout)
            .field("read_timeout", &self.read_timeout)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Completions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completions")
            .field("url", &self.url)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Completions {
    /// The server at this address: of its completions, or without `/completions`, or without
    /// `/v1/completions`.
    ///
    /// # Errors
    ///
    /// The address is none of HTTP, or the key cannot be sent.
    pub fn new(url: &str, options: CompletionsOptions) -> Result<Self, UpstreamError> {
        let url = request::address(url)?;
        reqwest::Url::parse(&url).map_err(|error| {
            UpstreamError::Connection(format!("`{}`: {error}", url.escape_debug()))
        })?;
        if let Some(key) = &options.api_key
            && HeaderValue::from_str(key).is_err()
        {
            let text = "the API key has characters that no header can hold";
            return Err(UpstreamError::Connection(text.to_owned()));
        }
        let client = crate::client::builder()
            .connect_timeout(options.connect_timeout)
            .read_timeout(options.read_timeout)
            // A key goes where the caller sends it, and nowhere else.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| unreachable(&error))?;
        Ok(Self { client, url, options })
    }

    /// The address that is asked.
    pub fn url(&self) -> &str {
        &self.url
    }

    async fn open(&self, request: Request<'_>) -> Result<Box<dyn Completion>, UpstreamError> {
        let body = request::body(&self.options, &request).to_string();
        let mut asked = self
            .client
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(body);
        if let Some(key) = &self.options.api_key {
            asked = asked.header(AUTHORIZATION, format!("Bearer {key}"));
        }
        let response = asked.send().await.map_err(|error| unreachable(&error))?;
        if !response.status().is_success() {
            return Err(refused(response).await);
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_whole = kind.is_some_and(|kind| kind.starts_with("application/json"));
        let wants_ids = matches!(request.prompt, Prompt::Ids(_));
        Ok(Box::new(Answer {
            response: Some(response),
            events: Events::default(),
            whole: is_whole.then(Vec::new),
            wants_ids,
            ready: VecDeque::new(),
            tail: Tail::default(),
            is_finished: false,
        }))
    }
}

impl Upstream for Completions {
    fn sample<'u>(&'u self, request: Request<'u>) -> Opening<'u> {
        Box::pin(self.open(request))
    }
}

/// An answer, while it arrives.
struct Answer {
    /// `None` once all of it has arrived.
    response: Option<Response>,
    events: Events,
    /// What has arrived of an answer that is no stream.
    whole: Option<Vec<u8>>,
    wants_ids: bool,
    /// What was not given yet.
    ready: VecDeque<Result<Piece, UpstreamError>>,
    tail: Tail,
    /// Whether the server said that the completion is complete.
    is_finished: bool,
}

impl Completion for Answer {
    fn next(&mut self) -> NextPiece<'_> {
        Box::pin(async move {
            loop {
                if let Some(piece) = self.ready.pop_front() {
                    return piece.map(Some);
                }
                let Some(response) = &mut self.response else { return Ok(None) };
                match response.chunk().await {
                    Ok(Some(bytes)) => self.arrived(&bytes)?,
                    Ok(None) => self.ended()?,
                    Err(error) => {
                        self.response = None;
                        return Err(unreachable(&error));
                    }
                }
            }
        })
    }
}

impl Answer {
    /// Takes bytes.
    fn arrived(&mut self, bytes: &[u8]) -> Result<(), UpstreamError> {
        let too_long = || UpstreamError::Garbage(format!("more than {MOST_BYTES} bytes at once"));
        if let Some(whole) = &mut self.whole {
            if whole.len() + bytes.len() > MOST_BYTES {
                return Err(too_long());
            }
            whole.extend_from_slice(bytes);
            return Ok(());
        }
        let mut events = std::mem::take(&mut self.events);
        let fed = events.feed(bytes, |data| self.event(data));
        self.events = events;
        fed.map_err(|_| too_long())
    }

    /// Takes the end.
    fn ended(&mut self) -> Result<(), UpstreamError> {
        self.response = None;
        if let Some(whole) = self.whole.take() {
            self.event(&String::from_utf8_lossy(&whole));
        }
        std::mem::take(&mut self.events).finish(|data| self.event(data));
        if self.ready.is_empty() && !self.is_finished {
            let text = "the answer ended before the completion did";
            return Err(UpstreamError::Connection(text.to_owned()));
        }
        Ok(())
    }

    /// Takes an event.
    fn event(&mut self, data: &str) {
        if data.trim() == "[DONE]" {
            self.is_finished = true;
            return;
        }
        match chunk::read(data) {
            Err(error) => {
                self.response = None;
                self.ready.push_back(Err(error));
            }
            Ok(chunk) => {
                let ids = chunk.ids.filter(|_| self.wants_ids);
                let piece = ids.map_or(Piece::Text(chunk.text), Piece::Ids);
                self.push(piece);
                match chunk.finish {
                    None => {}
                    Some(Finish::CutOff) => {
                        self.is_finished = true;
                        self.push(Piece::CutOff);
                    }
                    Some(Finish::Stop(stop)) => {
                        self.is_finished = true;
                        let rest = stop.and_then(|stop| chunk::ending(stop, &self.tail));
                        rest.into_iter().for_each(|piece| self.push(piece));
                    }
                }
            }
        }
    }

    fn push(&mut self, piece: Piece) {
        let is_empty = match &piece {
            Piece::Text(text) => text.is_empty(),
            Piece::Ids(ids) => ids.is_empty(),
            Piece::CutOff => false,
        };
        if !is_empty {
            self.tail.note(&piece);
            self.ready.push_back(Ok(piece));
        }
    }
}

/// What an answer says that is an error.
async fn refused(mut response: Response) -> UpstreamError {
    let status = response.status().as_u16();
    let mut body = Vec::new();
    // An error in reading an error is no better one.
    while let Ok(Some(bytes)) = response.chunk().await {
        body.extend_from_slice(&bytes);
        if body.len() > MOST_OF_AN_ERROR {
            body.truncate(MOST_OF_AN_ERROR);
            break;
        }
    }
    let body = String::from_utf8_lossy(&body);
    let said = serde_json::from_str(&body).ok().and_then(|value| chunk::said(&value));
    UpstreamError::Refused { status, message: said.unwrap_or_else(|| chunk::printable(&body)) }
}

/// What `reqwest` says, with the reasons behind it and without the address.
fn unreachable(error: &reqwest::Error) -> UpstreamError {
    use std::error::Error as _;
    let mut text = if error.is_timeout() { "it took too long".to_owned() } else { String::new() };
    let mut cause = error.source();
    while let Some(reason) = cause {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&reason.to_string());
        cause = reason.source();
    }
    if text.is_empty() {
        text = error.to_string();
    }
    UpstreamError::Connection(chunk::printable(&text))
}
