//! `E-CALL-ROUTE`: the call is on a channel that is not allowed for this kind of tool (SPEC 2.2
//! §8.3, §12.5).

use super::CheckContext;
use crate::model::Message;
use crate::{Code, Diagnostic};

pub(super) fn check(
    context: &CheckContext<'_>,
    message: &Message<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let Some(tool) = message.recipient.as_deref().filter(|_| message.is_call()) else { return };
    let allowed = context.settings.call_channels(tool);
    let channel = message.effective_channel();
    if allowed.contains(&channel) {
        return;
    }
    let words: Vec<_> = allowed.iter().map(|channel| format!("`{channel}`")).collect();
    let kind = if context.settings.is_builtin(tool) { "a built-in tool" } else { "a function" };
    let text = format!("{kind} cannot be called on channel `{channel}`");
    let help = format!("use channel {}", words.join(" or "));
    found.push(Code::CallRoute.at(message.header_span(), text).help(help));
}
