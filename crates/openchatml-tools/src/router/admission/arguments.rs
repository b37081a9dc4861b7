//! The arguments of a call: one JSON value that matches the schema of its tool.

use std::time::Duration;

use openchatml::{Code, Data, Limits, Message, Value};

use super::super::schema::{Schema, Violation};
use crate::Failure;

/// The key of the timeout of a call, in milliseconds (OpenChatML 2.2 §8.2).
const DEADLINE: &str = "deadline_ms";

/// The arguments of a valid call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arguments {
    /// The arguments that the tool receives: byte for byte as the model wrote them, without the
    /// deadline.
    pub(super) text: String,
    /// The timeout, if the call specifies one.
    pub(super) deadline: Option<Duration>,
}

impl Arguments {
    /// Reads the arguments of a call. Without a schema, they can be any text, unless the message is
    /// marked as JSON.
    pub(super) fn read(message: &Message<'_>, schema: Option<&Schema>) -> Result<Self, Failure> {
        let body = message.body.text();
        let claims_json = message.content_type.as_deref() == Some("json");
        if schema.is_none() && !claims_json {
            return Ok(Self { text: body.into_owned(), deadline: None });
        }
        let mut value = Value::from_json(&body, &Limits::default()).map_err(|found| {
            let code = match found.code {
                Code::ParseJson if claims_json => Code::BodyConstraintViolation,
                Code::ParseJson => Code::CallSchema,
                other => other,
            };
            let at = found.span.start;
            Failure::with_code(code, format!("at byte {at}: {}", found.message))
        })?;
        let deadline = value.get(DEADLINE).map(|it| (it.span.range(), milliseconds(it)));
        let Some((place, deadline)) = deadline else {
            check(&value, schema)?;
            return Ok(Self { text: body.into_owned(), deadline: None });
        };
        if schema.is_some_and(|schema| schema.declares(DEADLINE)) {
            check(&value, schema)?;
            return Ok(Self { text: body.into_owned(), deadline });
        }
        if deadline.is_none() {
            return Err(violation(vec![Violation {
                path: format!("/{DEADLINE}"),
                message: "must be a whole number of milliseconds".to_owned(),
            }]));
        }
        if let Data::Map(entries) = &mut value.data {
            entries.retain(|(key, _)| key != DEADLINE);
        }
        check(&value, schema)?;
        let entry = entry(&body, place);
        let text = [&body[..entry.start], &body[entry.end..]].concat();
        Ok(Self { text, deadline })
    }
}

/// Checks arguments against a schema.
pub(in super::super) fn check_arguments(
    text: &str,
    schema: Option<&Schema>,
) -> Result<(), Failure> {
    if schema.is_none() {
        return Ok(());
    }
    let value = Value::from_json(text, &Limits::default()).map_err(|found| {
        Failure::with_code(found.code, format!("at byte {}: {}", found.span.start, found.message))
    })?;
    check(&value, schema)
}

fn milliseconds(value: &Value<'_>) -> Option<Duration> {
    match &value.data {
        Data::Number(spelling) => spelling.parse().ok().map(Duration::from_millis),
        _ => None,
    }
}

fn check(value: &Value<'_>, schema: Option<&Schema>) -> Result<(), Failure> {
    match schema.map(|schema| schema.violations(value)).unwrap_or_default() {
        violations if violations.is_empty() => Ok(()),
        violations => Err(violation(violations)),
    }
}

fn violation(violations: Vec<Violation>) -> Failure {
    let say = |Violation { path, message }: &Violation| match path.as_str() {
        "" => message.clone(),
        path => format!("at {path}: {message}"),
    };
    let text: Vec<_> = violations.iter().map(say).collect();
    let path = violations.first().map(|first| first.path.clone()).unwrap_or_default();
    let mut details = vec![("path".into(), Value::from(path))];
    if violations.len() > 1 {
        let one = |Violation { path, message }| {
            let fields = [("path", path), ("message", message)];
            let fields = fields.map(|(key, text)| (key.into(), Value::from(text)));
            Value::from(Data::Map(fields.into()))
        };
        let all = violations.into_iter().map(one).collect();
        details.push(("errors".into(), Data::List(all).into()));
    }
    let mut failure = Failure::with_code(Code::CallSchema, text.join("; "));
    failure.details = Some(Data::Map(details).into());
    failure
}

/// Returns the range of the object entry whose value is at `value`: its key, its value and one
/// adjacent comma, so that the object is valid without it.
fn entry(body: &str, value: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let white = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
    // The key contains no quotation mark, not even an escaped one.
    let colon = body[..value.start].rfind(':').unwrap_or_default();
    let close = body[..colon].rfind('"').unwrap_or_default();
    let open = body[..close].rfind('"').unwrap_or_default();
    let after = &body[value.end..];
    if let Some(rest) = after.trim_start_matches(white).strip_prefix(',') {
        return open..body.len() - rest.trim_start_matches(white).len();
    }
    let before = body[..open].trim_end_matches(white);
    let start = before.strip_suffix(',').map_or(open, str::len);
    start..value.end
}
