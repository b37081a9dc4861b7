//! `E-CALL-ROUTE`: the call is on a channel where such a tool is not called (SPEC 2.2 §8.3, §12.5).

use super::Scene;
use crate::header::{is_builtin, is_harmony_builtin};
use crate::model::{Channel, Message};
use crate::{Code, Diagnostic};

pub(super) fn check(scene: &Scene<'_>, message: &Message<'_>, found: &mut Vec<Diagnostic>) {
    let Some(tool) = message.recipient.as_deref().filter(|_| message.is_call()) else { return };
    let profile = scene.settings.harmony.as_ref().filter(|profile| profile.enabled);
    let builtin = is_harmony_builtin(tool) || is_builtin(&scene.settings.builtin_tools, tool);
    let (declared, usual): (_, &[Channel]) = if builtin {
        let declared = profile.map(|profile| profile.builtins_in.as_slice());
        (declared, &[Channel::Analysis, Channel::Commentary])
    } else {
        let declared = profile.map(|profile| profile.tool_calls_in.as_slice());
        (declared, &[Channel::Commentary])
    };
    let allowed = declared.filter(|channels| !channels.is_empty()).unwrap_or(usual);
    let channel = message.effective_channel();
    if allowed.contains(&channel) {
        return;
    }
    let words: Vec<_> = allowed.iter().map(|channel| format!("`{channel}`")).collect();
    let kind = if builtin { "a built-in tool" } else { "a function" };
    let text = format!("{kind} is called on `{channel}`");
    let help = format!("call it on {}", words.join(" or "));
    found.push(Code::CallRoute.at(message.header_span(), text).help(help));
}
