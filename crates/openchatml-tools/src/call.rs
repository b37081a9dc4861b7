//! One call, as its tool sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use openchatml::Value;
use tokio::time::Instant;

/// Hears how far a call has come.
type Listener = Arc<dyn Fn(Progress) + Send + Sync>;

/// One call, as its tool sees it: its own arguments and nothing else.
///
/// ```
/// use openchatml_tools::Call;
///
/// let call = Call::new("functions.weather", "c1", r#"{"city":"Oslo"}"#);
/// assert_eq!((call.name(), call.call_id()), ("functions.weather", "c1"));
/// assert_eq!(call.parse().unwrap().get("city").and_then(|city| city.as_str()), Some("Oslo"));
/// ```
#[derive(Clone)]
pub struct Call {
    name: String,
    call_id: String,
    arguments: String,
    deadline: Option<Instant>,
    listener: Option<Listener>,
    /// Whether it is known that nothing was done for it yet.
    is_unmade: Arc<AtomicBool>,
}

/// How far a call has come.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// How much is done. It grows from one report to the next.
    pub done: f64,
    /// How much there is to do, in the same unit, if that is known.
    pub total: Option<f64>,
    /// What the tool says of it.
    pub message: Option<String>,
}

impl Progress {
    /// So much is done, of an amount that is not known.
    pub fn new(done: f64) -> Self {
        Self { done, ..Self::default() }
    }
}

impl Call {
    /// A call of the tool of this name with these arguments, without a deadline.
    pub fn new(
        name: impl Into<String>,
        call_id: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        let (name, call_id, arguments) = (name.into(), call_id.into(), arguments.into());
        Self { name, call_id, arguments, deadline: None, listener: None, is_unmade: Arc::default() }
    }

    /// The same call with a deadline.
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// The same call, whose progress is told to `listener`.
    pub fn with_listener(mut self, listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.listener = Some(Arc::new(listener));
        self
    }

    /// The recipient that the model named: `functions.weather`, `browser.search`, `python`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id of the call. The model made it up: it is unique in its conversation only.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// The arguments, byte for byte as the model wrote them. They were checked against the tool's
    /// schema if it has one.
    pub fn arguments(&self) -> &str {
        &self.arguments
    }

    /// The arguments as a JSON value.
    ///
    /// # Errors
    ///
    /// If they are not JSON, which only tools without a schema are given.
    pub fn parse(&self) -> Result<Value<'_>, openchatml::Diagnostic> {
        Value::from_json(&self.arguments, &openchatml::Limits::default())
    }

    /// When the call is given up, if ever. The router drops it then; a tool that asks somebody else
    /// can pass the deadline on.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether nothing was done for the call yet, as far as its tool says.
    pub(crate) fn is_unmade(&self) -> bool {
        self.is_unmade.load(Ordering::SeqCst)
    }

    /// Says whether nothing was done for the call yet.
    #[cfg(feature = "mcp")]
    pub(crate) fn set_unmade(&self, is_unmade: bool) {
        self.is_unmade.store(is_unmade, Ordering::SeqCst);
    }

    /// Tells how far the call has come.
    pub fn progress(&self, progress: Progress) {
        if let Some(listener) = &self.listener {
            listener(progress);
        }
    }
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call")
            .field("name", &self.name)
            .field("call_id", &self.call_id)
            .field("arguments", &self.arguments)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
