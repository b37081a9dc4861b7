//! The failures that the model receives if the server did not answer a call.

use openchatml::Code;
use rmcp::ServiceError;
use rmcp::model::ErrorData;
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;

use super::ConnectError;
use super::http::HttpError;
use super::line_limit::{MOST, TOO_LONG, UNREADABLE};
use crate::Failure;

const BROKE: &str = "the connection to the server broke; the call may have run";
pub(super) const NO_RESULT: &str = "the server returned an invalid result";
const GONE: &str = "the server of the tool has stopped; the call did not run";

/// The failure if there is no connection and reconnecting is impossible.
pub(super) fn gone() -> Failure {
    Failure::new(GONE).retryable()
}

/// The failure if the server no longer has the tool.
pub(super) fn removed() -> Failure {
    Failure::with_code(Code::CallUnknown, "the server no longer offers this tool")
}

/// Whether the connection is broken after this error, so that the next request must reconnect.
pub(super) fn is_broken_by(error: &ServiceError) -> bool {
    let error = match error {
        ServiceError::TransportClosed => return true,
        ServiceError::TransportSend(error) => error,
        _ => return false,
    };
    // A response of the server, even an error, proves that the connection works.
    !matches!(
        error.error.downcast_ref(),
        Some(
            HttpError::HttpStatus(_)
                | HttpError::AuthRequired(_)
                | HttpError::InsufficientScope(_)
                | HttpError::UnexpectedContentType(_)
                | HttpError::UnexpectedServerResponse(_)
                | HttpError::Deserialize(_)
        )
    )
}

/// Returns the failure for the model. It contains no addresses and files from transport errors.
pub(super) fn failure(error: ServiceError) -> Failure {
    match error {
        ServiceError::McpError(error) if error.message == TOO_LONG => {
            Failure::with_code(Code::ToolOutput, format!("the answer is longer than {MOST} bytes"))
        }
        ServiceError::McpError(error) if error.message == UNREADABLE => {
            Failure::with_code(Code::ToolOutput, UNREADABLE)
        }
        ServiceError::McpError(error) => {
            Failure::new(format!("the server refuses the call: {}", error.message))
        }
        ServiceError::TransportClosed => Failure::new(BROKE).retryable(),
        ServiceError::TransportSend(error) => unsent(&error),
        ServiceError::UnexpectedResponse => Failure::with_code(Code::ToolOutput, NO_RESULT),
        _ => Failure::new("the server cancelled the call"),
    }
}

/// Returns the failure for a request that could not be sent, or whose response is invalid.
fn unsent(error: &DynamicTransportError) -> Failure {
    match error.error.downcast_ref() {
        Some(HttpError::SessionExpired) => {
            Failure::new("the session with the server has expired; the call was refused")
                .retryable()
        }
        Some(HttpError::Client(error)) if error.is_connect() => gone(),
        Some(HttpError::HttpStatus(error)) => {
            let text = format!("the server answers with the status {}", error.status);
            let failure = Failure::new(text);
            let is_retryable = matches!(error.status, 429 | 502 | 503 | 504);
            if is_retryable { failure.retryable() } else { failure }
        }
        Some(HttpError::AuthRequired(_) | HttpError::InsufficientScope(_)) => {
            Failure::new("the server requires an authorization")
        }
        Some(
            HttpError::UnexpectedContentType(_)
            | HttpError::UnexpectedServerResponse(_)
            | HttpError::Deserialize(_),
        ) => Failure::with_code(Code::ToolOutput, NO_RESULT),
        _ => Failure::new(BROKE).retryable(),
    }
}

/// Returns the error for a failed connection.
pub(super) fn unready(error: &ClientInitializeError) -> ConnectError {
    use ClientInitializeError as Error;
    match error {
        Error::TransportError { error, .. } => {
            let needs_login = is_unauthorized(error);
            ConnectError { needs_login, ..ConnectError::new(unanswered(error)) }
        }
        Error::ConnectionClosed(_) => ConnectError::new("it ended before it answered"),
        Error::JsonRpcError(error) => refused("initialize", error),
        Error::ExpectedInitResponse(_) | Error::ExpectedInitResult(_) => {
            ConnectError::unusable("it returned an invalid result of `initialize`")
        }
        Error::ConflictInitResponseId(..) | Error::UncorrelatedErrorResponse { .. } => {
            ConnectError::unusable("it answered a request that was never sent")
        }
        error => ConnectError::new(error),
    }
}

/// Returns the error for a failed list request.
pub(super) fn unlisted(what: &str, error: &ServiceError) -> ConnectError {
    match error {
        ServiceError::McpError(error) => refused(&format!("{what}/list"), error),
        ServiceError::TransportClosed => ConnectError::new("the connection broke"),
        ServiceError::TransportSend(error) => ConnectError::new(unanswered(error)),
        ServiceError::UnexpectedResponse => {
            ConnectError::unusable(format!("it returned an invalid result of `{what}/list`"))
        }
        error => ConnectError::new(error),
    }
}

/// Returns the error for an error response of the server.
fn refused(method: &str, error: &ErrorData) -> ConnectError {
    ConnectError::unusable(match &*error.message {
        TOO_LONG => format!("its answer to `{method}` is longer than {MOST} bytes"),
        UNREADABLE => format!("its answer to `{method}` cannot be read"),
        message => format!("it answers `{method}` with the error {}: {message}", error.code.0),
    })
}

/// Whether the server requires an authorization.
fn is_unauthorized(error: &DynamicTransportError) -> bool {
    match error.error.downcast_ref() {
        Some(HttpError::AuthRequired(_)) => true,
        Some(HttpError::HttpStatus(error)) => error.status == 401,
        _ => false,
    }
}

/// Describes an HTTP request without a valid response.
fn unanswered(error: &DynamicTransportError) -> String {
    const UNAUTHORIZED: &str = "it requires an authorization";
    let Some(error) = error.error.downcast_ref::<HttpError>() else {
        return error.error.to_string();
    };
    match error {
        HttpError::Client(error) => {
            let what =
                if error.is_connect() { "cannot reach the server" } else { "the request failed" };
            format!("{what}: {}", root(error))
        }
        HttpError::HttpStatus(error) if error.status == 401 => {
            format!("the server answers with the status 401: {UNAUTHORIZED}")
        }
        HttpError::HttpStatus(error) => {
            format!("the server answers with the status {}", error.status)
        }
        HttpError::AuthRequired(_) => UNAUTHORIZED.to_owned(),
        HttpError::InsufficientScope(_) => "the authorization does not allow this".to_owned(),
        HttpError::SessionExpired => "the server answers with the status 404".to_owned(),
        HttpError::UnexpectedContentType(Some(kind)) => format!("it answers with `{kind}`"),
        HttpError::UnexpectedContentType(None) => "it answers without a type".to_owned(),
        HttpError::Deserialize(_) | HttpError::UnexpectedServerResponse(_) => {
            "it returned an invalid message".to_owned()
        }
        error => error.to_string(),
    }
}

/// Returns the root cause of an error, such as a refused connection or an unknown host.
fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}
