//! Login and logout at the servers of a tools file.

use std::path::Path;
use std::time::Duration;

use super::Config;
use super::error::{ConfigError, Location};
use super::sections::{GrantType, Mcp, OAuthSection, Transport, has_authorization};
use super::template::Template;
use crate::kinds::mcp::{Login, OAuth, TokenFolder};
use crate::secrets::Secrets;

/// The authorization for a server.
pub(super) enum Authorization {
    /// None. A header may contain one.
    None,
    /// Client credentials.
    Client(OAuth),
    /// The token of a user who logged in.
    Login(Login),
}

/// Returns the authorization for the server at this URL. Without a setting in the file, a stored
/// token is used.
pub(super) fn authorization(
    url: &str,
    headers: &[(String, String)],
    oauth: Option<&OAuthSection>,
    tokens: Option<&Path>,
) -> Result<Authorization, ConfigError> {
    let folder = tokens.map(TokenFolder::new);
    let Some(oauth) = oauth else {
        let folder = folder.filter(|it| !has_authorization(headers) && it.holds(url));
        return Ok(folder.map_or(Authorization::None, |it| Authorization::Login(Login::new(it))));
    };
    let filled = |template: &Option<Template>| template.as_ref().map(Template::fill).transpose();
    let (client_id, client_secret) = (filled(&oauth.client_id)?, filled(&oauth.client_secret)?);
    let (scopes, issuer) = (oauth.scopes.clone(), oauth.issuer.clone());
    match oauth.grant {
        GrantType::ClientCredentials => {
            let (id, secret) = (client_id.unwrap_or_default(), client_secret.unwrap_or_default());
            let mut client = OAuth::new(id, secret);
            (client.scopes, client.issuer) = (scopes, issuer);
            Ok(Authorization::Client(client))
        }
        GrantType::AuthorizationCode => {
            let folder = folder
                .ok_or_else(|| oauth.location.error("no folder for login tokens is configured"))?;
            let mut login = Login::new(folder);
            (login.client_id, login.client_secret) = (client_id, client_secret);
            (login.scopes, login.issuer) = (scopes, issuer);
            Ok(Authorization::Login(login))
        }
    }
}

impl Config {
    /// Logs in at the server with this name (`tickets` for `[mcp.tickets]`). `show` receives the
    /// URL of the page that the user must open in a browser on this machine. The token is stored in
    /// the folder of [`with_tokens`](Self::with_tokens).
    ///
    /// # Errors
    ///
    /// There is no such server, the server does not support a login, or the login was not completed
    /// in time.
    pub async fn login(
        &self,
        server: &str,
        timeout: Duration,
        show: impl FnOnce(&str),
    ) -> Result<(), ConfigError> {
        let (section, url, login) = self.login_at(server)?;
        let secrets = Secrets::new(section.transport.templates().flat_map(Template::values));
        let done = login.log_in(&url, timeout, show).await;
        done.map_err(|error| section.location.error(secrets.redact(error.to_string())))
    }

    /// Removes the token for the server with this name. Returns whether there was one. The
    /// authorization server is not informed.
    ///
    /// # Errors
    ///
    /// There is no such server, or the file with the token cannot be removed.
    pub async fn logout(&self, server: &str) -> Result<bool, ConfigError> {
        let (section, url, login) = self.login_at(server)?;
        let removed = login.tokens.remove(&url).await;
        removed.map_err(|error| section.location.error(format!("cannot delete the token: {error}")))
    }

    /// Returns the server with this name, its URL and its login.
    fn login_at(&self, server: &str) -> Result<(&Mcp, String, Login), ConfigError> {
        let Some(section) = self.servers.iter().find(|it| it.name == server) else {
            let known: Vec<_> = self.servers.iter().filter(|it| it.takes_logins()).collect();
            let known: Vec<_> =
                known.iter().map(|it| format!("`{}`", it.name.escape_debug())).collect();
            let known = match known.as_slice() {
                [] => "no server has a login".to_owned(),
                known => format!("servers with a login: {}", known.join(", ")),
            };
            let why = format!("unknown server `{}`: {known}", server.escape_debug());
            return Err(Location::start().error(why));
        };
        let (Transport::Http { url, oauth, .. }, true) =
            (&section.transport, section.takes_logins())
        else {
            let why = "this server has no login: it is a program, or uses another authorization";
            return Err(section.location.error(why));
        };
        let url = url.fill()?;
        let folder = self
            .tokens
            .as_deref()
            .ok_or_else(|| section.location.error("no folder for login tokens is configured"))?;
        match authorization(&url, &[], oauth.as_deref(), Some(folder))? {
            Authorization::Login(login) => Ok((section, url, login)),
            Authorization::None | Authorization::Client(_) => {
                Ok((section, url, Login::new(TokenFolder::new(folder))))
            }
        }
    }
}
