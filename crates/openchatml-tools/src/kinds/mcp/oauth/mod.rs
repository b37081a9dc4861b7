//! Authorization at a server by OAuth 2: an access token for the client itself ([`OAuth`]: client credentials),
//! or for somebody who logged in with a browser ([`Login`]: an authorization code, with PKCE).
//!
//! A secret goes to the authorization server that the caller names, or to one at the server's own origin.
//! What a server says of other places is not followed with a secret in hand: it could name one that collects
//! secrets, or one in our own network. Without a secret, somebody may log in where the server says: they see
//! where that is.

mod client;
mod guard;
mod kept;
mod login;
mod redirect;
mod tokens;

use rmcp::transport::auth::AuthError;

use super::NotConnected;

pub(super) use self::client::Authorization;
pub use self::client::OAuth;
pub(super) use self::kept::KeptToken;
pub use self::login::Login;
pub use self::tokens::TokenFolder;

/// Why there is no authorization, with what is behind it.
fn unauthorized(error: AuthError) -> NotConnected {
    let mut text = format!("no authorization: {error}");
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    NotConnected::new(text)
}
