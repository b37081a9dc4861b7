//! Models that are asked for raw completions: what an upstream is, and the client of servers that
//! offer `/v1/completions`.
//!
//! A raw completion goes on where the prompt ends, control tokens included. Only so are channels,
//! recipients and the ends of messages what the model said, and not what a server made of it.

#[cfg(feature = "completions")]
mod address;
#[cfg(feature = "completions")]
mod answer;
#[cfg(feature = "completions")]
mod chunk;
#[cfg(feature = "completions")]
mod client;
#[cfg(feature = "completions")]
mod engine;
#[cfg(feature = "completions")]
mod request;
#[cfg(feature = "completions")]
mod sse;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use openchatml::Control;
use openchatml_grammars::Language;

#[cfg(feature = "completions")]
pub use self::client::{Completions, CompletionsOptions};
#[cfg(feature = "completions")]
pub use self::engine::{Engine, UnknownEngine};

/// A model that goes on where a prompt ends.
///
/// ```
/// use openchatml_tools::{Completion, NextPiece, Opening, Piece, Prompt, Request, Upstream};
///
/// /// Says the same whatever it is asked.
/// struct Parrot;
///
/// struct Once(Option<String>);
///
/// impl Upstream for Parrot {
///     fn sample<'u>(&'u self, _: Request<'u>) -> Opening<'u> {
///         let said = "<|channel|>final<|message|>Hello!<|return|>".to_owned();
///         Box::pin(async move { Ok(Box::new(Once(Some(said))) as Box<dyn Completion>) })
///     }
/// }
///
/// impl Completion for Once {
///     fn next(&mut self) -> NextPiece<'_> {
///         Box::pin(async move { Ok(self.0.take().map(Piece::Text)) })
///     }
/// }
/// ```
pub trait Upstream: Send + Sync {
    /// Asks for a completion. What is dropped is not sampled any further.
    ///
    /// # Errors
    ///
    /// The model cannot be asked, or refuses the request.
    fn sample<'u>(&'u self, request: Request<'u>) -> Opening<'u>;

    /// How grammars are given to it, in this language if one is wanted. By default it takes none.
    ///
    /// # Errors
    ///
    /// It takes no grammars, or none in this language.
    fn takes_grammars(&self, wanted: Option<Language>) -> AskedForGrammars<'_> {
        let none = UpstreamError::NoGrammars { upstream: None, language: wanted };
        Box::pin(async { Err(none) })
    }
}

/// How grammars are given to an upstream, which may have to be asked that.
pub type AskedForGrammars<'u> =
    Pin<Box<dyn Future<Output = Result<TakesGrammars, UpstreamError>> + Send + 'u>>;

/// How grammars are given to an upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TakesGrammars {
    /// Their language.
    pub language: Language,
    /// The control tokens at which it stops by itself, so that a grammar leaves them out. `None`: what
    /// the engines of the language do.
    pub stops: Option<Vec<Control>>,
}

impl TakesGrammars {
    /// It takes grammars in this language, and stops where its engines do.
    pub fn new(language: Language) -> Self {
        Self { language, stops: None }
    }
}

/// What a completion is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Constraint {
    /// The language of the grammar.
    pub language: Language,
    /// The grammar of what may be said.
    pub grammar: String,
    /// The ids that may not be sampled: tokens that stand in no completion of the format, and those
    /// that end one in the wrong way.
    pub banned_ids: Vec<u32>,
    /// Whether the grammar leaves out what ends a completion, since the upstream ends it in any of the
    /// tokens that do. Which it is, is told by the message that ends then.
    pub any_end: bool,
}

impl Constraint {
    /// A grammar alone.
    pub fn new(language: Language, grammar: String) -> Self {
        Self { language, grammar, banned_ids: Vec::new(), any_end: false }
    }
}

/// A completion that begins.
pub type Opening<'u> =
    Pin<Box<dyn Future<Output = Result<Box<dyn Completion>, UpstreamError>> + Send + 'u>>;

/// A completion, while it arrives.
pub trait Completion: Send {
    /// The next piece; `None` at the end. What is dropped half-way loses no piece.
    ///
    /// # Errors
    ///
    /// The connection breaks, or what arrives is no completion.
    fn next(&mut self) -> NextPiece<'_>;
}

/// A piece that arrives.
pub type NextPiece<'c> =
    Pin<Box<dyn Future<Output = Result<Option<Piece>, UpstreamError>> + Send + 'c>>;

/// What is asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request<'r> {
    /// What stands before the completion.
    pub prompt: Prompt,
    /// The spellings of the dialect's control tokens, which the completion is to hold.
    pub controls: &'r [&'static str],
    /// The ids that end a completion, where they are known.
    pub stop_ids: &'r [u32],
    /// What the completion is held to.
    pub constraint: Option<&'r Constraint>,
}

impl<'r> Request<'r> {
    /// A request of which nothing but the prompt is known.
    pub fn new(prompt: Prompt) -> Self {
        Self { prompt, controls: &[], stop_ids: &[], constraint: None }
    }
}

/// What stands before a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// Text, in which control tokens are spelled.
    Text(String),
    /// Token ids: nothing that text spells is a control token.
    Ids(Vec<u32>),
}

/// A piece of a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text, in which control tokens are spelled.
    Text(String),
    /// Token ids.
    Ids(Vec<u32>),
    /// Nothing more comes, for this reason, in the server's word: `length` if the completion is as
    /// long as it may be. What was being said was cut off.
    CutOff(String),
    /// What the completion took.
    Usage(Usage),
}

/// What a completion took, in tokens, as the server counts them.
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
    /// The prompt.
    pub prompt: u64,
    /// What the model said.
    pub completion: u64,
    /// As much of the prompt as the server knew from before, if it tells that.
    pub cached: Option<u64>,
}

impl Usage {
    /// So many tokens of the prompt, and so many that the model said.
    pub const fn new(prompt: u64, completion: u64) -> Self {
        Self { prompt, completion, cached: None }
    }

    /// The prompt and what the model said.
    pub fn total(self) -> u64 {
        self.prompt.saturating_add(self.completion)
    }
}

/// Why there is no completion, or no more of it.
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
    /// Nobody answers, or the connection broke.
    Connection(String),
    /// The server answers with an error of this HTTP status.
    Refused {
        /// The status.
        status: u16,
        /// What it says of it.
        message: String,
    },
    /// The server reports an error while the completion arrives.
    Failed(String),
    /// What arrives is no completion.
    Garbage(String),
    /// The prompt is ids, and the server of this name tells none: what it says in text cannot be told
    /// from control tokens.
    NoIds(String),
    /// The server takes no grammars, or none in this language.
    NoGrammars {
        /// What kind of server it is, if that is known.
        upstream: Option<String>,
        /// The language that was wanted.
        language: Option<Language>,
    },
    /// The caller sends a grammar of its own, in this field, beside the one of the format.
    TwoGrammars(String),
    /// The prompt leaves no room for a completion.
    NoRoom {
        /// How many ids the prompt is.
        prompt: usize,
        /// How many ids there is room for.
        context: u64,
    },
}

impl UpstreamError {
    /// Whether the same request may succeed later: nobody answers, the connection broke, or the server
    /// says that it is busy or broken.
    ///
    /// ```
    /// use openchatml_tools::UpstreamError;
    ///
    /// let refused = |status| UpstreamError::Refused { status, message: String::new() };
    /// assert!(refused(502).may_pass() && !refused(404).may_pass());
    /// ```
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Failed(_) => true,
            Self::Refused { status, .. } => matches!(status, 408 | 429 | 500 | 502..=504),
            Self::Garbage(_)
            | Self::NoIds(_)
            | Self::NoGrammars { .. }
            | Self::TwoGrammars(_)
            | Self::NoRoom { .. } => false,
        }
    }
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(why) => write!(f, "no connection to the upstream: {why}"),
            Self::Refused { status, message } if message.is_empty() => {
                write!(f, "the upstream answers {status}")
            }
            Self::Refused { status, message } => {
                write!(f, "the upstream answers {status}: {message}")
            }
            Self::Failed(message) => write!(f, "the upstream failed: {message}"),
            Self::Garbage(what) => write!(f, "the upstream does not speak completions: {what}"),
            Self::NoIds(engine) => write!(
                f,
                "the upstream ({engine}) tells no token ids, and in text an ordinary token may spell \
                 a control token"
            ),
            Self::NoGrammars { upstream, language } => {
                let name = upstream.as_ref().map_or(String::new(), |name| format!(" ({name})"));
                let kind = language.map_or(String::new(), |it| format!(" in {}", it.as_str()));
                write!(f, "the upstream{name} takes no grammars{kind}")
            }
            Self::TwoGrammars(field) => write!(
                f,
                "the sampling options have a grammar of their own (`{field}`), beside that of the format"
            ),
            Self::NoRoom { prompt, context } => write!(
                f,
                "the prompt of {prompt} tokens leaves no room: the upstream takes {context}"
            ),
        }
    }
}

impl std::error::Error for UpstreamError {}
