//! Models for raw completions: the trait [`Upstream`], and the client for servers with
//! `/v1/completions`.
//!
//! A raw completion continues the prompt and contains control tokens. This is necessary to see the
//! channels, the recipients and the ends of messages as the model wrote them, and not as a server
//! interpreted them.

#[cfg(feature = "completions")]
mod chunk;
#[cfg(feature = "completions")]
mod client;
#[cfg(feature = "completions")]
mod engine;
#[cfg(feature = "completions")]
mod request;
#[cfg(feature = "completions")]
mod server_url;
#[cfg(feature = "completions")]
mod sse;
#[cfg(feature = "completions")]
mod stream;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use openchatml::Control;
use openchatml_grammars::Language;

#[cfg(feature = "completions")]
pub use self::client::{Completions, CompletionsOptions};
#[cfg(feature = "completions")]
pub use self::engine::{Engine, UnknownEngine};

/// A model that continues a prompt.
///
/// ```
/// use openchatml_tools::{Completion, PieceFuture, CompletionFuture, Piece, Prompt, Request, Upstream};
///
/// /// Says the same whatever it is asked.
/// struct Parrot;
///
/// struct Once(Option<String>);
///
/// impl Upstream for Parrot {
///     fn sample<'u>(&'u self, _: Request<'u>) -> CompletionFuture<'u> {
///         let said = "<|channel|>final<|message|>Hello!<|return|>".to_owned();
///         Box::pin(async move { Ok(Box::new(Once(Some(said))) as Box<dyn Completion>) })
///     }
/// }
///
/// impl Completion for Once {
///     fn next(&mut self) -> PieceFuture<'_> {
///         Box::pin(async move { Ok(self.0.take().map(Piece::Text)) })
///     }
/// }
/// ```
pub trait Upstream: Send + Sync {
    /// Requests a completion. Dropping the future or the completion stops the sampling.
    ///
    /// # Errors
    ///
    /// The model cannot be reached, or rejects the request.
    fn sample<'u>(&'u self, request: Request<'u>) -> CompletionFuture<'u>;

    /// Returns how the upstream accepts grammars, in this language if one is given. By default, it
    /// accepts none.
    ///
    /// # Errors
    ///
    /// The upstream accepts no grammars, or none in this language.
    fn grammar_support(&self, wanted: Option<Language>) -> GrammarSupportFuture<'_> {
        let none = UpstreamError::NoGrammars { upstream: None, language: wanted };
        Box::pin(async { Err(none) })
    }
}

/// The future of [`GrammarSupport`]: an upstream may have to ask its server first.
pub type GrammarSupportFuture<'u> =
    Pin<Box<dyn Future<Output = Result<GrammarSupport, UpstreamError>> + Send + 'u>>;

/// How an upstream accepts grammars.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrammarSupport {
    /// The language of the grammars.
    pub language: Language,
    /// The control tokens at which the upstream stops by itself, so that a grammar omits them.
    /// `None`: the tokens of the usual engine of the language.
    pub stops: Option<Vec<Control>>,
}

impl GrammarSupport {
    /// Creates a description with this language and the stop tokens of its usual engine.
    pub fn new(language: Language) -> Self {
        Self { language, stops: None }
    }
}

/// The constraint of a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Constraint {
    /// The language of the grammar.
    pub language: Language,
    /// The grammar of the allowed output.
    pub grammar: String,
    /// The ids that the model must not sample: tokens that no completion of the format contains,
    /// and tokens that end a completion in the wrong way.
    pub banned_ids: Vec<u32>,
    /// Whether the grammar omits the last token of the completion, because the upstream stops at
    /// any of its stop tokens. The message at the end then determines the token.
    pub any_end: bool,
}

impl Constraint {
    /// Creates a constraint with only a grammar.
    pub fn new(language: Language, grammar: String) -> Self {
        Self { language, grammar, banned_ids: Vec::new(), any_end: false }
    }
}

/// The future of a completion that starts.
pub type CompletionFuture<'u> =
    Pin<Box<dyn Future<Output = Result<Box<dyn Completion>, UpstreamError>> + Send + 'u>>;

/// A completion that arrives in pieces.
pub trait Completion: Send {
    /// Returns the next piece, or `None` at the end. It is cancel safe: dropping the future loses
    /// no piece.
    ///
    /// # Errors
    ///
    /// The connection breaks, or the response is not a completion.
    fn next(&mut self) -> PieceFuture<'_>;
}

/// The future of the next piece.
pub type PieceFuture<'c> =
    Pin<Box<dyn Future<Output = Result<Option<Piece>, UpstreamError>> + Send + 'c>>;

/// A request for a completion.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request<'r> {
    /// The text or the ids before the completion.
    pub prompt: Prompt,
    /// The spellings of the control tokens of the dialect. The completion must contain them.
    pub controls: &'r [&'static str],
    /// The ids that end a completion, if they are known.
    pub stop_ids: &'r [u32],
    /// The constraint of the completion.
    pub constraint: Option<&'r Constraint>,
}

impl<'r> Request<'r> {
    /// Creates a request with only a prompt.
    pub fn new(prompt: Prompt) -> Self {
        Self { prompt, controls: &[], stop_ids: &[], constraint: None }
    }
}

/// The text or the ids before a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// Text, with control tokens in their spelling.
    Text(String),
    /// Token ids. Text that spells a control token is not the token.
    Ids(Vec<u32>),
}

/// A piece of a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text, with control tokens in their spelling.
    Text(String),
    /// Token ids.
    Ids(Vec<u32>),
    /// The server cut the completion off, for the reason that it gives: `length` if the completion
    /// has the maximum length. The last message is incomplete.
    CutOff(String),
    /// The usage of the completion.
    Usage(Usage),
}

/// The tokens of a completion, as the server counts them.
///
/// ```
/// use openchatml_tools::Usage;
///
/// let mut usage = Usage::new(120, 30);
/// usage.cached = Some(96);
/// assert_eq!(usage.total(), 150);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// The tokens of the prompt.
    pub prompt: u64,
    /// The tokens of the completion.
    pub completion: u64,
    /// The tokens of the prompt that the server had cached, if it reports them.
    pub cached: Option<u64>,
}

impl Usage {
    /// Creates a usage with these numbers of tokens.
    pub const fn new(prompt: u64, completion: u64) -> Self {
        Self { prompt, completion, cached: None }
    }

    /// The tokens of the prompt and of the completion.
    pub fn total(self) -> u64 {
        self.prompt.saturating_add(self.completion)
    }
}

/// The error of a failed or incomplete completion.
///
/// ```
/// use openchatml_tools::UpstreamError;
///
/// let error = UpstreamError::Refused { status: 404, message: "no such model".into() };
/// assert_eq!(error.to_string(), "the upstream answers 404: no such model");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamError {
    /// The server is unreachable, or the connection broke.
    Connection(String),
    /// The server returned an HTTP error.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The message of the server.
        message: String,
    },
    /// The server reported an error during the completion.
    Failed(String),
    /// The response is not a completion.
    InvalidResponse(String),
    /// The prompt consists of ids, but the server with this name returns none. In its text, control
    /// tokens could not be distinguished from ordinary text.
    NoIds(String),
    /// The server accepts no grammars, or none in this language.
    NoGrammars {
        /// The kind of the server, if it is known.
        upstream: Option<String>,
        /// The requested language.
        language: Option<Language>,
    },
    /// The caller sends its own grammar in this field in addition to the one of the format.
    TwoGrammars(String),
    /// The prompt leaves no room in the context for a completion.
    NoRoom {
        /// The number of ids of the prompt.
        prompt: usize,
        /// The maximum number of ids of the context.
        context: u64,
    },
}

impl UpstreamError {
    /// Whether the same request may succeed later: the server is unreachable or busy, the
    /// connection broke, or the server reported an internal error.
    ///
    /// ```
    /// use openchatml_tools::UpstreamError;
    ///
    /// let refused = |status| UpstreamError::Refused { status, message: String::new() };
    /// assert!(refused(502).is_retryable() && !refused(404).is_retryable());
    /// ```
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Failed(_) => true,
            Self::Refused { status, .. } => matches!(status, 408 | 429 | 500 | 502..=504),
            Self::InvalidResponse(_)
            | Self::NoIds(_)
            | Self::NoGrammars { .. }
            | Self::TwoGrammars(_)
            | Self::NoRoom { .. } => false,
        }
    }
}

#[cfg(feature = "completions")]
impl UpstreamError {
    /// Replaces secrets in what the server says.
    fn without(mut self, secrets: &crate::secrets::Secrets) -> Self {
        match &mut self {
            Self::Refused { message, .. }
            | Self::Failed(message)
            | Self::InvalidResponse(message) => *message = secrets.redact(std::mem::take(message)),
            _ => {}
        }
        self
    }
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(why) => write!(f, "cannot connect to the upstream: {why}"),
            Self::Refused { status, message } if message.is_empty() => {
                write!(f, "the upstream answers {status}")
            }
            Self::Refused { status, message } => {
                write!(f, "the upstream answers {status}: {message}")
            }
            Self::Failed(message) => write!(f, "the upstream failed: {message}"),
            Self::InvalidResponse(what) => {
                write!(f, "the upstream does not support completions: {what}")
            }
            Self::NoIds(engine) => write!(
                f,
                "the upstream ({engine}) returns no token ids, and in text an ordinary token can spell a control token"
            ),
            Self::NoGrammars { upstream, language } => {
                let name = upstream.as_ref().map_or(String::new(), |name| format!(" ({name})"));
                let kind = language.map_or(String::new(), |it| format!(" in {}", it.as_str()));
                write!(f, "the upstream{name} does not support grammars{kind}")
            }
            Self::TwoGrammars(field) => write!(
                f,
                "the sampling options contain a grammar (`{field}`), but the format also sets one"
            ),
            Self::NoRoom { prompt, context } => write!(
                f,
                "the prompt has {prompt} tokens and leaves no room for an answer: the context of the upstream is {context} tokens"
            ),
        }
    }
}

impl std::error::Error for UpstreamError {}
