//! `E-PARSE-CHANNEL-MISSING`: the profile requires a channel and the message has none (SPEC 2.2
//! §2, §12.2). It concerns assistant messages: nobody else speaks on channels.

use super::Scene;
use crate::model::{End, Message, Role};
use crate::{Code, Diagnostic};

/// In Harmony each message of the assistant is on a channel.
pub(super) fn check_given(scene: &Scene<'_>, message: &Message<'_>, found: &mut Vec<Diagnostic>) {
    let concerns = message.role == Role::Assistant && message.end != End::Prompt;
    if concerns && message.channel.is_none() {
        let text = "this message has no channel; it is read as `final`";
        let diagnostic = Code::ParseChannelMissing.at(message.header_span(), text);
        let help = "declare one of `analysis`, `commentary`, `final`";
        found.push(diagnostic.help(help).severity(scene.tolerated()));
    }
}

pub(super) fn check(scene: &Scene<'_>, message: &Message<'_>, found: &mut Vec<Diagnostic>) {
    let Some(profile) = &scene.settings.harmony else { return };
    let required = &profile.require_channels;
    let concerns = message.role == Role::Assistant && message.end != End::Prompt;
    if !profile.enabled || required.is_empty() || !concerns {
        return;
    }
    if message.channel.is_none_or(|channel| !required.contains(&channel)) {
        let words: Vec<_> = required.iter().map(|channel| format!("`{channel}`")).collect();
        let text = match message.channel {
            None => "this message has no channel, and the profile requires one".to_owned(),
            Some(channel) => format!("channel `{channel}` is not one that the profile allows"),
        };
        let help = format!("declare one of {}", words.join(", "));
        found.push(Code::ParseChannelMissing.at(message.header_span(), text).help(help));
    }
}
