//! The rules of what a format can carry: one file for each, and the lists that define their order.
//!
//! A rule has three parts: whether a conversation or a message *fits* unchanged, how to *adapt* it,
//! and what is *lost* by that, by name. It reads the [`Carries`] of the target and never asks which
//! format that is.

mod before_call;
mod call;
mod call_id;
mod channel;
mod constraint;
mod content_type;
mod end;
mod foreign;
mod header;
mod header_keys;
mod hidden;
mod intent;
mod json_call;
mod markers;
mod name;
mod needs_call_id;
mod needs_channel;
mod needs_name;
mod needs_recipient;
mod preamble;
mod prompt;
mod reasoning;
mod recipient;
mod recovered;
mod role;
mod strict_tools;
#[cfg(test)]
mod tests;
mod tool_keys;
mod tools;

mod unique_call_id;
mod unread;
mod untrained;
mod version;
mod weight;

use super::{Carries, Channels, Loss, Lost};
use crate::header::Settings;
use crate::model::{Channel, Conversation, Message};

/// Rules about everything around the messages. Dropping the header also drops its declarations.
const AROUND: &[ConversationRule] =
    &[tools::RULE, tool_keys::RULE, header::RULE, header_keys::RULE, untrained::RULE];

/// Defines the list of rules about a message, and the functions that apply them without an indirect
/// call for each rule.
macro_rules! rules_of_messages {
    ($($rule:ident,)+) => {
        #[cfg(test)]
        const EACH: &[MessageRule] = &[$($rule::RULE),+];

        /// Whether a message fits all rules.
        fn fits_each(message: &Message<'_>, at: &At<'_>) -> bool {
            $(($rule::RULE.fits)(message, at))&&+
        }

        /// Adapts a message to all rules, or up to the one that drops or splits it.
        fn adapt_each<'a>(
            message: &mut Message<'a>,
            at: &At<'_>,
            home: Home<'_>,
            lose: &mut dyn FnMut(Lost),
        ) -> Adapted<'a> {
            $(
                let rule = $rule::RULE;
                if !(rule.fits)(message, at) {
                    match (rule.adapt)(message, at, home) {
                        Adapted::Changed(lost) => lost.into_iter().for_each(&mut *lose),
                        whole => return whole,
                    }
                    debug_assert!((rule.fits)(message, at), "{}", rule.name);
                }
            )+
            Adapted::Changed(None)
        }
    };
}

// The rules about single messages, without their neighbours.
//
// First come rules about the message as a whole, so that a dropped message reports no other losses.
// Reasoning must be separate before a part of it can be dropped, and the role must be supported
// before other rules use it. Then comes the channel, which depends on what the user sees, and then
// the intent, which can change the channel. The other fields depend on these: markers depend on the
// channel, and a JSON call on having no other content type.
rules_of_messages! {
    reasoning,
    foreign,
    prompt,
    role,
    call,
    hidden,
    preamble,
    channel,
    intent,
    name,
    recipient,
    call_id,
    constraint,
    content_type,
    json_call,
    end,
    markers,
    weight,
    unread,
    recovered,
}

/// Rules about the order of messages that fit on their own.
const BETWEEN: &[ConversationRule] = &[before_call::RULE];

/// Rules about required names. Replies get names first, while they still have the ids of their
/// calls.
pub(crate) const NAMES: &[ConversationRule] = &[needs_name::RULE];

/// Rules about other required fields.
pub(crate) const REQUIRED: &[ConversationRule] = &[
    version::RULE,
    needs_call_id::RULE,
    unique_call_id::RULE,
    strict_tools::RULE,
    needs_recipient::RULE,
    needs_channel::RULE,
];

/// The context of a message.
struct At<'t> {
    /// What the target can carry.
    carries: &'t Carries,
    /// Whether the message is the last one.
    is_last: bool,
    /// Whether data about the document says that the last message is incomplete.
    is_stopped: bool,
    /// The settings in the header, if they matter.
    settings: Option<&'t Settings>,
}

impl At<'_> {
    /// Whether the target has data that says that this message is incomplete.
    fn says_open(&self, message: &Message<'_>) -> bool {
        self.is_last && self.is_stopped
            || self.carries.stops.is_some_and(|form| message.is_stopped(form))
    }
}

impl<'t> At<'t> {
    /// Returns the context of each message of a conversation.
    fn each(
        conversation: &Conversation<'_>,
        carries: &'t Carries,
        settings: Option<&'t Settings>,
    ) -> impl Fn(usize) -> Self + use<'t> {
        let last = conversation.messages.len().checked_sub(1);
        let is_stopped = carries.stops.is_some_and(|form| conversation.is_stopped(form));
        move |place| Self { carries, is_last: last == Some(place), is_stopped, settings }
    }
}

/// What the original format of a conversation can carry, if it was read. What that format implies
/// is not lost: it comes back when the output is converted back.
type Home<'t> = Option<&'t Carries>;

/// A rule about a conversation.
pub(crate) struct ConversationRule {
    name: &'static str,
    fits: fn(&Conversation<'_>, &Carries) -> bool,
    /// Adapts a conversation. Returns the losses, at the current positions of its messages.
    adapt: fn(&mut Conversation<'_>, &Carries, Home<'_>) -> Vec<Loss>,
}

/// A rule about a message.
struct MessageRule {
    name: &'static str,
    fits: fn(&Message<'_>, &At<'_>) -> bool,
    /// Adapts a message that fits all earlier rules.
    adapt: for<'a> fn(&mut Message<'a>, &At<'_>, Home<'_>) -> Adapted<'a>,
}

/// The result of a rule for a message.
enum Adapted<'a> {
    /// A message that fits, and the loss, if any.
    Changed(Option<Lost>),
    /// No message: it would have another meaning.
    Dropped(Lost),
    /// Two messages: the first one ends where this one begins. The loss is reported if the second
    /// one can be carried.
    Split(Box<Message<'a>>, Lost),
}

impl Adapted<'_> {
    /// Returns a message that fits, with this loss.
    fn losing(lost: Lost) -> Self {
        Self::Changed(Some(lost))
    }
}

impl ConversationRule {
    pub(crate) fn fits(&self, conversation: &Conversation<'_>, carries: &Carries) -> bool {
        (self.fits)(conversation, carries)
    }

    /// Adapts a conversation if it does not fit. Returns the losses.
    pub(crate) fn apply(
        &self,
        conversation: &mut Conversation<'_>,
        carries: &Carries,
        home: Home<'_>,
    ) -> Vec<Loss> {
        if self.fits(conversation, carries) {
            return Vec::new();
        }
        let losses = (self.adapt)(conversation, carries, home);
        debug_assert!(self.fits(conversation, carries), "{}", self.name);
        losses
    }
}

/// Whether a format can carry the conversation unchanged.
pub(crate) fn fits(conversation: &Conversation<'_>, carries: &Carries) -> bool {
    let settings = settings_of_calls(conversation, carries);
    let at = At::each(conversation, carries, settings.as_ref());
    let fits = |(place, message): (usize, &Message<'_>)| fits_each(message, &at(place));
    AROUND.iter().chain(BETWEEN).all(|rule| rule.fits(conversation, carries))
        && conversation.messages.iter().enumerate().all(fits)
}

/// Returns the settings in the header, which say on which channels tools can be called, if a call is on
/// an unusual one.
fn settings_of_calls(conversation: &Conversation<'_>, carries: &Carries) -> Option<Settings> {
    let is_unusual = |it: &Message<'_>| it.is_call() && it.channel != Some(Channel::Commentary);
    let header = conversation.header.as_ref().filter(|_| carries.channels != Channels::All)?;
    conversation.messages.iter().any(is_unusual).then(|| Settings::read(header).0)
}

/// Adapts a conversation to a format. Returns the original positions of its messages.
pub(crate) fn adapt(
    conversation: &mut Conversation<'_>,
    carries: &Carries,
    home: Home<'_>,
    losses: &mut Vec<Loss>,
) -> Vec<usize> {
    let settings = settings_of_calls(conversation, carries);
    losses.extend(AROUND.iter().flat_map(|rule| rule.apply(conversation, carries, home)));
    let count = conversation.messages.len();
    let at = At::each(conversation, carries, settings.as_ref());
    let mut places = Vec::with_capacity(count);
    let mut each = Each { split: Vec::new(), home, losses };
    let mut place = 0..count;
    conversation.messages.retain_mut(|message| {
        let Some(place) = place.next() else { return false };
        let is_kept = each.adapt(message, (place, places.len()), at(place));
        places.extend(is_kept.then_some(place));
        is_kept
    });
    let Each { split, .. } = each;
    if !split.is_empty() {
        insert(split, &mut conversation.messages, &mut places);
    }
    for mut loss in BETWEEN.iter().flat_map(|rule| rule.apply(conversation, carries, home)) {
        loss.message = loss.message.map(|at| places[at]);
        losses.push(loss);
    }
    losses.sort_by_key(|loss| loss.message);
    places
}

/// Adapts messages one by one.
struct Each<'l, 'a> {
    /// Messages that were split from others: the number of kept messages before each, and its
    /// original position.
    split: Vec<(usize, usize, Message<'a>)>,
    home: Home<'l>,
    losses: &'l mut Vec<Loss>,
}

impl<'a> Each<'_, 'a> {
    /// Adapts a message. Returns whether it is kept. `place` is its original position and the
    /// number of kept messages before it.
    fn adapt(&mut self, message: &mut Message<'a>, place: (usize, usize), at: At<'_>) -> bool {
        let span = message.span;
        let loss = |lost| Loss::new(Some(place.0), span, lost);
        match adapt_each(message, &at, self.home, &mut |lost| self.losses.push(loss(lost))) {
            Adapted::Changed(_) => true,
            Adapted::Dropped(lost) => {
                self.losses.push(loss(lost));
                false
            }
            Adapted::Split(mut rest, lost) => {
                let is_kept = self.adapt(message, place, At { is_last: false, ..at });
                if self.adapt(&mut rest, place, at) {
                    self.split.push((place.1 + usize::from(is_kept), place.0, *rest));
                    self.losses.push(loss(lost));
                }
                is_kept
            }
        }
    }
}

/// Inserts messages that were split from others.
fn insert<'a>(
    split: Vec<(usize, usize, Message<'a>)>,
    messages: &mut Vec<Message<'a>>,
    places: &mut Vec<usize>,
) {
    let mut split = split.into_iter().peekable();
    let kept = std::mem::take(messages).into_iter().zip(std::mem::take(places));
    let mut push = |message, place| {
        messages.push(message);
        places.push(place);
    };
    for (at, (message, place)) in kept.enumerate() {
        while let Some((_, place, message)) = split.next_if(|it| it.0 == at) {
            push(message, place);
        }
        push(message, place);
    }
    split.for_each(|(_, place, message)| push(message, place));
}
