//! Events for users.

use super::Event;
use crate::Code;
use crate::view::Policy;

/// Filters the events of a stream for a user, and says at the end if the response is incomplete.
///
/// Diagnostics are not for users, because their existence can depend on hidden text. An incomplete
/// response is reported with the [summary](Code::user_summary) of its code, whatever the reason
/// (OpenChatML 2.2 §9, §14).
///
/// A stream [for a user](super::Stream::for_user) contains one. Use this type for events from
/// another source.
///
/// ```
/// use openchatml::{Policy, ReadOptions, Stream, TextFormat, UserEvents};
///
/// let mut stream = Stream::new(TextFormat::HARMONY, &ReadOptions::completion());
/// let mut events: Vec<_> = stream.feed("<|channel|>analysis<|message|>A secret pl").collect();
/// events.extend(stream.finish());
///
/// let mut user = UserEvents::new(Policy::default());
/// let mut visible: Vec<_> = events.into_iter().filter_map(|event| user.push(event)).collect();
/// visible.extend(user.finish());
/// let visible: Vec<_> = visible.iter().map(|event| event.to_json()).collect();
/// assert_eq!(
///     visible,
///     [concat!(
///         r#"{"type":"diagnostic","code":"E-STREAM-TRUNCATED","severity":"error","#,
///         r#""summary":"The answer was cut off."}"#,
///     )],
/// );
/// ```
#[derive(Clone, Copy, Debug)]
pub struct UserEvents {
    policy: Policy,
    /// Whether there was an event.
    began: bool,
    /// Whether the response has ended.
    ended: bool,
    /// The last message that the user has seen.
    last: Option<usize>,
    /// The message whose beginning the user has seen, until its end.
    open: Option<usize>,
}

impl UserEvents {
    /// Creates a filter with a policy.
    pub fn new(policy: Policy) -> Self {
        Self { policy, began: false, ended: false, last: None, open: None }
    }

    /// Returns the event [as a user can see it](Event::for_user), or `None` if it is hidden. If the
    /// end of a message shows that it is hidden after all, it returns a diagnostic instead.
    pub fn push<'e>(&mut self, event: Event<'e>) -> Option<Event<'e>> {
        self.began = true;
        self.ended |= matches!(event, Event::Done { .. } | Event::Cancel { .. });
        let index = event.index();
        // Whether a text that was shown is not for the user, if the event is not.
        let was_shown = match &event {
            Event::MessageDone { .. } => self.open.is_some() && self.open == index,
            // If a later message is being shown, its own end will tell.
            Event::MessageHidden { .. } => self.open.is_none() && self.last == index,
            _ => false,
        };
        let Some(visible) = event.for_user(self.policy) else {
            self.open = self.open.filter(|_| !was_shown);
            return was_shown.then_some(Event::UserDiagnostic { index, code: Code::ParseFrame });
        };
        match &visible {
            Event::MessageStart { index, .. } => self.open = Some(*index),
            Event::MessageDone { .. } => self.open = None,
            _ => {}
        }
        self.last = visible.index().or(self.last);
        Some(visible)
    }

    /// Returns the event after the last one, if any.
    pub fn finish(self) -> Option<Event<'static>> {
        let is_cut_off = self.began && !self.ended;
        is_cut_off
            .then_some(Event::UserDiagnostic { index: self.last, code: Code::StreamTruncated })
    }
}
