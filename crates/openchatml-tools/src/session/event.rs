//! The events of a session.

use openchatml::{Code, Event, Policy};

use crate::{Progress, Usage};

/// What a [`Session`](super::Session) tells, in the order in which it happens: the events of the
/// completions, and those of the loop around them.
///
/// Messages are numbered through the whole session, beginning with the messages of the transcript.
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
    /// The model is asked.
    Step {
        /// For the so manieth time, from 1.
        number: usize,
        /// How often it is asked at most.
        most: usize,
    },
    /// The model is asked again, since it was asked in vain.
    Retry {
        /// For the so manieth time in a row, from 1.
        number: usize,
        /// How often in a row it is asked again at most.
        most: usize,
        /// Why.
        why: &'e str,
    },
    /// What the model is asked, where that is ids.
    Prompt {
        /// How many ids.
        ids: usize,
        /// How many of them, from the first on, the server has seen: they are those of the last
        /// prompt and of what the model said then.
        shared: usize,
    },
    /// The server ended a completion before the model did.
    CutOff {
        /// Why, in the server's word: `length` if it is as long as it may be.
        reason: &'e str,
    },
    /// What a completion took.
    Usage(Usage),
    /// What the model says.
    Said(Event<'e>),
    /// What a tool replies: the start and the end of its message.
    Replied(Event<'e>),
    /// A call runs.
    ToolStart {
        /// Which call.
        call_id: &'e str,
        /// The tool, as the model named it.
        name: &'e str,
    },
    /// A call has come so far.
    ToolProgress {
        /// Which call.
        call_id: &'e str,
        /// How far.
        progress: &'e Progress,
    },
    /// A call was cancelled.
    ToolCancel {
        /// Which call.
        call_id: &'e str,
        /// Why.
        reason: &'e str,
    },
    /// A call has its reply. That is told as a message once all calls have theirs.
    ToolDone {
        /// Which call.
        call_id: &'e str,
        /// What went wrong, if anything did.
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

/// The same event of messages that are numbered from `base` on.
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
    fn messages_are_numbered_through() {
        let delta = Event::Delta { index: 2, text: "4.".into(), is_preamble: false };
        let event = SessionEvent::Said(shifted(delta, 5));
        assert_eq!(event.to_json(), r#"{"type":"response.delta","message_id":"m7","delta":"4."}"#);
        assert!(event.is_for_user(Policy::default()));
    }
}
