//! Required fields of tool replies (SPEC 2.2 §6, §8; SPEC 2.0 §6).

use super::CheckContext;
use crate::model::{End, Message, Role};
use crate::reply::Reply;
use crate::{Code, Diagnostic, Severity};

/// Checks that a reply of role `tool` names the tool (SPEC 2.2 §6).
pub(super) fn check_name(
    context: &CheckContext<'_>,
    message: &Message<'_>,
    found: &mut Vec<Diagnostic>,
) {
    if message.role == Role::Tool && message.name.is_none() && message.end != End::Prompt {
        let text = "the reply does not name its tool";
        let diagnostic = Code::ParseHeader.at(message.header_span(), text);
        let diagnostic = diagnostic.help("add `name=` and the name of the tool to the header");
        found.push(diagnostic.severity(context.tolerated()));
    }
}

/// Checks that a reply has a recipient (SPEC 2.0 §6).
pub(super) fn check_recipient(
    context: &CheckContext<'_>,
    message: &Message<'_>,
    found: &mut Vec<Diagnostic>,
) {
    if message.role == Role::Tool && message.recipient.is_none() && message.end != End::Prompt {
        let text = "the reply has no recipient";
        let diagnostic = Code::ParseHeader.at(message.header_span(), text);
        let diagnostic = diagnostic.help("add `to=assistant` to the header");
        found.push(diagnostic.severity(context.tolerated()));
    }
}

/// Reports errors in the recommended envelope of replies, as notes (SPEC 2.2 §8.2, §14).
pub(super) fn check_envelope(
    context: &CheckContext<'_>,
    message: &Message<'_>,
    found: &mut Vec<Diagnostic>,
) {
    if message.role != Role::Tool {
        return;
    }
    let body = message.body.text();
    // A code is a string that begins with `E-`.
    let bytes = body.as_bytes();
    if !memchr::memchr_iter(b'E', bytes).any(|at| bytes[..at].ends_with(b"\"")) {
        return;
    }
    if let Some(code) = Reply::parse(&body, context.limits).and_then(|reply| reply.code()) {
        let text = format!("the tool reports an error: {}", code.title());
        found.push(code.at(message.span, text).severity(Severity::Note));
    }
}
