//! The grammar families of dialects. The differences between the dialects of a family are data in
//! the folder of the dialect. The shared code is here.

mod brackets;
mod dry_run;
pub(crate) mod frame;
mod owner;
pub(crate) mod paired;
mod python;
mod rest;
pub(crate) mod sections;
mod spaces;
pub(crate) mod turn;
mod words;

use self::sections::Rules;
use self::sections::between::breaks;
pub(crate) use self::words::{is_graphic, words};
use crate::lex::Lexeme;
use crate::model::{Body, End, Message, Role};
use crate::reading::{Draft, Kept, Out, WITHHELD, hide, withhold};
use crate::{Code, Control, Diagnostic, Dropped, Fix, Span};

/// Creates a hidden message that is marked as uncertain.
pub(crate) fn hidden<'a>(role: Role, span: Span, body_at: usize) -> Message<'a> {
    let mut message = Message::new(role, "");
    hide(&mut message);
    message.span = span;
    message.body_at = body_at;
    message
}

/// Hides a message that is not part of a completion of the assistant: a message of another role, or
/// one after the stop token. The diagnostic is at `span`.
pub(crate) fn check_speaker(message: &mut Message<'_>, span: Span, out: &mut Out<'_, '_>) {
    if out.options.continues != Some(Role::Assistant) {
        return;
    }
    let text = match message.role {
        Role::Assistant if out.state.is_over => GOES_ON.to_owned(),
        Role::Assistant => {
            // Such a call relies on what the model has invented, so it is not certain.
            message.recovered |= out.state.has_foreign && message.is_call();
            return;
        }
        role => {
            out.state.has_foreign = true;
            format!("a completion of `assistant` contains a message of `{role}`")
        }
    };
    let found = Code::CompletionRole.at(span, text);
    out.malformed(found.help(WITHHELD));
    withhold(message);
}

/// The message for a completion that continues after its stop token.
pub(crate) const GOES_ON: &str = "the completion continues after its stop token";

/// Passes on a complete message: its text, which is at `place` and within the limit, and its end at
/// byte `at`.
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
    // Bodies that will be checked must be kept, even if the receiver does not want them.
    if out.to.keeps_bodies() || message.constrained || message.is_call() {
        message.body = Body::from(out.keep.text(text, place));
    }
    message.end = end;
    message.span.end = at;
    out.end(message);
}

/// Reports text outside of messages at `span`, and keeps it as a hidden message if the policy says
/// so. Returns whether it was kept.
pub(crate) fn stray<'a>(mut text: Kept<'a>, span: Span, out: &mut Out<'a, '_>) -> bool {
    let text = text.take();
    // The white space around it belongs to no message.
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
    if !out.options.recover.keeps() {
        out.malformed(found.drops(Dropped::Text));
        return false;
    }
    out.malformed(found.help("it is kept in a hidden message"));
    let mut message = hidden(Role::Assistant, span, span.start);
    // After a message of another role, it is not part of the completion either.
    message.foreign = out.state.after_foreign;
    let mut draft = Draft::started(message, out);
    draft.push(&text, span, out);
    draft.end(End::End, span.end, out);
    true
}

/// Returns the place of the token that opens a message, if a completion begins with it although its
/// prompt ended in the beginning of a message.
pub(crate) fn repeated_opening(
    first: Option<Lexeme<'_>>,
    opens: impl Fn(Control) -> bool,
) -> Option<Span> {
    match first {
        Some(Lexeme::Control(control, span)) if span.start == 0 && opens(control) => Some(span),
        _ => None,
    }
}

/// Reports a completion whose header the token at `span` opens.
pub(crate) fn repeated_header(span: Span, out: &mut Out<'_, '_>) {
    let text = "the completion begins with a header of its own";
    let help = "the prompt already ends in the beginning of a message: remove one of the two";
    out.malformed(Code::ParseHeader.at(span, text).help(help));
}

/// Returns the diagnostic for a control token outside of messages.
pub(crate) fn stray_token(spelling: &str, span: Span, out: &Out<'_, '_>) -> Diagnostic {
    match out.state.is_over {
        false => Code::ParseFrame.at(span, format!("`{spelling}` outside of a message")),
        true => {
            let text = format!("`{spelling}` after the stop token of the completion");
            Code::CompletionRole.at(span, text)
        }
    }
}

/// Returns the diagnostic for a control token that is not allowed in a message of a format without
/// escapes.
pub(crate) fn token_in_message(spelling: &str, span: Span) -> Diagnostic {
    let found = Code::ParseFrame.at(span, format!("`{spelling}` is not allowed in a message"));
    found.help(
        "the text after it is hidden; this format cannot escape it, so remove it from the content",
    )
}

/// Returns the diagnostic for a message without its stop token before the message at `span`.
pub(crate) fn no_stop_token(span: Span, stop: &str) -> Diagnostic {
    let text = "the message has no stop token before the next message begins";
    suggest_stop(Code::StreamTruncated.at(span, text), span.start, stop)
}

/// Suggests to insert a missing stop token at byte `at`, if the dialect has the token.
pub(crate) fn suggest_stop(found: Diagnostic, at: usize, stop: &str) -> Diagnostic {
    match stop.is_empty() {
        true => found,
        false => found.fix(Fix::suggestion(Span::at(at), stop)),
    }
}

/// Returns the diagnostic for a token that ends reasoning which no token opened, in text that begins
/// at byte `from`.
pub(crate) fn unopened_reasoning(rules: &Rules, span: Span, from: usize) -> Diagnostic {
    let reasoning = &rules.sections.reasoning;
    let [open, close] = [reasoning.open, reasoning.close].map(|mark| rules.spelling(mark.control));
    let fix = [open, breaks(reasoning.open.after)].concat();
    let found = Code::ParseFrame.at(span, format!("`{close}` without `{open}`"));
    found.help("the text before it is read as reasoning").fix(Fix::suggestion(Span::at(from), fix))
}

/// Returns the part of a text outside of messages that is within the limit. `len` bytes came before
/// it. The rest ends the reading.
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
