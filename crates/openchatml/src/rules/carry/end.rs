//! How messages end. An uncertain message must not become a call that is run.

use super::{Adapted, At, Lost, MessageRule};
use crate::model::{End, Message, Role};
use crate::rules::Channels;

pub(super) const RULE: MessageRule = MessageRule {
    name: "end",
    fits: |message, at| message.end == End::End || ends_so(message, at),
    adapt: |message, _, _| {
        Adapted::losing(match std::mem::take(&mut message.end) {
            End::Return => Lost::Return,
            End::Call => Lost::CallEnd,
            _ => Lost::Open,
        })
    },
};

/// Whether a message can have an unusual end.
fn ends_so(message: &Message<'_>, at: &At<'_>) -> bool {
    let carries = at.carries;
    if message.end == End::Open && at.says_open(message) {
        return true;
    }
    let fits = match message.end {
        End::Call if message.recovered && !carries.recovered => false,
        End::Call => message.is_call() || !carries.makes_calls,
        End::Open | End::Prompt => at.is_last || carries.open_inside,
        End::End | End::Return => true,
    };
    fits && carries.ends.contains(&message.end)
        && (carries.channels != Channels::Sections || ends_section(message, at))
}

/// Whether a message in a turn with sections can end like this. Incomplete text of the assistant
/// looks the same as complete text there.
fn ends_section(message: &Message<'_>, at: &At<'_>) -> bool {
    let is_assistant = message.role == Role::Assistant;
    match message.end {
        _ if message.is_call() => true,
        End::End => true,
        End::Call => false,
        // An empty answer leaves nothing that could have an end.
        End::Return => at.is_last && message.is_answer() && !message.body.is_empty(),
        End::Open => at.carries.open_roles.contains(&message.role),
        End::Prompt => is_assistant && message.body.is_empty(),
    }
}
