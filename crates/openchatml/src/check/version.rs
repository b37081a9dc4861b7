//! `E-PARSE-VERSION`: the transcript is in another version of the format.

use super::CheckContext;
use crate::diagnostic::quote;
use crate::model::{End, Segment};
use crate::{Code, Control, Diagnostic, Header, Message, Role, Span, Value};

/// Checks `version` against the supported versions: `2.2`, or `1.` for all of 1.x.
pub(crate) fn check(header: &Header<'_>, span: Span, known: &[&str], found: &mut Vec<Diagnostic>) {
    let Some(value) = header.get("version") else {
        let found_at = Code::ParseHeader.at(Span::at(span.start), "the header has no `version`");
        found.push(
            found_at.help("add a line with the version of the transcript, such as `version: 2.2`"),
        );
        return;
    };
    let Some(version) = value.as_spelling() else {
        let message =
            format!("`version` must have the form `major.minor`, but it is {}", value.kind());
        found.push(Code::ParseHeader.at(value.span, message));
        return;
    };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    match version.split_once('.') {
        Some((major, minor)) if is_number(major) && is_number(minor) => {
            let matches = |one: &&str| {
                if one.ends_with('.') { version.starts_with(*one) } else { *one == version }
            };
            if !known.iter().any(matches) {
                let message = format!("this format does not support version {}", quote(version));
                let known: Vec<_> = known.iter().map(|it| spelled(it)).collect();
                let help = format!(
                    "it supports {}; for other versions, read the text as another format",
                    known.join(", ")
                );
                found.push(Code::ParseVersion.at(value.span, message).help(help));
            }
        }
        _ => {
            let message = format!("invalid version {}", quote(version));
            let help = "write it as `major.minor`, such as `2.2`";
            found.push(Code::ParseHeader.at(value.span, message).help(help));
        }
    }
}

/// Whether the header names a version before 2.
pub(super) fn is_before_2(header: &Header<'_>) -> bool {
    let version = header.get("version").and_then(Value::as_spelling);
    version.is_some_and(|version| version.starts_with("0.") || version.starts_with("1."))
}

/// Reports a feature that 1.x does not have, if a message uses one (SPEC 2.2 §13). Returns whether
/// it does. `known` are the supported versions, newest first.
pub(super) fn shows_2(
    context: &CheckContext<'_>,
    message: &Message<'_>,
    known: &[&str],
    found: &mut Vec<Diagnostic>,
) -> bool {
    let Some((lacks, place)) = beyond_1(context, message) else { return false };
    let text = format!("the header names a version before 2.0, which does not support {lacks}");
    let newest = known.first().copied().unwrap_or("2.2");
    let help = format!("write `version: {newest}` in the header");
    found.push(Code::ParseVersion.at(place, text).help(help).severity(context.tolerated()));
    true
}

/// Returns a feature of a message that 1.x does not have, and its place.
fn beyond_1(context: &CheckContext<'_>, message: &Message<'_>) -> Option<(&'static str, Span)> {
    let lacks = match () {
        () if message.channel.is_some() => "channels",
        () if message.role == Role::Developer => "role `developer`",
        () if message.is_call() || message.end == End::Call => "calls",
        () if message.recipient.is_some() => "`to=`",
        () if message.call_id.is_some() => "`call_id=`",
        () if message.intent.is_some() => "`intent=`",
        () if message.constrained => "`<|constrain|>`",
        () if message.content_type.is_some() => "`content_type=`",
        () => return in_body(context, message),
    };
    Some((lacks, message.header_span()))
}

/// The same for the body and its end.
fn in_body(context: &CheckContext<'_>, message: &Message<'_>) -> Option<(&'static str, Span)> {
    let header = message.header_span();
    let len = |control| context.controls.spelling(control).map_or(0, str::len);
    let mut before = 0;
    for segment in message.body.segments() {
        match segment {
            Segment::Text(text) => before += text.len(),
            Segment::Marker(_) => return Some(("reasoning markers", header)),
            // The place of an empty block is unknown.
            Segment::Literal(text) if text.is_empty() || message.in_json => {
                return Some(("literal blocks", header));
            }
            Segment::Literal(_) => {
                let end = message.body_place(before);
                let start = end.saturating_sub(len(Control::Literal));
                return Some(("literal blocks", Span::new(start, end)));
            }
        }
    }
    if message.end != End::Return {
        return None;
    }
    let end = message.span.end;
    let place = match message.in_json {
        true => header,
        false => Span::new(end.saturating_sub(len(Control::Return)), end),
    };
    Some(("`<|return|>`", place))
}

/// Returns a version, or a major version such as `1.x`.
fn spelled(known: &str) -> String {
    let rest = if known.ends_with('.') { "x" } else { "" };
    format!("{known}{rest}")
}
