//! The rules of what a format carries: one file each, and the lists that they are applied in.
//!
//! A rule says three things: whether a conversation or a message *fits* as it is; how to *adapt* it so
//! that it does; and what is *lost* by that, by name. It reads the [`Carries`] of the target and never
//! asks which format that is.

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
#[cfg(test)]
mod tests;
mod tool_keys;
mod tools;
mod unread;
mod version;
mod weight;

use super::{Carries, Loss, Lost};
use crate::model::{Conversation, Message};

/// What stands around the messages. What the header declares is taken away with it.
const AROUND: &[ConversationRule] =
    &[tools::RULE, tool_keys::RULE, header::RULE, header_keys::RULE];

/// Makes the list of rules about a message, and the functions that go through it: without a call through a
/// pointer for each rule.
macro_rules! rules_of_messages {
    ($($rule:ident,)+) => {
        #[cfg(test)]
        const EACH: &[MessageRule] = &[$($rule::RULE),+];

        /// Whether a message fits all rules.
        fn fits_each(message: &Message<'_>, at: &At<'_>) -> bool {
            $(($rule::RULE.fits)(message, at))&&+
        }

        /// Makes a message fit all rules, or those up to one that drops or splits it.
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

// One message at a time, apart from its neighbours.
//
// First what becomes of the message as a whole, so that nothing else is lost of a message that is
// dropped: reasoning must be apart before a part of it can be dropped, and a role be one that the
// format has before others ask what it means. Then the channel, which depends on what the user sees,
// and then the intent, which may move the message to another channel. The other fields depend on
// these, markers on the channel, and a call that is JSON on having no other type.
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

/// What follows what, of messages that fit by themselves.
const BETWEEN: &[ConversationRule] = &[before_call::RULE];

/// What a format requires: a conversation from another one gets it. The name of a reply goes first, while
/// there are ids to know its call by.
pub(crate) const NAMES: &[ConversationRule] = &[needs_name::RULE];

/// What a format requires else, of what it can carry.
pub(crate) const REQUIRED: &[ConversationRule] =
    &[version::RULE, needs_call_id::RULE, needs_recipient::RULE, needs_channel::RULE];

/// Where a message goes.
struct At<'t> {
    /// What the format carries.
    carries: &'t Carries,
    /// Whether the conversation ends with the message.
    is_last: bool,
}

/// What the format carries that a conversation was read in, if it was read. What that format implies is not
/// lost: it comes back on the way back.
type Home<'t> = Option<&'t Carries>;

/// A rule about a conversation.
pub(crate) struct ConversationRule {
    name: &'static str,
    fits: fn(&Conversation<'_>, &Carries) -> bool,
    /// Makes a conversation fit. Gives what is lost by that, at the places where its messages stand now.
    adapt: fn(&mut Conversation<'_>, &Carries, Home<'_>) -> Vec<Loss>,
}

/// A rule about a message.
struct MessageRule {
    name: &'static str,
    fits: fn(&Message<'_>, &At<'_>) -> bool,
    /// Makes a message fit that fits all rules before this one.
    adapt: for<'a> fn(&mut Message<'a>, &At<'_>, Home<'_>) -> Adapted<'a>,
}

/// What a rule made of a message.
enum Adapted<'a> {
    /// One that fits. What is lost by that, if anything is.
    Changed(Option<Lost>),
    /// None: it would say something else.
    Dropped(Lost),
    /// Two: it ends before this message. The loss is told if that can be carried.
    Split(Box<Message<'a>>, Lost),
}

impl Adapted<'_> {
    /// One that fits, with this loss.
    fn losing(lost: Lost) -> Self {
        Self::Changed(Some(lost))
    }
}

impl ConversationRule {
    pub(crate) fn fits(&self, conversation: &Conversation<'_>, carries: &Carries) -> bool {
        (self.fits)(conversation, carries)
    }

    /// Makes a conversation fit, if it does not. Gives what is lost by that.
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

/// Whether a format carries the conversation as it is.
pub(crate) fn fits(conversation: &Conversation<'_>, carries: &Carries) -> bool {
    let count = conversation.messages.len();
    let fits = |(place, message): (usize, &Message<'_>)| {
        fits_each(message, &At { carries, is_last: place + 1 == count })
    };
    AROUND.iter().chain(BETWEEN).all(|rule| rule.fits(conversation, carries))
        && conversation.messages.iter().enumerate().all(fits)
}

/// Makes a conversation one that the format carries. Gives where its messages stood.
pub(crate) fn adapt(
    conversation: &mut Conversation<'_>,
    carries: &Carries,
    home: Home<'_>,
    losses: &mut Vec<Loss>,
) -> Vec<usize> {
    losses.extend(AROUND.iter().flat_map(|rule| rule.apply(conversation, carries, home)));
    let count = conversation.messages.len();
    let mut places = Vec::with_capacity(count);
    let mut each = Each { split: Vec::new(), home, losses };
    let mut place = 0..count;
    conversation.messages.retain_mut(|message| {
        let Some(place) = place.next() else { return false };
        let at = At { carries, is_last: place + 1 == count };
        let is_kept = each.adapt(message, (place, places.len()), at);
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

/// Adapts one message after the other.
struct Each<'l, 'a> {
    /// Messages that were parts of others: behind how many of those that are kept they go, and where they
    /// stood.
    split: Vec<(usize, usize, Message<'a>)>,
    home: Home<'l>,
    losses: &'l mut Vec<Loss>,
}

impl<'a> Each<'_, 'a> {
    /// Makes a message one that the format carries. Whether there is one. `place` is where it stood, and how
    /// many before it are kept.
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

/// Puts messages that were parts of others behind these.
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
