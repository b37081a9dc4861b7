//! The trait of tools, their outcomes, and their approval.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use openchatml::{Code, Value};

use crate::Call;

/// The outcome of a call.
pub type Outcome = Result<Output, Failure>;

/// The future of a running call.
///
/// The call is cancelled by dropping the future. All work must stop at that point. Work that a drop
/// does not stop, such as a process or a thread, must be stopped by a value that the future owns.
pub type ToolFuture<'t> = Pin<Box<dyn Future<Output = Outcome> + Send + 't>>;

/// A tool that models can call.
///
/// A tool sees only the [`Call`]: no reasoning and no other message (OpenChatML 2.2 §8.3). A
/// timeout, a panic or too much output affects only the call: the router sends the reply.
///
/// ```
/// use openchatml_tools::{Call, Output, Tool, ToolFuture};
///
/// struct Echo;
///
/// impl Tool for Echo {
///     fn call<'t>(&'t self, call: &'t Call) -> ToolFuture<'t> {
///         Box::pin(async move { Ok(Output::text(call.arguments())) })
///     }
/// }
/// ```
pub trait Tool: Send + Sync {
    /// Runs one call.
    ///
    /// # Errors
    ///
    /// The [`Failure`] is what the model reads in place of a result.
    fn call<'t>(&'t self, call: &'t Call) -> ToolFuture<'t>;
}

/// The output of a tool.
///
/// ```
/// use openchatml_tools::Output;
///
/// let output = Output::text("20 °C").source("https://weather.example/");
/// assert_eq!(output.provenance.source.as_deref(), Some("https://weather.example/"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Output {
    /// The result: a string for text, any other value for JSON.
    pub content: Value<'static>,
    /// The source of the result.
    pub provenance: Provenance,
}

impl Output {
    /// Creates an output from text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::json(Value::from(text.into()))
    }

    /// Creates an output from a JSON value. Numbers keep their spelling.
    pub fn json(content: Value<'static>) -> Self {
        Self { content, provenance: Provenance::default() }
    }

    /// Sets the source.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.provenance.source = Some(source.into());
        self
    }
}

/// The source of a result (OpenChatML 2.2 §8.2, §11).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Provenance {
    /// A URL or another name of the source. The default is the name of the tool.
    pub source: Option<String>,
    /// The time at which the content was created, in RFC 3339. The default is the time of the
    /// reply, if the router has a clock.
    pub timestamp: Option<String>,
    /// `sha256:` and the digest of the content in hexadecimal. The default is computed by the
    /// router.
    pub checksum: Option<String>,
    /// The arguments of the call, if they differ from those of the model. The router sets them if
    /// the approver [edited](crate::Approval::Edited) the call.
    pub arguments: Option<String>,
}

/// The calls of a tool that require approval.
///
/// ```
/// use openchatml_tools::ApprovalPolicy;
///
/// assert_eq!(ApprovalPolicy::default(), ApprovalPolicy::Never);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ApprovalPolicy {
    /// No calls.
    #[default]
    Never,
    /// The calls before the first approval. After it, the tool can be called without approval in
    /// all turns of the router.
    Once,
    /// All calls.
    Always,
}

/// The failure of a tool.
///
/// ```
/// use openchatml::Code;
/// use openchatml_tools::Failure;
///
/// let failure = Failure::new("no such city").retryable();
/// assert_eq!((failure.code, failure.is_retryable), (Code::ToolFailed, true));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The kind of the failure. [`Code::ToolFailed`] is a failure of the tool itself.
    pub code: Code,
    /// The message for the model. It must not contain secrets or paths of the machine.
    pub message: String,
    /// Whether the same call may succeed if it is repeated. Only calls of idempotent tools are
    /// repeated.
    pub is_retryable: bool,
    /// Further details as JSON.
    pub details: Option<Value<'static>>,
}

impl Failure {
    /// Creates a failure of the tool itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self::with_code(Code::ToolFailed, message)
    }

    /// Creates a failure of this kind.
    pub fn with_code(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), is_retryable: false, details: None }
    }

    /// Marks the failure as temporary.
    pub fn retryable(mut self) -> Self {
        self.is_retryable = true;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Failure {}
