//! Reads responses of a server up to a limit.

use openchatml::{Code, Data, Limits, Value};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Error, Response, StatusCode};

use crate::{Failure, Outcome, Output};

/// The maximum size of an error body for the model, in bytes.
const REFUSAL: usize = 2 << 10;

/// Reads a response.
pub(super) async fn read(mut response: Response, limit: usize) -> Outcome {
    let status = response.status();
    if !status.is_success() {
        return Err(refusal(status, body(&mut response, limit).await.unwrap_or_default()));
    }
    let kind = response.headers().get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap_or("?"));
    let kind = kind.map(|kind| kind.split(';').next().unwrap_or_default().trim().to_lowercase());
    let is_json =
        kind.as_ref().is_some_and(|kind| kind == "application/json" || kind.ends_with("+json"));
    if let Some(kind) = kind.as_ref().filter(|kind| !is_json && !is_text(kind)) {
        let message = format!("the answer is `{}`, neither JSON nor text", kind.escape_debug());
        return Err(Failure::with_code(Code::ToolOutput, message));
    }
    let bytes = body(&mut response, limit).await?;
    if bytes.is_empty() {
        return Ok(Output::json(Value::default()));
    }
    let unusable = |why: String| Failure::with_code(Code::ToolOutput, why);
    let text = String::from_utf8(bytes).map_err(|error| {
        unusable(format!("the answer is not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
    })?;
    if !is_json {
        return Ok(Output::text(text));
    }
    match Value::from_json(&text, &Limits::default()) {
        Ok(value) => Ok(Output::json(value.into_owned())),
        Err(found) => {
            let at = found.span.start;
            Err(unusable(format!("the answer is not JSON: {} at byte {at}", found.message)))
        }
    }
}

/// Reads the body, or fails if it is longer than `limit`. No more than `limit` bytes are stored.
pub(crate) async fn body(response: &mut Response, limit: usize) -> Result<Vec<u8>, Failure> {
    let flood = || {
        let message = format!("the answer is longer than {limit} bytes");
        Failure::with_code(Code::ToolOutput, message)
    };
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(flood());
    }
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if chunk.len() > limit - bytes.len() => return Err(flood()),
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return Ok(bytes),
            Err(_) => return Err(Failure::new("the answer is incomplete").retryable()),
        }
    }
}

/// Returns the failure of a request without a response. It does not contain the error itself,
/// because that may contain a secret.
pub(crate) fn without_url(error: &Error) -> Failure {
    if error.is_connect() {
        return Failure::new("the server could not be reached").retryable();
    }
    if error.is_redirect() {
        return Failure::new("too many redirects");
    }
    Failure::new("the server did not answer").retryable()
}

fn refusal(status: StatusCode, body: Vec<u8>) -> Failure {
    let message = if status.is_redirection() {
        format!("the server answered {status}: it redirects to another origin")
    } else {
        format!("the server answered {status}")
    };
    let mut failure = Failure::new(message);
    failure.is_retryable = matches!(status.as_u16(), 429 | 502 | 503 | 504);
    let text = String::from_utf8_lossy(&body);
    let body = match Value::from_json(&text, &Limits::default()) {
        Ok(value) if text.len() <= REFUSAL => value.into_owned(),
        _ => Value::from(text[..text.floor_char_boundary(REFUSAL)].to_owned()),
    };
    let number = Data::Number(status.as_u16().to_string().into()).into();
    failure.details =
        Some(Data::Map(vec![("status".into(), number), ("body".into(), body)]).into());
    failure
}

/// Whether a model can read content of this type as text.
fn is_text(kind: &str) -> bool {
    const KINDS: [&str; 5] = [
        "application/xml",
        "application/yaml",
        "application/javascript",
        "application/x-ndjson",
        "application/jsonl",
    ];
    kind.starts_with("text/")
        || kind.ends_with("+xml")
        || kind.ends_with("+yaml")
        || KINDS.contains(&kind)
}
