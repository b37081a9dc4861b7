//! The events of a stream.

use std::borrow::Cow;

use super::CowBox;
use crate::document::{write_message, write_string_field};
use crate::json::write_string;
use crate::model::{Body, End, Message, Role, Visibility};
use crate::view::Policy;
use crate::{Code, Diagnostic, Severity};

/// An event of a [`Stream`](super::Stream). Events come in the order in which they become certain
/// (OpenChatML 2.2 §9, 2.0 §9).
///
/// Events for a callback ([`Stream::feed_with`]) borrow from the stream. Events of an iterator
/// ([`Stream::feed`]) are owned. [`into_owned`](Self::into_owned) makes an owned event from any
/// event.
///
/// ```
/// use openchatml::{Event, Stream, TextFormat};
///
/// let mut stream = Stream::new(TextFormat::CHATML, &Default::default());
/// let mut log = Vec::new();
/// for event in stream.feed("<|im_start|>assistant\n4.<|im_end|>\n") {
///     log.push(match event {
///         Event::MessageStart { index, message } => format!("{index}: {}", message.role),
///         Event::Delta { text, .. } => text.into_owned(),
///         event => event.name().to_owned(),
///     });
/// }
/// assert_eq!(log, ["0: assistant", "4.", "message.done"]);
/// ```
///
/// [`Stream::feed`]: super::Stream::feed
/// [`Stream::feed_with`]: super::Stream::feed_with
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'e> {
    /// A message begins. Everything except its text and its end is known.
    MessageStart {
        /// The number of the message, from 0.
        index: usize,
        /// The message, without text.
        message: CowBox<'e, Message<'e>>,
    },
    /// Text that a user can see, of an answer or a preamble.
    Delta {
        /// The number of the message.
        index: usize,
        /// The text.
        text: Cow<'e, str>,
        /// Whether it is a preamble.
        is_preamble: bool,
    },
    /// Text of private reasoning.
    ReasoningDelta {
        /// The number of the message.
        index: usize,
        /// The text.
        text: Cow<'e, str>,
    },
    /// A summary of private reasoning. Streams never create it, only callers that summarize.
    ReasoningSummaryDelta {
        /// The number of the message.
        index: usize,
        /// The text.
        text: Cow<'e, str>,
    },
    /// Text of the arguments of a tool call.
    ToolCallDelta {
        /// The number of the message.
        index: usize,
        /// The text.
        text: Cow<'e, str>,
    },
    /// A paragraph of visible text ended.
    Flush {
        /// The number of the message.
        index: usize,
        /// Whether it is a preamble.
        is_preamble: bool,
    },
    /// A message is complete. In formats with sections, its end can show that its text was
    /// reasoning: it then has the channel `analysis`, although it began as an answer.
    MessageDone {
        /// The number of the message.
        index: usize,
        /// The message.
        message: CowBox<'e, Message<'e>>,
    },
    /// A message that was complete is reasoning: a later token ended reasoning that no token had
    /// opened. A text is now [recovered](Message::recovered) and has the channel `analysis`. A call is
    /// recovered, has the end [`End::End`], and must not run.
    MessageHidden {
        /// The number of the message.
        index: usize,
    },
    /// The response is complete. A response that is cut off is not complete, nor is one that
    /// exceeds a limit: too many messages, or too much visible text.
    Done {
        /// The number of the last message, if any.
        index: Option<usize>,
        /// How the response ended.
        reason: Done,
    },
    /// The response was cancelled. Stop rendering.
    Cancel {
        /// The number of the last message, if any.
        index: Option<usize>,
    },
    /// A tool call was cancelled. Streams never create it, only callers that run tools.
    ToolCancel {
        /// The `call_id` of the call.
        call_id: Cow<'e, str>,
        /// The reason.
        reason: Cow<'e, str>,
    },
    /// A diagnostic.
    Diagnostic {
        /// The number of the current message, if any.
        index: Option<usize>,
        /// The diagnostic. It can quote hidden text.
        diagnostic: CowBox<'e, Diagnostic>,
    },
    /// The part of a diagnostic that a user can see: see [`UserEvents`](super::UserEvents).
    UserDiagnostic {
        /// The number of the message, if any.
        index: Option<usize>,
        /// The code of the diagnostic. The event contains its summary.
        code: Code,
    },
}

/// How a response ended.
///
/// ```
/// use openchatml::{Done, Event, ReadOptions, Role, Stream, TextFormat};
///
/// let mut options = ReadOptions::default();
/// options.continues = Some(Role::Assistant);
/// let mut stream = Stream::new(TextFormat::OPENCHATML_2_2, &options);
/// drop(stream.feed(" to=functions.now call_id=1<|channel|>commentary<|message|>{}<|call|>"));
/// let done = stream.finish().find_map(|event| match event {
///     Event::Done { reason, .. } => Some(reason),
///     _ => None,
/// });
/// assert_eq!(done, Some(Done::Call));
/// assert_eq!(Done::Call.as_str(), "call");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Done {
    /// With `<|return|>`.
    Return,
    /// With `<|call|>`: it waits for tools.
    Call,
    /// The input ended between two messages.
    End,
}

impl Done {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Return => "return",
            Self::Call => "call",
            Self::End => "end",
        }
    }
}

impl<'e> Event<'e> {
    /// Returns the name of the event: that of the specification, if it has one (OpenChatML 2.2 §9,
    /// 2.0 §9).
    ///
    /// ```
    /// use openchatml::Event;
    ///
    /// let event = Event::ReasoningDelta { index: 0, text: "Easy.".into() };
    /// assert_eq!(event.name(), "response.reasoning_text.delta");
    /// ```
    pub const fn name(&self) -> &'static str {
        match self {
            Self::MessageStart { .. } => "message.start",
            Self::Delta { .. } => "response.delta",
            Self::ReasoningDelta { .. } => "response.reasoning_text.delta",
            Self::ReasoningSummaryDelta { .. } => "response.reasoning_summary_text.delta",
            Self::ToolCallDelta { .. } => "response.tool_call.delta",
            Self::Flush { .. } => "response.delta.flush",
            Self::MessageDone { .. } => "message.done",
            Self::MessageHidden { .. } => "message.hidden",
            Self::Done { .. } => "response.done",
            Self::Cancel { .. } => "response.cancel",
            Self::ToolCancel { .. } => "tool.cancel",
            Self::Diagnostic { .. } | Self::UserDiagnostic { .. } => "diagnostic",
        }
    }

    /// Whether a user can see the event, as [`for_user`](Self::for_user) returns it. Diagnostics
    /// are not for users: they can quote hidden text, and their existence can depend on it.
    ///
    /// ```
    /// use openchatml::{Event, Message, Policy};
    ///
    /// let hidden = Message::reasoning("");
    /// let event = Event::MessageStart { index: 0, message: (&hidden).into() };
    /// assert!(!event.is_for_user(Policy::default()));
    /// ```
    pub fn is_for_user(&self, policy: Policy) -> bool {
        match self {
            Self::MessageStart { message, .. } | Self::MessageDone { message, .. } => {
                policy.visibility(message) == Visibility::User
            }
            Self::Delta { is_preamble, .. } | Self::Flush { is_preamble, .. } => {
                !is_preamble || policy.preambles == crate::view::Preambles::Show
            }
            Self::ReasoningSummaryDelta { .. }
            | Self::Done { .. }
            | Self::Cancel { .. }
            | Self::UserDiagnostic { .. } => true,
            Self::ReasoningDelta { .. }
            | Self::ToolCallDelta { .. }
            | Self::ToolCancel { .. }
            | Self::MessageHidden { .. }
            | Self::Diagnostic { .. } => false,
        }
    }

    /// Returns the event as a user can see it, or `None` if it is hidden. Messages lose unknown
    /// words of their header, and reasoning after a marker.
    ///
    /// ```
    /// use openchatml::{Event, Message, Policy};
    ///
    /// let mut message = Message::user("Hi!");
    /// message.unread = Some("mood=secret".into());
    /// let event = Event::MessageDone { index: 0, message: (&message).into() };
    /// assert!(event.to_json().contains("secret"));
    /// let seen = event.for_user(Policy::default()).unwrap();
    /// assert!(!seen.to_json().contains("secret"));
    /// ```
    pub fn for_user(self, policy: Policy) -> Option<Self> {
        if !self.is_for_user(policy) {
            return None;
        }
        Some(match self {
            Self::MessageStart { index, message } => {
                Self::MessageStart { index, message: seen(message) }
            }
            Self::MessageDone { index, message } => {
                Self::MessageDone { index, message: seen(message) }
            }
            event => event,
        })
    }

    /// Returns the event with borrowed data.
    ///
    /// ```
    /// use openchatml::{Event, Policy, UserEvents};
    ///
    /// let event = Event::Flush { index: 0, is_preamble: false };
    /// assert!(UserEvents::new(Policy::default()).push(event.borrowed()).is_some());
    /// assert_eq!(event.name(), "response.delta.flush");
    /// ```
    pub fn borrowed(&self) -> Event<'_> {
        match self {
            Self::MessageStart { index, message } => {
                Event::MessageStart { index: *index, message: (&**message).into() }
            }
            Self::Delta { index, text, is_preamble } => {
                Event::Delta { index: *index, text: (&**text).into(), is_preamble: *is_preamble }
            }
            Self::ReasoningDelta { index, text } => {
                Event::ReasoningDelta { index: *index, text: (&**text).into() }
            }
            Self::ReasoningSummaryDelta { index, text } => {
                Event::ReasoningSummaryDelta { index: *index, text: (&**text).into() }
            }
            Self::ToolCallDelta { index, text } => {
                Event::ToolCallDelta { index: *index, text: (&**text).into() }
            }
            Self::MessageDone { index, message } => {
                Event::MessageDone { index: *index, message: (&**message).into() }
            }
            Self::ToolCancel { call_id, reason } => {
                Event::ToolCancel { call_id: (&**call_id).into(), reason: (&**reason).into() }
            }
            Self::Diagnostic { index, diagnostic } => {
                Event::Diagnostic { index: *index, diagnostic: (&**diagnostic).into() }
            }
            Self::Flush { .. }
            | Self::MessageHidden { .. }
            | Self::Done { .. }
            | Self::Cancel { .. }
            | Self::UserDiagnostic { .. } => self.clone(),
        }
    }

    /// Returns the event with owned data.
    ///
    /// ```
    /// use openchatml::Event;
    ///
    /// let delta = String::from("4.");
    /// let event = Event::Delta { index: 0, text: delta.as_str().into(), is_preamble: false };
    /// let kept: Event<'static> = event.into_owned();
    /// drop(delta);
    /// assert_eq!(kept.name(), "response.delta");
    /// ```
    pub fn into_owned(self) -> Event<'static> {
        let text = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        let boxed = |message: CowBox<'_, Message<'_>>| message.into_value().into_owned().into();
        match self {
            Self::MessageStart { index, message } => {
                Event::MessageStart { index, message: boxed(message) }
            }
            Self::Delta { index, text: delta, is_preamble } => {
                Event::Delta { index, text: text(delta), is_preamble }
            }
            Self::ReasoningDelta { index, text: delta } => {
                Event::ReasoningDelta { index, text: text(delta) }
            }
            Self::ReasoningSummaryDelta { index, text: delta } => {
                Event::ReasoningSummaryDelta { index, text: text(delta) }
            }
            Self::ToolCallDelta { index, text: delta } => {
                Event::ToolCallDelta { index, text: text(delta) }
            }
            Self::Flush { index, is_preamble } => Event::Flush { index, is_preamble },
            Self::MessageDone { index, message } => {
                Event::MessageDone { index, message: boxed(message) }
            }
            Self::MessageHidden { index } => Event::MessageHidden { index },
            Self::Done { index, reason } => Event::Done { index, reason },
            Self::Cancel { index } => Event::Cancel { index },
            Self::ToolCancel { call_id, reason } => {
                Event::ToolCancel { call_id: text(call_id), reason: text(reason) }
            }
            Self::Diagnostic { index, diagnostic } => {
                Event::Diagnostic { index, diagnostic: diagnostic.into_value().into() }
            }
            Self::UserDiagnostic { index, code } => Event::UserDiagnostic { index, code },
        }
    }

    pub(super) fn index(&self) -> Option<usize> {
        match self {
            Self::MessageStart { index, .. }
            | Self::Delta { index, .. }
            | Self::ReasoningDelta { index, .. }
            | Self::ReasoningSummaryDelta { index, .. }
            | Self::ToolCallDelta { index, .. }
            | Self::Flush { index, .. }
            | Self::MessageDone { index, .. }
            | Self::MessageHidden { index } => Some(*index),
            Self::Done { index, .. }
            | Self::Cancel { index }
            | Self::Diagnostic { index, .. }
            | Self::UserDiagnostic { index, .. } => *index,
            Self::ToolCancel { .. } => None,
        }
    }

    /// Writes the event as JSON, on one line.
    ///
    /// ```
    /// use openchatml::Event;
    ///
    /// let event = Event::Delta { index: 1, text: "4.".into(), is_preamble: false };
    /// assert_eq!(
    ///     event.to_json(),
    ///     r#"{"type":"response.delta","message_id":"m1","delta":"4."}"#,
    /// );
    /// ```
    pub fn to_json(&self) -> String {
        let mut out = String::with_capacity(128);
        self.write_json(&mut out);
        out
    }

    /// Appends the event as JSON to `out`, on one line, without a line break.
    ///
    /// ```
    /// use openchatml::Event;
    ///
    /// let mut lines = String::new();
    /// for text in ["Hel", "lo!"] {
    ///     Event::Delta { index: 0, text: text.into(), is_preamble: false }.write_json(&mut lines);
    ///     lines.push('\n');
    /// }
    /// assert_eq!(lines.lines().count(), 2);
    /// assert!(lines.ends_with("\"delta\":\"lo!\"}\n"));
    /// ```
    pub fn write_json(&self, out: &mut String) {
        out.push_str(r#"{"type":""#);
        out.push_str(self.name());
        out.push('"');
        if let Some(index) = self.index() {
            out.push_str(r#","message_id":"m"#);
            out.push_str(&index.to_string());
            out.push('"');
        }
        match self {
            Self::MessageStart { message, .. } => {
                let channel = message.channel.map(|channel| channel.as_str());
                let fields = [
                    ("role", Some(message.role.as_str())),
                    ("name", message.name.as_deref()),
                    ("recipient", message.recipient.as_deref()),
                    ("channel", channel),
                    ("call_id", message.call_id.as_deref()),
                    ("intent", message.intent.map(|intent| intent.as_str())),
                    ("content_type", message.content_type.as_deref()),
                ];
                for (key, value) in fields {
                    write_string_field(out, key, value);
                }
            }
            Self::Delta { text, .. }
            | Self::ReasoningDelta { text, .. }
            | Self::ReasoningSummaryDelta { text, .. }
            | Self::ToolCallDelta { text, .. } => write_string_field(out, "delta", Some(text)),
            Self::MessageDone { message, .. } => {
                out.push_str(r#","message":"#);
                write_message(out, message);
                let end = if message.end == End::Prompt { End::Open } else { message.end };
                write_string_field(out, "end", Some(end.as_str()));
            }
            Self::Done { reason, .. } => write_string_field(out, "reason", Some(reason.as_str())),
            Self::ToolCancel { call_id, reason } => {
                write_string_field(out, "call_id", Some(call_id));
                write_string_field(out, "reason", Some(reason));
            }
            Self::Diagnostic { diagnostic, .. } => write_diagnostic(out, diagnostic),
            Self::UserDiagnostic { code, .. } => write_kind(out, *code, code.severity()),
            Self::Flush { .. } | Self::MessageHidden { .. } | Self::Cancel { .. } => {}
        }
        out.push('}');
    }
}

/// The types of content that a user is told.
const TYPES: &[&str] = &["json", "text", "text/plain", "markdown", "text/markdown", "code"];

/// Removes what is not for users from a visible message.
fn seen<'e>(message: CowBox<'e, Message<'e>>) -> CowBox<'e, Message<'e>> {
    // An id pairs a call with its reply. Elsewhere it means nothing to a user.
    let is_paired = message.is_call() || message.role == Role::Tool;
    let has_stray_id = message.call_id.is_some() && !is_paired;
    // A model can write any text as the type of a message.
    let has_other_type = message.content_type.as_deref().is_some_and(|it| !TYPES.contains(&it));
    let is_clean = message.unread.is_none() && !message.body.has_markers();
    if is_clean && !has_stray_id && !has_other_type {
        return message;
    }
    let mut seen = match message {
        CowBox::Borrowed(message) => Box::new(message.borrowed()),
        CowBox::Owned(message) => message,
    };
    seen.unread = None;
    if has_stray_id {
        seen.call_id = None;
    }
    if has_other_type {
        seen.content_type = None;
    }
    let visible = seen.body.split_at_marker().map(|(visible, _)| visible.text().into_owned());
    if let Some(visible) = visible {
        seen.body = Body::from(visible);
    }
    CowBox::Owned(seen)
}

fn write_diagnostic(out: &mut String, diagnostic: &Diagnostic) {
    let Diagnostic { code, severity, span, message, help, .. } = diagnostic;
    write_kind(out, *code, *severity);
    out.push_str(",\"message\":");
    write_string(out, message);
    out.push_str(&format!(r#","span":{{"start":{},"end":{}}}"#, span.start, span.end));
    write_string_field(out, "help", help.as_deref());
}

/// Writes the fields that all diagnostics of a code share.
fn write_kind(out: &mut String, code: Code, severity: Severity) {
    write_string_field(out, "code", Some(code.as_str()));
    write_string_field(out, "severity", Some(severity.as_str()));
    write_string_field(out, "summary", Some(code.user_summary()));
}
