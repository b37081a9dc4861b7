//! What a tool is: something that can be called, what it answers, and which of its
//! calls somebody approves.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use openchatml::{Code, Value};

use crate::Call;

/// What a call came to.
pub type Outcome = Result<Output, Failure>;

/// A call that runs.
///
/// Dropping it is what cancels it: nothing of it may go on after that. What cannot be stopped by a
/// drop, a process or work on a thread of its own, is stopped by what the future owns.
pub type Run<'t> = Pin<Box<dyn Future<Output = Outcome> + Send + 't>>;

/// Something that can be called.
///
/// It sees the [`Call`] and nothing else: no reasoning, no other message (OpenChatML 2.2 §8.3).
/// Whatever it does, time out, panic or flood, is its own misfortune: the router answers for it.
///
/// ```
/// use openchatml_tools::{Call, Output, Run, Tool};
///
/// struct Echo;
///
/// impl Tool for Echo {
///     fn call<'t>(&'t self, call: &'t Call) -> Run<'t> {
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
    fn call<'t>(&'t self, call: &'t Call) -> Run<'t>;
}

/// What a tool returned.
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
    /// Where it comes from.
    pub provenance: Provenance,
}

impl Output {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::json(Value::from(text.into()))
    }

    /// A JSON value, whose numbers keep their spelling.
    pub fn json(content: Value<'static>) -> Self {
        Self { content, provenance: Provenance::default() }
    }

    /// The same output, which says where it comes from.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.provenance.source = Some(source.into());
        self
    }
}

/// Where a result comes from (OpenChatML 2.2 §8.2, §11).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Provenance {
    /// A URL or another name of the source. The tool's own name, unless it says otherwise.
    pub source: Option<String>,
    /// When the content was made, as RFC 3339. When the reply arrived, unless the tool says
    /// otherwise and if the router was given a clock.
    pub timestamp: Option<String>,
    /// `sha256:` and the digest of the content in hexadecimal. The router's, unless the tool says
    /// otherwise.
    pub checksum: Option<String>,
    /// The arguments that the call was made with, where they are not those of the model. The router's,
    /// where somebody [edited](crate::Approval::Edited) them.
    pub arguments: Option<String>,
}

/// Which calls of a tool somebody approves before they are made.
///
/// ```
/// use openchatml_tools::Approve;
///
/// assert_eq!(Approve::default(), Approve::Never);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Approve {
    /// None.
    #[default]
    Never,
    /// The calls until one is approved: the tool may be called then, in all turns of the router.
    Once,
    /// Each.
    Always,
}

/// What went wrong in a tool.
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
    /// What kind of failure it is. [`Code::ToolFailed`] is the tool's own.
    pub code: Code,
    /// What the model is told. It says nothing that the model may not read: no secret, no path of
    /// the machine.
    pub message: String,
    /// Whether the same call may succeed when it is made again. Only tools that are declared
    /// idempotent are called again.
    pub is_retryable: bool,
    /// What the tool says of it beyond the message, as JSON.
    pub details: Option<Value<'static>>,
}

impl Failure {
    /// A failure of the tool's own.
    pub fn new(message: impl Into<String>) -> Self {
        Self::with_code(Code::ToolFailed, message)
    }

    /// A failure of this kind.
    pub fn with_code(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), is_retryable: false, details: None }
    }

    /// The same failure, which may pass.
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
