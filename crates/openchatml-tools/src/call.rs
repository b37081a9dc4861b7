//! A call, as its tool receives it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use openchatml::Value;
use tokio::time::Instant;

/// Receives the progress of a call.
type Listener = Arc<dyn Fn(Progress) + Send + Sync>;

/// A call, as its tool receives it: only its own arguments.
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
    /// Whether the tool reported that it has not started to work on the call.
    is_unstarted: Arc<AtomicBool>,
}

/// The progress of a call.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The completed amount. It grows from one report to the next.
    pub done: f64,
    /// The total amount in the same unit, if it is known.
    pub total: Option<f64>,
    /// A message of the tool about its progress.
    pub message: Option<String>,
}

impl Progress {
    /// Creates a progress report without a total amount.
    pub fn new(done: f64) -> Self {
        Self { done, ..Self::default() }
    }
}

impl Call {
    /// Creates a call of the tool with this name and these arguments, without a deadline.
    pub fn new(
        name: impl Into<String>,
        call_id: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        let (name, call_id, arguments) = (name.into(), call_id.into(), arguments.into());
        Self {
            name,
            call_id,
            arguments,
            deadline: None,
            listener: None,
            is_unstarted: Arc::default(),
        }
    }

    /// Sets a deadline.
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Passes the progress of the call to `listener`.
    pub fn with_listener(mut self, listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.listener = Some(Arc::new(listener));
        self
    }

    /// Returns the recipient that the model named: `functions.weather`, `browser.search`, `python`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the id of the call. The model chose it: it is unique only in its conversation.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Returns the arguments, byte for byte as the model wrote them. If the tool has a schema, the
    /// arguments match it.
    pub fn arguments(&self) -> &str {
        &self.arguments
    }

    /// Parses the arguments as a JSON value.
    ///
    /// # Errors
    ///
    /// The arguments are not JSON. This is possible only for tools without a schema.
    pub fn parse(&self) -> Result<Value<'_>, openchatml::Diagnostic> {
        Value::from_json(&self.arguments, &openchatml::Limits::default())
    }

    /// Returns the deadline of the call, if there is one. The router drops the call at its
    /// deadline. A tool that sends requests can pass the deadline on.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether the tool reported that it has not started to work on the call.
    pub(crate) fn is_unstarted(&self) -> bool {
        self.is_unstarted.load(Ordering::SeqCst)
    }

    /// Sets whether the tool has not started to work on the call.
    #[cfg(feature = "mcp")]
    pub(crate) fn set_unstarted(&self, is_unstarted: bool) {
        self.is_unstarted.store(is_unstarted, Ordering::SeqCst);
    }

    /// Reports the progress of the call.
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
