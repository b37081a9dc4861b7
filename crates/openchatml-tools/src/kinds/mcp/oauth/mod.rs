//! Authorization at a server with OAuth 2: an access token for the client itself ([`OAuth`]: client
//! credentials), or for a user who logged in with a browser ([`Login`]: an authorization code with
//! PKCE).
//!
//! A secret is sent only to the authorization server that the caller names, or to one at the origin
//! of the server. A server cannot redirect a secret to another place: it could name a server that
//! collects secrets or a server in the local network. Without a secret, a login at another place is
//! allowed, because the user sees the address.

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
    let mut text = format!("authorization failed: {error}");
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    NotConnected::new(text)
}
