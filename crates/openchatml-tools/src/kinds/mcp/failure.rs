//! What the model is told of a call that the server did not answer.

use openchatml::Code;
use rmcp::ServiceError;
use rmcp::transport::DynamicTransportError;

use super::bound::{MOST, TOO_LONG};
use super::http::HttpError;
use crate::Failure;

const BROKE: &str = "the connection to the server broke; the call may or may not have been done";
const NO_RESULT: &str = "the server answers with something that is no result";
const GONE: &str = "the server of the tool is gone; the call was not made";

/// There is no connection, and none can be had.
pub(super) fn gone() -> Failure {
    Failure::new(GONE).retryable()
}

/// The server has the tool no longer.
pub(super) fn removed() -> Failure {
    Failure::with_code(Code::CallUnknown, "the server no longer offers this tool")
}

/// Whether the connection is broken after this error, so that the next request needs another one.
pub(super) fn is_broken_by(error: &ServiceError) -> bool {
    let error = match error {
        ServiceError::TransportClosed => return true,
        ServiceError::TransportSend(error) => error,
        _ => return false,
    };
    // What a server says, whatever it is, is said on a connection.
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

/// What the model is told. What the transport says of addresses and files is not for it.
pub(super) fn failure(error: ServiceError) -> Failure {
    match error {
        ServiceError::McpError(error) if error.message == TOO_LONG => {
            Failure::with_code(Code::ToolOutput, format!("the answer is longer than {MOST} bytes"))
        }
        ServiceError::McpError(error) => {
            Failure::new(format!("the server refuses the call: {}", error.message))
        }
        ServiceError::TransportClosed => Failure::new(BROKE).retryable(),
        ServiceError::TransportSend(error) => unsent(&error),
        ServiceError::UnexpectedResponse => Failure::new(NO_RESULT),
        _ => Failure::new("the server gave the call up"),
    }
}

/// What is told of a request that the transport could not send, or of an answer to it that is none.
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
            let may_pass = matches!(error.status, 429 | 502 | 503 | 504);
            if may_pass { failure.retryable() } else { failure }
        }
        Some(HttpError::AuthRequired(_) | HttpError::InsufficientScope(_)) => {
            Failure::new("the server asks for an authorization that it was not given")
        }
        Some(
            HttpError::UnexpectedContentType(_)
            | HttpError::UnexpectedServerResponse(_)
            | HttpError::Deserialize(_),
        ) => Failure::new(NO_RESULT),
        _ => Failure::new(BROKE).retryable(),
    }
}
