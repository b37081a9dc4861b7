//! Calls, in formats in which every call is run. Other calls are dropped, so that nobody runs them
//! by mistake.

use super::{Adapted, At, Lost, MessageRule};
use crate::header::Settings;
use crate::model::{Channel, End, Message};
use crate::rules::Channels;

pub(super) const RULE: MessageRule = MessageRule {
    name: "call",
    fits: |message, at| {
        !message.is_call()
            || at.carries.recipients
                && (is_made(message) || may_be_unmade(message, at))
                && (at.carries.channels == Channels::All || is_on_its_channel(message, at))
    },
    adapt: |_, _, _| Adapted::Dropped(Lost::Call),
};

/// Whether a call is certain to be run.
fn is_made(call: &Message<'_>) -> bool {
    call.end == End::Call && !call.recovered
}

/// Whether a call is on a channel where its tool can be called. On another channel it is not run, and
/// a format without channels would not show that.
fn is_on_its_channel(call: &Message<'_>, at: &At<'_>) -> bool {
    let (Some(channel), Some(tool)) = (call.channel, call.recipient.as_deref()) else {
        return true;
    };
    if channel == Channel::Commentary {
        return true;
    }
    let usual = Settings::default();
    at.settings.unwrap_or(&usual).call_channels(tool).contains(&channel)
}

/// Whether a call that is not run is allowed. A turn with sections can end in the middle of a call.
fn may_be_unmade(call: &Message<'_>, at: &At<'_>) -> bool {
    let is_open = call.end == End::Open;
    if is_open && at.says_open(call) {
        return true;
    }
    let goes_on = at.is_last && is_open && at.carries.open_calls;
    !at.carries.makes_calls && (at.carries.channels != Channels::Sections || goes_on)
}
