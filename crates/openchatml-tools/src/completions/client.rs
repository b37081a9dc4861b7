//! The client for completion servers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use openchatml_grammars::Language;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Map, Value};
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, timeout};

use super::chunk;
use super::engine::{Engine, ServerInfo};
use super::request;
use super::server_url::ServerUrl;
use super::stream::CompletionStream;
use super::{
    Completion, CompletionFuture, GrammarSupport, GrammarSupportFuture, Prompt, Request, Upstream,
    UpstreamError,
};
use crate::secrets::{Secrets, of_url};

/// The maximum size of an error response, in bytes.
const MOST_OF_AN_ERROR: usize = 64 << 10;

/// The maximum size of a list of models, in bytes.
const MOST_OF_MODELS: usize = 4 << 20;

/// The longest pause between two requests to a busy server.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A client for servers of raw completions: llama.cpp, vLLM, SGLang, Ollama, and others with
/// `/v1/completions`.
///
/// The client asks the server for its kind, unless [`CompletionsOptions::engine`] is set, and for
/// its maximum context. Prompts are sent as text or as ids. The client adds the fields that this
/// [`Engine`] supports, so that the output contains control tokens, and ids if the prompt consists
/// of ids. The fields of [`CompletionsOptions::sampling`] are sent as well and take precedence.
///
/// If the prompt consists of ids, the completion must as well; otherwise it is rejected. In text,
/// ordinary tokens that spell a control token could not be distinguished from it.
///
/// The response is a stream of server-sent events or of lines, or a single JSON object. If the
/// server is busy (429, 503), the request is repeated for the duration of
/// [`CompletionsOptions::patience`].
///
/// ```
/// use openchatml_tools::{Completions, CompletionsOptions, Engine};
///
/// let mut options = CompletionsOptions::default();
/// options.model = Some("openai/gpt-oss-20b".into());
/// let upstream = Completions::new("http://localhost:8000", options)?;
/// assert_eq!(upstream.url(Engine::Vllm), "http://localhost:8000/v1/completions");
/// # Ok::<(), openchatml_tools::UpstreamError>(())
/// ```
#[derive(Clone)]
pub struct Completions {
    client: Client,
    address: ServerUrl,
    options: Arc<CompletionsOptions>,
    /// What the server could repeat in errors.
    secrets: Secrets,
    server: Arc<OnceCell<ServerInfo>>,
}

/// Options for requests to a completion server.
#[derive(Clone)]
#[non_exhaustive]
pub struct CompletionsOptions {
    /// The kind of server. `None`: the client asks the server.
    pub engine: Option<Engine>,
    /// The name of the model. It is optional if the server has only one model.
    pub model: Option<String>,
    /// The key of the API. It is sent as a bearer token.
    pub api_key: Option<String>,
    /// Further parameters: `temperature`, `max_tokens`, `stop`, … By default, `max_tokens` is the
    /// free space of the context, at most 16,384.
    pub sampling: Map<String, Value>,
    /// The timeout for connecting.
    pub connect_timeout: Duration,
    /// The timeout between two pieces of a completion. Keep-alive data does not reset it.
    pub idle_timeout: Duration,
    /// The timeout of a completion. `None`: no timeout.
    pub total_timeout: Option<Duration>,
    /// How long requests are repeated while the server is busy or loads its model.
    pub patience: Duration,
    /// The pause before the first repetition, if the server does not specify one. Each further
    /// pause is twice as long, at most 10 s.
    pub backoff: Duration,
}

impl Default for CompletionsOptions {
    fn default() -> Self {
        Self {
            engine: None,
            model: None,
            api_key: None,
            sampling: Map::new(),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(600),
            total_timeout: None,
            patience: Duration::from_secs(120),
            backoff: Duration::from_millis(500),
        }
    }
}

/// Omits the key.
impl fmt::Debug for CompletionsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompletionsOptions")
            .field("engine", &self.engine)
            .field("model", &self.model)
            .field("sampling", &self.sampling)
            .field("connect_timeout", &self.connect_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("total_timeout", &self.total_timeout)
            .field("patience", &self.patience)
            .field("backoff", &self.backoff)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Completions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completions")
            .field("address", &self.address)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Completions {
    /// Creates a client for the server at this URL. It may end with `/v1/completions`, with `/v1`,
    /// or before it.
    ///
    /// # Errors
    ///
    /// The URL does not use HTTP, or the key is not allowed in a header.
    pub fn new(url: &str, options: CompletionsOptions) -> Result<Self, UpstreamError> {
        let address = ServerUrl::of(url)?;
        if let Some(key) = &options.api_key
            && HeaderValue::from_str(key).is_err()
        {
            let text = "the API key contains characters that are not allowed in a header";
            return Err(UpstreamError::Connection(text.to_owned()));
        }
        let client = crate::client::builder()
            .connect_timeout(options.connect_timeout)
            // No redirects, because the key is only for this server.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| unreachable(&error))?;
        let secrets = Secrets::new(of_url(url).into_iter().chain(options.api_key.clone()));
        let options = Arc::new(options);
        Ok(Self { client, address, options, secrets, server: Arc::default() })
    }

    /// Returns the URL for completions, if the server is this engine.
    pub fn url(&self, engine: Engine) -> String {
        self.address.completions(engine)
    }

    /// Returns the kind of the server. The client asks the server once, unless the options set it.
    ///
    /// # Errors
    ///
    /// The server cannot be reached.
    pub async fn engine(&self) -> Result<Engine, UpstreamError> {
        Ok(self.server().await?.engine)
    }

    async fn server(&self) -> Result<ServerInfo, UpstreamError> {
        let found = self.server.get_or_try_init(|| async {
            let detected = match self.models().await {
                Ok(models) => ServerInfo::of_models(&models, self.options.model.as_deref()),
                // A server without a list of models may still support completions.
                Err(UpstreamError::Refused { .. } | UpstreamError::InvalidResponse(_)) => None,
                Err(error) => return Err(error),
            };
            let detected = detected.unwrap_or(ServerInfo { engine: Engine::OpenAi, context: None });
            Ok(ServerInfo { engine: self.options.engine.unwrap_or(detected.engine), ..detected })
        });
        found.await.copied()
    }

    /// Requests the list of models.
    async fn models(&self) -> Result<Value, UpstreamError> {
        let request = || self.client.get(self.address.models());
        let response = self.ask(request).await?;
        let body = some(response, MOST_OF_MODELS, self.options.idle_timeout).await;
        serde_json::from_slice(&body)
            .map_err(|error| UpstreamError::InvalidResponse(error.to_string()))
    }

    async fn open(&self, request: Request<'_>) -> Result<Box<dyn Completion>, UpstreamError> {
        let begun = Instant::now();
        let server = self.server().await?;
        let url = self.address.completions(server.engine);
        let body = request::body(&self.options, &request, server)?.to_string();
        let post = || {
            let request = self.client.post(&url).header(CONTENT_TYPE, "application/json");
            request.header(ACCEPT, "text/event-stream").body(body.clone())
        };
        let response = self.ask(post).await?;
        let wants_ids = matches!(request.prompt, Prompt::Ids(_)).then_some(server.engine);
        let until = self.options.total_timeout.map(|total| begun + total);
        let idle = self.options.idle_timeout;
        let secrets = self.secrets.clone();
        Ok(Box::new(CompletionStream::new(response, wants_ids, idle, until, secrets)))
    }

    /// Sends a request, and repeats it while the server is busy.
    async fn ask(&self, request: impl Fn() -> RequestBuilder) -> Result<Response, UpstreamError> {
        let begun = Instant::now();
        let mut pause = self.options.backoff;
        loop {
            let mut asked = request();
            if let Some(key) = &self.options.api_key {
                asked = asked.header(AUTHORIZATION, format!("Bearer {key}"));
            }
            let idle = self.options.idle_timeout;
            let response = timeout(idle, asked.send()).await.map_err(|_| silent(idle))?;
            let response = response.map_err(|error| unreachable(&error))?;
            if response.status().is_success() {
                return Ok(response);
            }
            let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
            let is_busy = busy.contains(&response.status());
            let wait = retry_after(&response).unwrap_or(pause);
            let error = refused(response, idle).await.without(&self.secrets);
            if !is_busy || begun.elapsed() + wait > self.options.patience {
                return Err(error);
            }
            sleep(wait).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }
}

impl Upstream for Completions {
    fn sample<'u>(&'u self, request: Request<'u>) -> CompletionFuture<'u> {
        Box::pin(self.open(request))
    }

    fn grammar_support(&self, wanted: Option<Language>) -> GrammarSupportFuture<'_> {
        Box::pin(async move {
            let way = self.server().await?.engine.grammar_support(wanted)?;
            let mut takes = GrammarSupport::new(way.language);
            takes.stops = way.stops.map(<[_]>::to_vec);
            Ok(takes)
        })
    }
}

/// Returns the `Retry-After` of a response, if it is in seconds.
fn retry_after(response: &Response) -> Option<Duration> {
    let value = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    value.trim().parse().ok().map(Duration::from_secs)
}

/// Reads at most `most` bytes of a response. An error while reading an error response is ignored.
async fn some(mut response: Response, most: usize, idle: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Ok(Some(bytes))) = timeout(idle, response.chunk()).await {
        body.extend_from_slice(&bytes);
        if body.len() > most {
            body.truncate(most);
            break;
        }
    }
    body
}

/// Returns the error of an error response.
async fn refused(response: Response, idle: Duration) -> UpstreamError {
    let status = response.status().as_u16();
    let body = some(response, MOST_OF_AN_ERROR, idle).await;
    let body = String::from_utf8_lossy(&body);
    let server_message =
        serde_json::from_str(&body).ok().and_then(|value| chunk::error_message(&value));
    UpstreamError::Refused {
        status,
        message: server_message.unwrap_or_else(|| chunk::printable(&body)),
    }
}

/// Returns the error of an idle timeout.
pub(super) fn silent(idle: Duration) -> UpstreamError {
    UpstreamError::Connection(format!("no data for {} s", idle.as_secs_f64()))
}

/// Converts an error of `reqwest` with its causes and without the URL.
pub(super) fn unreachable(error: &reqwest::Error) -> UpstreamError {
    use std::error::Error as _;
    let mut text = if error.is_timeout() { "timeout".to_owned() } else { String::new() };
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
