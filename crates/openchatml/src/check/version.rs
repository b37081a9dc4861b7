//! `E-PARSE-VERSION`: the transcript says that it is in another version of the format.

use super::Scene;
use crate::diagnostic::quote;
use crate::{Code, Diagnostic, Header, Message, Role, Span, Value};

/// Checks `version` against the versions that the reader knows: `2.2`, or `1.` for all of 1.x.
pub(crate) fn check(header: &Header<'_>, span: Span, known: &[&str], found: &mut Vec<Diagnostic>) {
    let Some(value) = header.get("version") else {
        let found_at = Code::ParseHeader.at(Span::at(span.start), "the header has no `version`");
        found.push(found_at.help("add the line `version: 2.2`, or the version that it is in"));
        return;
    };
    let Some(version) = value.as_spelling() else {
        let message = format!("`version` is {}, not major.minor", value.kind());
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
                let message = format!("version {} cannot be read as this format", quote(version));
                let known: Vec<_> = known.iter().map(|it| spelled(it)).collect();
                let help = format!("the versions that this format reads are {}", known.join(", "));
                found.push(Code::ParseVersion.at(value.span, message).help(help));
            }
        }
        _ => {
            let message = format!("{} is no version", quote(version));
            let help = "write major.minor, such as `2.2`";
            found.push(Code::ParseHeader.at(value.span, message).help(help));
        }
    }
}

/// Whether the header says a version before 2.
pub(super) fn is_before_2(header: &Header<'_>) -> bool {
    let version = header.get("version").and_then(Value::as_spelling);
    version.is_some_and(|version| version.starts_with("0.") || version.starts_with("1."))
}

/// Notes what 1.x does not have, if a message has it (SPEC 2.2 §13). Whether it does.
pub(super) fn shows_2(
    scene: &Scene<'_>,
    message: &Message<'_>,
    found: &mut Vec<Diagnostic>,
) -> bool {
    let lacks = match () {
        () if message.channel.is_some() => "channels",
        () if message.role == Role::Developer => "role `developer`",
        () if message.is_call() => "calls",
        () => return false,
    };
    let text = format!("the header says a version before 2, which has no {lacks}");
    let wrong = Code::ParseVersion.at(message.header_span(), text);
    found.push(wrong.help("say `version: 2.2` in the header").severity(scene.tolerated()));
    true
}

/// A version, or all of a major one.
fn spelled(known: &str) -> String {
    let rest = if known.ends_with('.') { "x" } else { "" };
    format!("{known}{rest}")
}
