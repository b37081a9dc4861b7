//! `E-PARSE-CHANNEL-MISSING`: the profile requires a channel, but the message has none (SPEC 2.2
//! §2, §12.2). Only messages of the assistant have channels.

use super::CheckContext;
use crate::model::{End, Message, Role};
use crate::{Code, Diagnostic};

/// Checks that each message of the assistant in Harmony has a channel.
pub(super) fn check_given(
    context: &CheckContext<'_>,
    message: &Message<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let concerns = message.role == Role::Assistant && message.end != End::Prompt;
    if concerns && message.channel.is_none() {
        let text = "the message has no channel, so it is read as `final`";
        let diagnostic = Code::ParseChannelMissing.at(message.header_span(), text);
        let help = "add a channel: `analysis`, `commentary` or `final`";
        found.push(diagnostic.help(help).severity(context.tolerated()));
    }
}

pub(super) fn check(
    context: &CheckContext<'_>,
    message: &Message<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let Some(profile) = &context.settings.harmony else { return };
    let required = &profile.require_channels;
    let concerns = message.role == Role::Assistant && message.end != End::Prompt;
    if !profile.enabled || required.is_empty() || !concerns {
        return;
    }
    if message.channel.is_none_or(|channel| !required.contains(&channel)) {
        let words: Vec<_> = required.iter().map(|channel| format!("`{channel}`")).collect();
        let text = match message.channel {
            None => "the message has no channel, but the profile requires one".to_owned(),
            Some(channel) => format!("the profile does not allow channel `{channel}`"),
        };
        let help = format!("use one of {}", words.join(", "));
        found.push(Code::ParseChannelMissing.at(message.header_span(), text).help(help));
    }
}
