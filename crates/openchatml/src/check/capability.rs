//! `E-CAPABILITY`: the transcript uses something that its `capabilities` do not declare (SPEC 2.2
//! §2).

use super::CheckContext;
use crate::diagnostic::quote;
use crate::model::{End, Message, Role, Segment};
use crate::{Code, Control, Diagnostic};

pub(super) fn check(
    context: &CheckContext<'_>,
    message: &Message<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let Some(declared) = &context.settings.capabilities else { return };
    let mut missing = |kind: &str, word: &str| {
        let message_text =
            format!("the header's capabilities do not declare {kind} {}", quote(word));
        let help = format!("add it to `capabilities.{kind}s`");
        found.push(Code::Capability.at(message.header_span(), message_text).help(help));
    };
    let named = message.name.as_deref().filter(|_| message.role == Role::Tool);
    let is_declared = declared.has_role(message.role.as_str())
        || named.is_some_and(|name| declared.has_role(name));
    if !is_declared {
        missing("role", message.role.as_str());
    }
    if let Some(channel) = message.channel
        && !declared.has_channel(channel.as_str())
    {
        missing("channel", channel.as_str());
    }
    let end = match message.end {
        End::End => Some(Control::End),
        End::Call => Some(Control::Call),
        End::Return => Some(Control::Return),
        End::Open | End::Prompt => None,
    };
    let literal = message.body.segments().any(|segment| matches!(segment, Segment::Literal(_)));
    let used = [
        Some(Control::Start),
        message.channel.map(|_| Control::Channel),
        message.constrained.then_some(Control::Constrain),
        (message.end != End::Prompt).then_some(Control::Message),
        literal.then_some(Control::Literal),
        literal.then_some(Control::EndLiteral),
        end,
    ];
    for control in used.into_iter().flatten() {
        if let Some(spelling) = context.controls.spelling(control)
            && !declared.has_token(spelling)
        {
            missing("token", spelling);
        }
    }
}
