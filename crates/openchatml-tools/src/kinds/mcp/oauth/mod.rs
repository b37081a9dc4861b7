//! Authorization at a server with OAuth 2: an access token for the client itself ([`OAuth`]: client
//! credentials), or for a user who logged in with a browser ([`Login`]: an authorization code with
//! PKCE).
//!
//! A secret is sent only to the authorization server that the caller names, or to one at the origin
//! of the server. A server cannot redirect a secret to another place: it could name a server that
//! collects secrets or a server in the local network. Without a secret, a login at another place is
//! allowed, because the user sees the address.

mod client_credentials;
mod login;
mod redirect;
mod restricted_client;
mod stored_token;
mod tokens;

use rmcp::transport::auth::AuthError;

use super::ConnectError;

pub(super) use self::client_credentials::Authorization;
pub use self::client_credentials::OAuth;
pub use self::login::Login;
pub(super) use self::stored_token::StoredToken;
pub use self::tokens::TokenFolder;

/// Returns the error of a failed authorization, with its causes.
fn unauthorized(error: AuthError) -> ConnectError {
    let mut text = format!("authorization failed: {error}");
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    ConnectError::new(text)
}
