//! Channels, where the kind of a message says on which one it is.

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
        // `final` is what a message without a channel is.
        let says = |channel: Option<Channel>| channel.unwrap_or(Channel::Final);
        // On the way back to where replies have a channel of their own, they get it again.
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

/// The channel of messages of this kind.
fn implied(message: &Message<'_>, at: &At<'_>) -> Option<Channel> {
    let is_prompt = || at.is_last && message.end == End::Prompt && message.body.is_empty();
    match (message.role, at.carries.channels) {
        (_, Channels::None) | (Role::System | Role::Developer | Role::User, _) => None,
        (Role::Tool, _) => Some(Channel::Commentary),
        (Role::Assistant, _) if message.is_call() => Some(Channel::Commentary),
        (Role::Assistant, Channels::Sections) if is_prompt() => None,
        // What the user may see is part of the answer.
        (Role::Assistant, Channels::Sections) => Some(match message.visibility() {
            Visibility::User => Channel::Final,
            Visibility::Hidden => Channel::Analysis,
        }),
        (Role::Assistant, _) => Some(message.effective_channel()),
    }
}
