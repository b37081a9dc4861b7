//! Replies in formats without ids of calls: the name of the tool and the order say which call a
//! reply answers.

use crate::history;
use crate::model::{Conversation, Message, Role};
use crate::pairing::{Paired, Pairs, ends_turn};
use crate::rules::{Carries, Channels, Loss, Lost};

/// How replies change in a format without ids of calls.
#[derive(Debug)]
pub(super) struct Reordered {
    /// The position that each message had before.
    pub(super) places: Vec<usize>,
    /// The replies that moved, and those that would be read as replies to other calls, at their old
    /// positions.
    pub(super) losses: Vec<Loss>,
}

/// Finds the order of replies in a format that `carries` no ids. Returns `None` if the order stays
/// and each reply is read as the reply to its own call.
pub(super) fn reordered(conversation: &Conversation<'_>, carries: &Carries) -> Option<Reordered> {
    let messages = &conversation.messages;
    let has_id = |message: &Message<'_>| message.role == Role::Tool && message.call_id.is_some();
    if carries.call_ids || !carries.recipients || !messages.iter().any(has_id) {
        return None;
    }
    let calls = history::answers(messages);
    // Formats with sections do not name the tool in a reply.
    let with_names = carries.channels != Channels::Sections;
    let mut places: Vec<_> = (0..messages.len()).collect();
    let read = read_back(&places, messages, with_names);
    let is_other = |read: &[_], place: usize| calls[place].is_some() && read[place] != calls[place];
    let is_reply = |place: &usize| messages[*place].role == Role::Tool;
    for run in places.chunk_by_mut(|one, two| is_reply(one) && is_reply(two)) {
        let are_known = run.iter().all(|place| calls[*place].is_some());
        if are_known && run.iter().any(|place| is_other(&read, *place)) {
            run.sort_by_key(|place| calls[*place]);
        }
    }
    let lost = |place: usize, lost| Loss::new(Some(place), messages[place].span, lost);
    let moved = places.iter().enumerate().filter(|(at, place)| at != *place);
    let mut losses: Vec<_> = moved.map(|(_, place)| lost(*place, Lost::Order)).collect();
    let read = read_back(&places, messages, with_names);
    let of_others =
        (0..messages.len()).filter(|place| has_id(&messages[*place]) && is_other(&read, *place));
    losses.extend(of_others.map(|place| lost(place, Lost::Pairing)));
    losses.sort_by_key(|loss| loss.message);
    (!losses.is_empty()).then_some(Reordered { places, losses })
}

/// Returns, for each reply, the position of the call that a reader finds without ids.
fn read_back(places: &[usize], messages: &[Message<'_>], with_names: bool) -> Vec<Option<usize>> {
    let mut pairs = Pairs::default();
    let (mut calls, mut read) = (Vec::new(), vec![None; messages.len()]);
    for place in places {
        let message = &messages[*place];
        if let (true, Some(tool)) = (message.is_call(), message.recipient.as_deref()) {
            pairs.call(None, tool);
            calls.push(*place);
        } else if message.role == Role::Tool {
            let name = message.name.as_deref().filter(|_| with_names);
            if let Paired::Answer(call) = pairs.reply(None, name) {
                read[*place] = calls.get(call).copied();
            }
        } else if ends_turn(message) {
            pairs.turn();
        }
    }
    read
}
