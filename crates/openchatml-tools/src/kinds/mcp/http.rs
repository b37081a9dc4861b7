//! Requests to a server over streamable HTTP. Responses are limited in size, and numbers keep their
//! digits.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{RequestBuilder, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use super::ConnectError;
use super::exact_numbers::ExactNumbers;
use super::line_limit::{MOST, TOO_LONG, readable};

pub(super) type HttpError = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

const SESSION: &str = "mcp-session-id";
/// The headers that the transport sets itself.
const RESERVED: [&str; 3] = ["accept", SESSION, "last-event-id"];
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// Provides an access token for each request.
pub(super) trait Authorize: Send + Sync {
    fn token(&self) -> BoxFuture<'_, Result<String, ConnectError>>;

    /// Reports that the server rejected the token, so that the next one differs.
    fn refuse(&self, token: &str);
}

/// The HTTP client for the transport of the SDK. It replaces the client of the SDK, which limits
/// numbers in JSON to 64 bits.
#[derive(Clone)]
pub(super) struct HttpClient {
    inner: reqwest::Client,
    exact_numbers: ExactNumbers,
    authorization: Option<Arc<dyn Authorize>>,
}

impl HttpClient {
    pub(super) fn new(
        inner: reqwest::Client,
        exact_numbers: ExactNumbers,
        authorization: Option<Arc<dyn Authorize>>,
    ) -> Self {
        Self { inner, exact_numbers, authorization }
    }

    async fn send(&self, mut request: RequestBuilder) -> Result<Response, HttpError> {
        let Some(authorization) = &self.authorization else {
            return request.send().await.map_err(unreached);
        };
        let token = authorization.token().await;
        let token = token.map_err(|error| AuthRequiredError::new(error.why));
        let token = token.map_err(HttpError::AuthRequired)?;
        request = request.bearer_auth(&token);
        let response = request.send().await.map_err(unreached)?;
        if response.status() == StatusCode::UNAUTHORIZED {
            authorization.refuse(&token);
        }
        Ok(response)
    }

    fn request(
        &self,
        mut request: RequestBuilder,
        token: Option<String>,
        headers: Headers,
    ) -> Result<RequestBuilder, HttpError> {
        request = request.header(ACCEPT, format!("{EVENTS}, {JSON}"));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            if RESERVED.contains(&name.as_str()) {
                return Err(HttpError::ReservedHeaderConflict(name.to_string()));
            }
            // The SDK copies some arguments to headers.
            let restored = value.to_str().ok().map(|text| self.exact_numbers.without_mark(text));
            let restored = restored.and_then(|text| HeaderValue::from_str(&text).ok());
            let is_sensitive = value.is_sensitive();
            let mut value = restored.unwrap_or(value);
            value.set_sensitive(is_sensitive);
            request = request.header(name, value);
        }
        Ok(request)
    }

    async fn post(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let mut request = self.request(self.inner.post(uri), token, headers)?;
        let has_session = session.is_some();
        if let Some(session) = session {
            request = request.header(SESSION, &*session);
        }
        let text = serde_json::to_string(message)?;
        let body = self.exact_numbers.restore(&text).into_owned();
        let response = self.send(request.header(CONTENT_TYPE, JSON).body(body)).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(HttpError::SessionExpired);
        }
        let id = match message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        if status.is_success() {
            self.answer(response, id).await
        } else {
            self.refusal(response).await
        }
    }

    /// Reads the response to the request with this id. Notifications have no id.
    async fn answer(
        &self,
        response: Response,
        id: Option<RequestId>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let session = response.headers().get(SESSION).and_then(|it| it.to_str().ok());
        let session = session.map(str::to_owned);
        // A notification has no response.
        let Some(id) = id else { return Ok(StreamableHttpPostResponse::Accepted) };
        match media_type(response.headers()) {
            Some(kind) if kind == EVENTS => {
                let events = self.events(response, MOST, Some(id));
                Ok(StreamableHttpPostResponse::Sse(events, session))
            }
            Some(kind) if kind == JSON => match body(response, MOST).await? {
                Some(body) => {
                    let message = serde_json::from_slice(&self.exact_numbers.hide(&body))?;
                    Ok(StreamableHttpPostResponse::Json(message, session))
                }
                None => Ok(StreamableHttpPostResponse::Json(too_long(id), session)),
            },
            kind => Err(HttpError::UnexpectedContentType(kind)),
        }
    }

    /// Returns the error for a status that is not a success.
    async fn refusal(&self, response: Response) -> Result<StreamableHttpPostResponse, HttpError> {
        /// The maximum size of an error body, in bytes.
        const LONGEST: usize = 1 << 16;

        let status = response.status();
        if let Some(error) = unauthorized(status, response.headers()) {
            return Err(error);
        }
        let later = response.headers().get(RETRY_AFTER).and_then(|it| it.to_str().ok());
        let later = later.map(str::to_owned);
        let is_json = media_type(response.headers()).as_deref() == Some(JSON);
        let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if is_json && !is_refused && status != StatusCode::TOO_MANY_REQUESTS {
            let body = body(response, LONGEST).await?.unwrap_or_default();
            if let Ok(message @ ServerJsonRpcMessage::Error(_)) =
                serde_json::from_slice(&self.exact_numbers.hide(&body))
            {
                return Ok(StreamableHttpPostResponse::Json(message, None));
            }
        }
        Err(HttpStatusError::new(status.as_u16(), later).into())
    }

    /// Returns the events of a response. An event that is too long is replaced by an error if it
    /// answers the request.
    fn events(&self, response: Response, most: usize, id: Option<RequestId>) -> Events {
        let bytes =
            stream::unfold(Some((response, EventSize::default())), move |state| async move {
                let (mut response, mut size) = state?;
                match response.chunk().await {
                    Ok(Some(chunk)) if size.add(&chunk) > most => {
                        Some((Err(Broken::TooLong), None))
                    }
                    Ok(Some(chunk)) => Some((Ok(chunk), Some((response, size)))),
                    Ok(None) => None,
                    Err(error) => Some((Err(Broken::Connection(error.without_url())), None)),
                }
            });
        let exact_numbers = self.exact_numbers.clone();
        let events = SseStream::from_bytes_stream(bytes.boxed()).map(move |event| match event {
            Err(SseError::Body(error)) if is_too_long(&*error) => match &id {
                Some(id) => Ok(Sse::default().data(json(&too_long(id.clone()))?)),
                None => Err(SseError::Body(error)),
            },
            event => event.map(|mut event| {
                event.data = event.data.map(|data| hidden(&exact_numbers, data));
                event
            }),
        });
        events.boxed()
    }
}

/// Returns the error of a failed request without its URL, which may contain a secret.
fn unreached(error: reqwest::Error) -> HttpError {
    HttpError::Client(error.without_url())
}

fn hidden(exact_numbers: &ExactNumbers, data: String) -> String {
    String::from_utf8(readable(exact_numbers.hide(data.as_bytes()))).unwrap_or(data)
}

fn json(message: &ServerJsonRpcMessage) -> Result<String, SseError> {
    serde_json::to_string(message).map_err(|error| SseError::Body(Box::new(error)))
}

/// The response that replaces one that is too long.
fn too_long(id: RequestId) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode(-32000), TOO_LONG, None), Some(id))
}

fn is_too_long(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(Broken::TooLong))
}

/// The reason why a stream of events ends.
#[derive(Debug)]
enum Broken {
    TooLong,
    Connection(reqwest::Error),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str(TOO_LONG),
            Self::Connection(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Broken {}

/// Counts the bytes of the incomplete event.
#[derive(Clone, Copy, Debug, Default)]
struct EventSize {
    size: usize,
    has_line: bool,
    after_return: bool,
}

impl EventSize {
    /// Adds bytes, and returns the size of the largest event that contains some of them.
    fn add(&mut self, bytes: &[u8]) -> usize {
        let mut longest = 0;
        for &byte in bytes {
            let is_line_end = matches!(byte, b'\n' | b'\r');
            let belongs_to_return = std::mem::take(&mut self.after_return) && byte == b'\n';
            self.after_return = byte == b'\r';
            self.size += 1;
            if belongs_to_return {
                continue;
            }
            if is_line_end && !std::mem::take(&mut self.has_line) {
                self.size = 0;
            }
            self.has_line |= !is_line_end;
            longest = longest.max(self.size);
        }
        longest
    }
}

/// Reads the body of a response. Returns `None` if it is longer than `most` bytes.
async fn body(mut response: Response, most: usize) -> Result<Option<Vec<u8>>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreached)? {
        if body.len() + chunk.len() > most {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

/// Returns the media type: `application/json` for `Application/JSON; charset=utf-8`.
fn media_type(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let kind = kind.split(';').next().unwrap_or_default();
    Some(kind.trim().to_ascii_lowercase())
}

/// Returns the challenge of a server that requires an authorization.
fn unauthorized(status: StatusCode, headers: &HeaderMap) -> Option<HttpError> {
    let challenge = headers.get(WWW_AUTHENTICATE)?.to_str().ok()?.to_owned();
    match status {
        StatusCode::UNAUTHORIZED => {
            Some(HttpError::AuthRequired(AuthRequiredError::new(challenge)))
        }
        StatusCode::FORBIDDEN => {
            let error = InsufficientScopeError::new(challenge, None);
            Some(HttpError::InsufficientScope(error))
        }
        _ => None,
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        self.post(&uri, &message, session, token, headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), HttpError> {
        let request = self.request(self.inner.delete(&*uri), token, headers)?;
        // The response does not matter, because the session is no longer used.
        self.send(request.header(SESSION, &*session)).await?;
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<Events, HttpError> {
        let mut request = self.request(self.inner.get(&*uri), token, headers)?;
        if let Some(session) = session {
            request = request.header(SESSION, &*session);
        }
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = self.send(request).await?;
        let status = response.status();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(HttpError::ServerDoesNotSupportSse);
        }
        if let Some(error) = unauthorized(status, response.headers()) {
            return Err(error);
        }
        if !status.is_success() {
            return Err(HttpStatusError::new(status.as_u16(), None).into());
        }
        match media_type(response.headers()) {
            Some(kind) if kind == EVENTS => Ok(self.events(response, MOST, None)),
            kind => Err(HttpError::UnexpectedContentType(kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EventSize;

    #[test]
    fn the_largest_event_determines_the_size() {
        for (text, longest) in [
            ("data: 12345\n\ndata: 1\n\n", 12),
            ("data: 1\r\n\r\ndata: 2\r\n", 9),
            ("data: 1\r\ndata: 2\r\n\r\n", 17),
            ("\n\n\n", 0),
        ] {
            let mut size = EventSize::default();
            let parts = text.as_bytes().chunks(1).map(|part| size.add(part));
            assert_eq!(parts.max().unwrap_or_default(), longest, "{text:?}");
            assert_eq!(EventSize::default().add(text.as_bytes()), longest, "{text:?}");
        }
    }
}
