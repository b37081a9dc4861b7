//! Answers that a service or a model stopped before their end.

use crate::diagnostic::quote;
use crate::json::{Data, Value};
use crate::model::Message;
use crate::{Code, Diagnostic, Dropped, Span};

use super::events::mark_open;
use super::state::State;

/// The reasons with which services end an answer that is incomplete, in lower case. All others,
/// such as `stop`, `end_turn` and `tool_calls`, end a complete answer.
const STOPPED: &[&str] = &[
    // Too long.
    "length",
    "max_tokens",
    "max_output_tokens",
    "model_length",
    "model_context_window_exceeded",
    // Refused in the middle.
    "content_filter",
    "refusal",
    "sensitive",
    "safety",
    "recitation",
    "language",
    "blocklist",
    "prohibited_content",
    "spii",
    "image_safety",
    "malformed_function_call",
    "unexpected_tool_call",
    "other",
    // Failed, or ended by somebody.
    "abort",
    "cancelled",
    "error",
    "failed",
    "insufficient_system_resource",
    "network_error",
    // Not ended yet.
    "in_progress",
    "incomplete",
    "pause_turn",
    "queued",
];

/// Whether this reason says that an answer is incomplete.
pub(crate) fn is_stopped(reason: &Value<'_>) -> bool {
    let Data::String(reason) = &reason.data else { return false };
    STOPPED.iter().any(|word| reason.eq_ignore_ascii_case(word))
}

/// Returns the diagnostic for an error of the service: an object with a `message`.
pub(crate) fn failure(error: &Value<'_>, span: Span) -> Diagnostic {
    let text = error.get("message").and_then(Value::as_str).unwrap_or_default();
    Code::StreamTruncated.at(span, format!("the service reports an error: {}", quote(text)))
}

impl State<'_> {
    /// Returns the diagnostic for a document that is nothing but an error of the service.
    pub(crate) fn failure(&self) -> Option<Diagnostic> {
        let error = self.field("error").filter(|error| error.as_map().is_some())?;
        Some(failure(error, error.span).drops(Dropped::Record))
    }

    /// Reads the reason why the answer ended, of which the `messages` end with the last one.
    pub(crate) fn ended(&mut self, reason: &Value<'_>, messages: &[Message<'_>]) {
        self.stopped = is_stopped(reason).then_some(messages.len());
    }

    /// Reads the same from a field that is kept.
    pub(crate) fn ended_by(&mut self, key: &str, messages: &[Message<'_>]) {
        let is_stopped = self.field(key).is_some_and(is_stopped);
        self.stopped = is_stopped.then_some(messages.len());
    }

    /// Marks the last message if the answer is incomplete. Returns whether it is.
    pub(super) fn mark_stopped(&self, messages: &mut [Message<'_>]) -> bool {
        let is_last = self.stopped == Some(messages.len()) && !messages.is_empty();
        if is_last {
            mark_open(messages);
        }
        is_last
    }
}
