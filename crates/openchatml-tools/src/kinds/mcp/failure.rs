//! What the model is told of a call that the server did not answer.

use openchatml::Code;
use rmcp::ServiceError;
use rmcp::transport::DynamicTransportError;

use super::bound::{MOST, TOO_LONG};
use super::http::HttpError;
use crate::Failure;

/// What an error means for the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It is broken, and the next call needs another one.
    Connection,
    /// The call alone went wrong.
    Call,
}

const BROKE: &str = "the connection to the server broke; the call may or may not have been done";
const GONE: &str = "the server of the tool is gone; the call was not made";

/// There is no connection, and none can be had.
pub(super) fn gone() -> Failure {
    Failure::new(GONE).retryable()
}

/// The server has the tool no longer.
pub(super) fn removed() -> Failure {
    Failure::with_code(Code::CallUnknown, "the server no longer offers this tool")
}

/// What the model is told, and what it means for the connection. What the transport says of addresses and
/// files is not for the model.
pub(super) fn failure(error: ServiceError) -> (Failure, Trouble) {
    let failed = |text: &str| (Failure::new(text), Trouble::Call);
    match error {
        ServiceError::McpError(error) if error.message == TOO_LONG => {
            let text = format!("the answer is longer than {MOST} bytes");
            (Failure::with_code(Code::ToolOutput, text), Trouble::Call)
        }
        ServiceError::McpError(error) => {
            failed(&format!("the server refuses the call: {}", error.message))
        }
        ServiceError::TransportClosed => (Failure::new(BROKE).retryable(), Trouble::Connection),
        ServiceError::TransportSend(error) => unsent(&error),
        ServiceError::UnexpectedResponse => {
            failed("the server answers with something that is no result")
        }
        _ => failed("the server gave the call up"),
    }
}

/// What is told of a request that the transport could not send, or of an answer to it that is none.
fn unsent(error: &DynamicTransportError) -> (Failure, Trouble) {
    let Some(error) = error.error.downcast_ref::<HttpError>() else {
        return (Failure::new(BROKE).retryable(), Trouble::Connection);
    };
    let failed = |text: &str| (Failure::new(text), Trouble::Call);
    match error {
        HttpError::SessionExpired => {
            let text = "the session with the server has expired; the call was refused";
            (Failure::new(text).retryable(), Trouble::Connection)
        }
        HttpError::Client(error) if error.is_connect() => (gone(), Trouble::Connection),
        HttpError::HttpStatus(error) => {
            let text = format!("the server answers with the status {}", error.status);
            let failure = Failure::new(text);
            let may_pass = matches!(error.status, 429 | 502 | 503 | 504);
            (if may_pass { failure.retryable() } else { failure }, Trouble::Call)
        }
        HttpError::AuthRequired(_) | HttpError::InsufficientScope(_) => {
            failed("the server asks for an authorization that it was not given")
        }
        HttpError::UnexpectedContentType(_)
        | HttpError::UnexpectedServerResponse(_)
        | HttpError::Deserialize(_) => {
            failed("the server answers with something that is no result")
        }
        _ => (Failure::new(BROKE).retryable(), Trouble::Connection),
    }
}
