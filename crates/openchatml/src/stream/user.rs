//! What a user may be told of a stream.

use super::Event;
use crate::Code;
use crate::view::Policy;

/// Lets pass what a user may be told of a stream, and tells at its end whether it was cut off.
///
/// What is found is not for users: whether there is a finding may depend on hidden text. That a
/// response has no end is told by its [summary](Code::user_summary) (OpenChatML 2.2 §9, §14),
/// whatever the reason.
///
/// A stream [for a user](super::Stream::for_user) has one; this type is for events that come from
/// elsewhere.
///
/// ```
/// use openchatml::{Policy, ReadOptions, Stream, TextFormat, UserEvents};
///
/// let mut stream = Stream::new(TextFormat::HARMONY, &ReadOptions::completion());
/// let mut events: Vec<_> = stream.feed("<|channel|>analysis<|message|>A secret pl").collect();
/// events.extend(stream.finish());
///
/// let mut user = UserEvents::new(Policy::default());
/// let mut told: Vec<_> = events.into_iter().filter_map(|event| user.push(event)).collect();
/// told.extend(user.finish());
/// let told: Vec<_> = told.iter().map(|event| event.to_json()).collect();
/// assert_eq!(
///     told,
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
    /// Whether the response came to an end.
    ended: bool,
    /// The last message that the user was told of.
    last: Option<usize>,
}

impl UserEvents {
    /// What users may be told by this policy.
    pub fn new(policy: Policy) -> Self {
        Self { policy, began: false, ended: false, last: None }
    }

    /// The event [as a user may see it](Event::for_user), if a user may.
    pub fn push<'e>(&mut self, event: Event<'e>) -> Option<Event<'e>> {
        self.began = true;
        self.ended |= matches!(event, Event::Done { .. } | Event::Cancel { .. });
        let told = event.for_user(self.policy)?;
        self.last = told.index().or(self.last);
        Some(told)
    }

    /// What is to be told after the last event, if anything is.
    pub fn finish(self) -> Option<Event<'static>> {
        let is_cut_off = self.began && !self.ended;
        is_cut_off
            .then_some(Event::UserDiagnostic { index: self.last, code: Code::StreamTruncated })
    }
}
