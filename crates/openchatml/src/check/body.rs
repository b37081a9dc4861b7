//! `E-BODY-CONSTRAINT-VIOLATION`: the body does not match its declared type (SPEC 2.2 §6, §14).
//! `E-CALL-SCHEMA`: the arguments of a call are missing or invalid (SPEC 2.2 §8).

use super::CheckContext;
use crate::diagnostic::quote;
use crate::json::{self, Data, Json};
use crate::model::{End, Message};
use crate::{Code, Diagnostic, Severity, Span, function_name};

pub(super) fn check(
    context: &CheckContext<'_>,
    message: &Message<'_>,
    found: &mut Vec<Diagnostic>,
) {
    if matches!(message.end, End::Open | End::Prompt) {
        // An incomplete body cannot violate its type yet, and is already reported as incomplete.
        return;
    }
    match message.content_type.as_deref() {
        Some("json") if message.constrained || message.is_call() => {
            check_json(context, message, found);
        }
        Some("json" | "text" | "markdown") | None => {}
        Some(other) if message.constrained => {
            let text = format!("cannot check the body: unknown content type {}", quote(other));
            let help = "use a known type: `json`, `text` or `markdown`";
            found.push(Code::ContentType.at(message.header_span(), text).help(help));
        }
        Some(_) => {}
    }
    let is_function = message.recipient.as_deref().and_then(function_name).is_some();
    if message.is_call() && is_function && message.body.text().trim().is_empty() {
        let text = "the call has no arguments";
        let help = "write `{}` as the body if the call has no arguments";
        found.push(Code::CallSchema.at(message.span, text).help(help));
    }
}

/// Checks a call to a function that begins like its arguments, although its header does not say that
/// they are JSON, as models often leave it out.
pub(crate) fn check_untyped(
    context: &CheckContext<'_>,
    message: &Message<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let is_function = || message.recipient.as_deref().and_then(function_name).is_some();
    let is_complete = !matches!(message.end, End::Open | End::Prompt);
    let has_type = matches!(message.content_type.as_deref(), Some("json" | "text" | "markdown"));
    let is_object = || message.body.text().trim_ascii_start().starts_with('{');
    if message.is_call() && is_complete && !has_type && is_function() && is_object() {
        check_json(context, message, found);
    }
}

fn check_json(context: &CheckContext<'_>, message: &Message<'_>, found: &mut Vec<Diagnostic>) {
    let body = message.body.text();
    if body.trim().is_empty() && message.is_call() && !message.constrained {
        return;
    }
    let checked = json::check(&body, context.limits);
    if let Some(error) = checked.error {
        let code = match error.limit {
            Some(_) => Code::Limit,
            None => Code::BodyConstraintViolation,
        };
        let text = format!("the body is not valid JSON: {}", error.message);
        found.push(code.at(message.body_span(error.span), text));
        return;
    }
    for (key, span) in checked.duplicates {
        let text = format!("duplicate key {}", quote(&key));
        let span = message.body_span(span);
        let diagnostic = Code::DuplicateKey.at(span, text).help("the last value is used");
        // Two programs can read two different calls.
        let is_call = message.is_call();
        let severity = if is_call { Severity::Error } else { context.tolerated() };
        found.push(diagnostic.severity(severity));
    }
    if message.is_call() && memchr::memmem::find(body.as_bytes(), b"\"deadline_ms\"").is_some() {
        check_deadline(context, message, &body, found);
    }
}

/// Checks that `deadline_ms` is a whole number of milliseconds (SPEC 2.2 §8.2).
fn check_deadline(
    context: &CheckContext<'_>,
    message: &Message<'_>,
    body: &str,
    found: &mut Vec<Diagnostic>,
) {
    let Ok(arguments) = Json::new(body, context.limits).value() else { return };
    let Some(deadline) = arguments.get("deadline_ms") else { return };
    let is_whole = match &deadline.data {
        Data::Number(spelling) => spelling.parse::<u64>().is_ok(),
        _ => false,
    };
    if !is_whole {
        let text = "`deadline_ms` must be a whole number of milliseconds";
        let span = Span::new(deadline.span.start, deadline.span.end);
        found.push(Code::CallSchema.at(message.body_span(span), text));
    }
}
