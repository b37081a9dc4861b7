//! The families of dialects. What differs between the dialects of a family is data in the
//! dialect's folder; what is common is here.

mod brackets;
pub(crate) mod frame;
pub(crate) mod paired;
pub(crate) mod sections;
mod spaces;
pub(crate) mod turn;
mod words;

pub(crate) use self::words::{is_graphic, words};
use crate::model::{Body, End, Message, Role};
use crate::options::Recover;
use crate::reading::{Draft, Kept, Out, WITHHELD, hide, withhold};
use crate::{Code, Diagnostic, Dropped, Span};

/// A message that is a guess, and that nobody may see.
pub(crate) fn hidden<'a>(role: Role, span: Span, body_at: usize) -> Message<'a> {
    let mut message = Message::new(role, "");
    hide(&mut message);
    message.span = span;
    message.body_at = body_at;
    message
}

/// Hides what is no part of a completion of the assistant: what it says in the name of another, and
/// what follows its stop token. The finding is at `span`.
pub(crate) fn check_speaker(message: &mut Message<'_>, span: Span, out: &mut Out<'_, '_>) {
    if out.options.continues != Some(Role::Assistant) {
        return;
    }
    let text = match message.role {
        Role::Assistant if !out.state.is_over => return,
        Role::Assistant => GOES_ON.to_owned(),
        role => format!("a completion of `assistant` speaks as `{role}`"),
    };
    let found = Code::CompletionRole.at(span, text);
    out.malformed(found.help(WITHHELD));
    withhold(message);
}

/// That a completion goes on.
pub(crate) const GOES_ON: &str = "the completion goes on after its stop token";

/// Gives on a message all of which is there: its text, which stands at `place` and is within the
/// limit, and its end at byte `at`.
#[inline(always)]
pub(crate) fn whole<'a>(
    mut message: Message<'a>,
    (text, place): (&str, Span),
    end: End,
    at: usize,
    out: &mut Out<'a, '_>,
) {
    out.to.start(&message);
    if !text.is_empty() {
        out.to.text(text);
    }
    // What will be checked must be kept, whatever the receiver wants.
    if out.to.keeps_bodies() || message.constrained || message.is_call() {
        message.body = Body::from(out.keep.text(text, place));
    }
    message.end = end;
    message.span.end = at;
    out.end(message);
}

/// Reports text outside of any message, which stands at `span`, and keeps it as a hidden message if
/// that is the policy. Whether it was kept.
pub(crate) fn stray<'a>(mut text: Kept<'a>, span: Span, out: &mut Out<'a, '_>) -> bool {
    let text = text.take();
    // The white space around it is nobody's.
    let before = text.len() - text.trim_ascii_start().len();
    let after = text.len() - text.trim_ascii_end().len();
    let place = match span.len() == text.len() {
        true => Span::new(span.start + before, span.end - after),
        false => span,
    };
    let found = match out.state.is_over {
        false => Code::ParseFrame.at(place, "text outside of a message"),
        true => Code::CompletionRole.at(place, "text after the stop token of the completion"),
    };
    if out.options.recover != Recover::Keep {
        out.malformed(found.drops(Dropped::Text));
        return false;
    }
    out.malformed(found.help("it is kept as a hidden message"));
    let mut message = hidden(Role::Assistant, span, span.start);
    // Where somebody else spoke, it is no part of the completion either.
    message.foreign = out.state.after_foreign;
    let mut draft = Draft::started(message, out);
    draft.push(&text, span, out);
    draft.end(End::End, span.end, out);
    true
}

/// The finding that a control token stands outside of any message.
pub(crate) fn stray_token(spelling: &str, span: Span, out: &Out<'_, '_>) -> Diagnostic {
    match out.state.is_over {
        false => Code::ParseFrame.at(span, format!("`{spelling}` outside of a message")),
        true => {
            let text = format!("`{spelling}` after the stop token of the completion");
            Code::CompletionRole.at(span, text)
        }
    }
}

/// What of a text outside of any message, of which there are `len` bytes already, is within the limit.
/// The rest ends the reading.
pub(crate) fn within_limit<'t>(
    text: &'t str,
    span: Span,
    len: usize,
    out: &mut Out<'_, '_>,
) -> (&'t str, Span) {
    let most = out.options.limits.message_bytes;
    let end = text.floor_char_boundary(most.saturating_sub(len));
    if end == text.len() {
        return (text, span);
    }
    let at = span.start + end;
    let excess = Span::new(at, at + text[end..].chars().next().map_or(0, char::len_utf8));
    let message = format!("the text exceeds the limit `message_bytes` of {most}");
    out.stop(Code::Limit, at);
    out.report(Code::Limit.at(excess, message).drops(Dropped::Limit));
    (&text[..end], Span::new(span.start, at))
}
