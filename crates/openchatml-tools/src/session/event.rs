//! The events of a session.

use openchatml::{Code, Event, Policy};

use crate::{Progress, Usage};

/// An event of a [`Session`](super::Session): an event of a completion, or of the loop around the
/// completions. Events are emitted in the order in which they happen.
///
/// The message numbers start at 0 with the first message of the transcript, and continue through
/// all completions.
///
/// ```
/// use openchatml_tools::SessionEvent;
///
/// let event = SessionEvent::ToolStart { call_id: "c1", name: "functions.now" };
/// assert_eq!(
///     event.to_json(),
///     r#"{"type":"tool.start","call_id":"c1","name":"functions.now"}"#,
/// );
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionEvent<'e> {
    /// A request to the model starts.
    Step {
        /// The number of the request in this run, from 1.
        number: usize,
        /// The maximum number of requests.
        most: usize,
    },
    /// A failed request is repeated.
    Retry {
        /// The number of the retry since the last success, from 1.
        number: usize,
        /// The maximum number of retries in a row.
        most: usize,
        /// The reason.
        why: &'e str,
    },
    /// The prompt of the request, if it consists of token ids.
    Prompt {
        /// The number of ids.
        ids: usize,
        /// The number of ids at the beginning that are the same as in the last prompt and its
        /// completion. The server may have them in its cache.
        shared: usize,
    },
    /// The server ended a completion before the model ended it.
    CutOff {
        /// The reason that the server gives: `length` if the completion has the maximum length.
        reason: &'e str,
    },
    /// The token usage of a completion.
    Usage(Usage),
    /// Output of the model.
    Said(Event<'e>),
    /// A reply of a tool: the start and the end of its message.
    Replied(Event<'e>),
    /// A call starts to run.
    ToolStart {
        /// The id of the call.
        call_id: &'e str,
        /// The name of the tool, as the model wrote it.
        name: &'e str,
    },
    /// The progress of a call.
    ToolProgress {
        /// The id of the call.
        call_id: &'e str,
        /// The progress.
        progress: &'e Progress,
    },
    /// A call was cancelled.
    ToolCancel {
        /// The id of the call.
        call_id: &'e str,
        /// The reason.
        reason: &'e str,
    },
    /// A call is finished. Its reply follows as a message when all calls are finished.
    ToolDone {
        /// The id of the call.
        call_id: &'e str,
        /// The error code, if the call failed.
        code: Option<Code>,
    },
}

impl SessionEvent<'_> {
    /// Returns the name of the event.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Step { .. } => "run.step",
            Self::Retry { .. } => "run.retry",
            Self::Prompt { .. } => "run.prompt",
            Self::CutOff { .. } => "run.cut_off",
            Self::Usage(_) => "run.usage",
            Self::Said(event) | Self::Replied(event) => event.name(),
            Self::ToolStart { .. } => "tool.start",
            Self::ToolProgress { .. } => "tool.progress",
            Self::ToolCancel { .. } => "tool.cancel",
            Self::ToolDone { .. } => "tool.done",
        }
    }

    /// Whether a user may see the event: output of the model that is [for
    /// users](Event::is_for_user). Calls are hidden, including their number.
    pub fn is_for_user(&self, policy: Policy) -> bool {
        match self {
            Self::Said(event) | Self::Replied(event) => event.is_for_user(policy),
            _ => false,
        }
    }

    /// Returns the event as a user may see it, or `None`: see [`Event::for_user`].
    pub fn for_user(self, policy: Policy) -> Option<Self> {
        match self {
            Self::Said(event) => event.for_user(policy).map(Self::Said),
            Self::Replied(event) => event.for_user(policy).map(Self::Replied),
            _ => None,
        }
    }

    /// Returns the event as JSON, on one line.
    pub fn to_json(&self) -> String {
        let mut out = String::with_capacity(128);
        self.write_json(&mut out);
        out
    }

    /// Appends the event as JSON to `out`, on one line and without a line break.
    pub fn write_json(&self, out: &mut String) {
        if let Self::Said(event) | Self::Replied(event) = self {
            return event.write_json(out);
        }
        out.push_str(&format!(r#"{{"type":"{}""#, self.name()));
        let mut field = |key: &str, value: serde_json::Value| {
            out.push_str(&format!(r#","{key}":{value}"#));
        };
        match self {
            Self::Said(_) | Self::Replied(_) => {}
            Self::Step { number, most } => {
                field("step", (*number).into());
                field("max", (*most).into());
            }
            Self::Retry { number, most, why } => {
                field("retry", (*number).into());
                field("max", (*most).into());
                field("reason", (*why).into());
            }
            Self::Prompt { ids, shared } => {
                field("ids", (*ids).into());
                field("shared", (*shared).into());
            }
            Self::CutOff { reason } => field("reason", (*reason).into()),
            Self::Usage(usage) => {
                field("prompt_tokens", usage.prompt.into());
                field("completion_tokens", usage.completion.into());
                if let Some(cached) = usage.cached {
                    field("cached_tokens", cached.into());
                }
            }
            Self::ToolStart { call_id, name } => {
                field("call_id", (*call_id).into());
                field("name", (*name).into());
            }
            Self::ToolProgress { call_id, progress } => {
                field("call_id", (*call_id).into());
                field("done", progress.done.into());
                if let Some(total) = progress.total {
                    field("total", total.into());
                }
                if let Some(message) = &progress.message {
                    field("message", message.as_str().into());
                }
            }
            Self::ToolCancel { call_id, reason } => {
                field("call_id", (*call_id).into());
                field("reason", (*reason).into());
            }
            Self::ToolDone { call_id, code } => {
                field("call_id", (*call_id).into());
                field("ok", code.is_none().into());
                if let Some(code) = code {
                    field("code", code.as_str().into());
                }
            }
        }
        out.push('}');
    }
}

/// Adds `base` to the message number of an event.
pub(super) fn shifted(event: Event<'_>, base: usize) -> Event<'_> {
    let moved = |index: Option<usize>| index.map(|index| index + base);
    match event {
        Event::MessageStart { index, message } => {
            Event::MessageStart { index: index + base, message }
        }
        Event::Delta { index, text, is_preamble } => {
            Event::Delta { index: index + base, text, is_preamble }
        }
        Event::ReasoningDelta { index, text } => {
            Event::ReasoningDelta { index: index + base, text }
        }
        Event::ReasoningSummaryDelta { index, text } => {
            Event::ReasoningSummaryDelta { index: index + base, text }
        }
        Event::ToolCallDelta { index, text } => Event::ToolCallDelta { index: index + base, text },
        Event::Flush { index, is_preamble } => Event::Flush { index: index + base, is_preamble },
        Event::MessageDone { index, message } => {
            Event::MessageDone { index: index + base, message }
        }
        Event::MessageHidden { index } => Event::MessageHidden { index: index + base },
        Event::Done { index, reason } => Event::Done { index: moved(index), reason },
        Event::Cancel { index } => Event::Cancel { index: moved(index) },
        Event::Diagnostic { index, diagnostic } => {
            Event::Diagnostic { index: moved(index), diagnostic }
        }
        Event::UserDiagnostic { index, code } => {
            Event::UserDiagnostic { index: moved(index), code }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use openchatml::{Code, Event, Policy};

    use super::{SessionEvent, shifted};
    use crate::Progress;

    #[test]
    fn events_of_the_loop_are_written_and_hidden() {
        let progress = Progress { done: 1.0, total: Some(2.0), message: Some("\"half\"\n".into()) };
        let events = [
            SessionEvent::Step { number: 1, most: 9 },
            SessionEvent::ToolProgress { call_id: "c\u{7f}", progress: &progress },
            SessionEvent::ToolCancel { call_id: "c", reason: "why" },
            SessionEvent::ToolDone { call_id: "c", code: None },
            SessionEvent::ToolDone { call_id: "c", code: Some(Code::ToolTimeout) },
        ];
        let written: Vec<_> = events.iter().map(SessionEvent::to_json).collect();
        assert_eq!(
            written,
            [
                r#"{"type":"run.step","step":1,"max":9}"#,
                "{\"type\":\"tool.progress\",\"call_id\":\"c\u{7f}\",\"done\":1.0,\"total\":2.0,\
                \"message\":\"\\\"half\\\"\\n\"}",
                r#"{"type":"tool.cancel","call_id":"c","reason":"why"}"#,
                r#"{"type":"tool.done","call_id":"c","ok":true}"#,
                r#"{"type":"tool.done","call_id":"c","ok":false,"code":"E-TOOL-TIMEOUT"}"#,
            ]
        );
        assert!(events.iter().all(|event| !event.is_for_user(Policy::default())));
    }

    #[test]
    fn message_numbers_are_consecutive() {
        let delta = Event::Delta { index: 2, text: "4.".into(), is_preamble: false };
        let event = SessionEvent::Said(shifted(delta, 5));
        assert_eq!(event.to_json(), r#"{"type":"response.delta","message_id":"m7","delta":"4."}"#);
        assert!(event.is_for_user(Policy::default()));
    }
}
