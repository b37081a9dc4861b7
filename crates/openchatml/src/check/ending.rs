//! How messages may end: `<|return|>` ends answers, `<|call|>` ends calls (SPEC 2.2 §3, §6).

use super::Scene;
use crate::model::{End, Message, Role};
use crate::{Code, Diagnostic, Span};

pub(super) fn check(scene: &Scene<'_>, message: &Message<'_>, found: &mut Vec<Diagnostic>) {
    let spelled = |control| scene.controls.spelling(control).unwrap_or_default().len();
    // In JSON no control token ends a message.
    let last = |len: usize| match message.in_json {
        true => message.header_span(),
        false => Span::new(message.span.end.saturating_sub(len), message.span.end),
    };
    match message.end {
        End::Return if !message.is_answer() => {
            let text = "`<|return|>` ends a message that is no answer of the assistant";
            let span = last(spelled(crate::Control::Return));
            found.push(Code::Return.at(span, text).help("end it with `<|end|>`"));
        }
        End::Call if message.role == Role::Assistant && message.recipient.is_none() => {
            let text = "the call does not say which tool it is for";
            let help = "add `to=` to its header";
            found.push(Code::ParseHeader.at(message.header_span(), text).help(help));
        }
        End::Call if message.role != Role::Assistant => {
            let text = format!("a message of role `{}` ends like a call", message.role);
            let span = last(spelled(crate::Control::Call));
            found.push(Code::ParseFrame.at(span, text).help("end it with `<|end|>`"));
        }
        End::End | End::Return if message.is_call() => {
            let text = "the call is not ended with `<|call|>`, so it is not made";
            let diagnostic = Code::ParseFrame.at(message.header_span(), text);
            found.push(diagnostic.severity(scene.tolerated()));
        }
        _ => {}
    }
}
