//! How messages must end: `<|return|>` ends answers, and `<|call|>` ends calls (SPEC 2.2 §3, §6).

use super::CheckContext;
use crate::model::{End, Message, Role};
use crate::{Code, Diagnostic, Span};

pub(super) fn check(
    context: &CheckContext<'_>,
    message: &Message<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let spelled = |control| context.controls.spelling(control).unwrap_or_default().len();
    // In JSON, messages have no end token.
    let last = |len: usize| match message.in_json {
        true => message.header_span(),
        false => Span::new(message.span.end.saturating_sub(len), message.span.end),
    };
    match message.end {
        End::Return if !message.is_answer() => {
            let text = "`<|return|>` ends a message that is not an answer of the assistant";
            let span = last(spelled(crate::Control::Return));
            found.push(Code::Return.at(span, text).help("end it with `<|end|>`"));
        }
        End::Call if message.role == Role::Assistant && message.recipient.is_none() => {
            let text = "the call does not name a tool";
            let help = "add `to=` and the name of the tool to the header";
            found.push(Code::ParseHeader.at(message.header_span(), text).help(help));
        }
        End::Call if message.role != Role::Assistant => {
            let text = format!("a message of role `{}` ends with `<|call|>`", message.role);
            let span = last(spelled(crate::Control::Call));
            found.push(Code::ParseFrame.at(span, text).help("end it with `<|end|>`"));
        }
        _ => check_call(context, message, found),
    }
}

/// Checks that a call is complete.
pub(super) fn check_call(
    context: &CheckContext<'_>,
    message: &Message<'_>,
    found: &mut Vec<Diagnostic>,
) {
    if message.is_call() && matches!(message.end, End::End | End::Return) {
        let text = "the call does not end with `<|call|>`, so it is not run";
        let diagnostic = Code::ParseFrame.at(message.header_span(), text);
        found.push(diagnostic.severity(context.tolerated()));
    }
}
