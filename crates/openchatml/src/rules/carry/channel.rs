//! Channels, in formats in which the kind of a message determines its channel.

use super::{Adapted, At, Lost, MessageRule};
use crate::model::{Channel, End, Message, Role, Visibility};
use crate::rules::Channels;

pub(super) const RULE: MessageRule = MessageRule {
    name: "channel",
    fits: |message, at| {
        at.carries.channels == Channels::All || message.channel == implied(message, at)
    },
    adapt: |message, at, home| {
        let before = message.channel;
        message.channel = implied(message, at);
        // A message without a channel is on `final`.
        let says = |channel: Option<Channel>| channel.unwrap_or(Channel::Final);
        // Converted back to a format in which replies have a fixed channel, they get it again.
        let comes_back = message.role == Role::Tool
            && before == Some(Channel::Commentary)
            && home.is_some_and(|home| home.channels.are_fixed());
        let is_lost = before.is_some() && says(before) != says(message.channel) && !comes_back;
        let lost = match message.channel {
            Some(Channel::Analysis) => Lost::CommentaryMoved,
            _ => Lost::Channel,
        };
        Adapted::Changed(is_lost.then_some(lost))
    },
};

/// Returns the channel of this kind of message.
fn implied(message: &Message<'_>, at: &At<'_>) -> Option<Channel> {
    let is_prompt = || at.is_last && message.end == End::Prompt && message.body.is_empty();
    match (message.role, at.carries.channels) {
        (_, Channels::None) | (Role::System | Role::Developer | Role::User, _) => None,
        (Role::Tool, _) => Some(Channel::Commentary),
        (Role::Assistant, _) if message.is_call() => Some(Channel::Commentary),
        (Role::Assistant, Channels::Sections) if is_prompt() => None,
        // Visible text is part of the answer.
        (Role::Assistant, Channels::Sections) => Some(match message.visibility() {
            Visibility::User => Channel::Final,
            Visibility::Hidden => Channel::Analysis,
        }),
        (Role::Assistant, _) => Some(message.effective_channel()),
    }
}
