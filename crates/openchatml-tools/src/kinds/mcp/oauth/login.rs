//! Login at a server with a browser: authorization code with PKCE.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{
    AuthorizationManager, AuthorizationMetadata, CredentialStore as _, InMemoryCredentialStore,
    InMemoryStateStore, OAuthClientConfig, StateStore as _,
};

use super::redirect::Redirect;
use super::restricted_client::{AllowedUrls, RestrictedClient, bare, is_local, origin};
use super::tokens::{TokenFolder, TokenRecord};
use super::unauthorized;
use crate::kinds::mcp::ConnectError;
use crate::secrets::{Secrets, of_url};

/// The login of a user at a server with a browser, by OAuth 2 with an authorization code and PKCE.
///
/// The tokens are stored in a folder and renewed when they expire. [`connect_logged_in`] sends them
/// to the server.
///
/// [`connect_logged_in`]: crate::kinds::mcp::connect_logged_in
///
/// ```
/// use openchatml_tools::kinds::mcp::{Login, TokenFolder};
///
/// let mut login = Login::new(TokenFolder::new("tokens"));
/// login.scopes = vec!["files:read".to_owned()];
/// assert_eq!(login.client_id, None);
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Login {
    /// The client id at the authorization server. Without it, the client is registered at each
    /// login.
    pub client_id: Option<String>,
    /// The client secret, if there is one.
    pub client_secret: Option<String>,
    /// The scopes that the client requests. If empty, the scopes that the server requires.
    pub scopes: Vec<String>,
    /// The authorization server. Its endpoints may be at any address. Without an issuer, the server
    /// names the authorization server, and the endpoints must have the origin of that authorization
    /// server. With a client secret, this must also be the origin of the server itself.
    pub issuer: Option<String>,
    /// The folder of the tokens.
    pub tokens: TokenFolder,
}

impl Login {
    /// Creates a login whose tokens are stored in this folder.
    pub fn new(tokens: TokenFolder) -> Self {
        Self { client_id: None, client_secret: None, scopes: Vec::new(), issuer: None, tokens }
    }

    /// Logs in at the server with this URL. `show` receives the URL of the page that the user must
    /// open in a browser on this machine. The token is stored after the login.
    ///
    /// A listener on this machine waits for the browser. It is closed when this function returns or
    /// its future is dropped.
    ///
    /// # Errors
    ///
    /// There is no trusted authorization server, the login was not completed in time, or the token
    /// cannot be stored.
    ///
    /// ```no_run
    /// use openchatml_tools::kinds::mcp::{Login, TokenFolder};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let login = Login::new(TokenFolder::new("tokens"));
    /// let show = |page: &str| eprintln!("open {page}");
    /// login.log_in("https://tools.example/mcp", std::time::Duration::from_secs(300), show).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn log_in(
        &self,
        url: &str,
        timeout: Duration,
        show: impl FnOnce(&str),
    ) -> Result<(), ConnectError> {
        let secrets = Secrets::new(of_url(url)).and(self.client_secret.clone());
        let done = tokio::time::timeout(timeout, self.ask(url, &secrets, show)).await;
        let late = || ConnectError::new("timeout: there was no login");
        done.unwrap_or_else(|_| Err(late())).map_err(|error| error.without(&secrets))
    }

    async fn ask(
        &self,
        url: &str,
        secrets: &Secrets,
        show: impl FnOnce(&str),
    ) -> Result<(), ConnectError> {
        /// The timeout for discovering the authorization server.
        const PATIENCE: Duration = Duration::from_secs(30);

        let server = server(url)?;
        let found = tokio::time::timeout(PATIENCE, self.discover(&server)).await;
        let late = || ConnectError::new("the authorization server did not answer in time");
        let (mut manager, metadata) = found.unwrap_or_else(|_| Err(late()))?;
        let (states, credentials) = <(InMemoryStateStore, InMemoryCredentialStore)>::default();
        manager.set_state_store(states.clone());
        manager.set_credential_store(credentials.clone());
        let redirect = Redirect::listen().await?;
        let scopes = match self.scopes.as_slice() {
            [] => manager.select_initial_scopes(&[]).await,
            scopes => scopes.to_vec(),
        };
        let scopes: Vec<_> = scopes.iter().map(String::as_str).collect();
        let client = self.client(&mut manager, redirect.uri(), &scopes).await?;
        secrets.learn(client.client_secret.clone());
        let page = manager.get_authorization_url(&scopes).await.map_err(unauthorized)?;
        let (state, resource) = asked(&page)?;
        let verifier = states.load(&state).await.map_err(unauthorized)?;
        secrets.learn([state.clone()].into_iter().chain(verifier.map(|it| it.pkce_verifier)));
        show(&page);
        let grant = redirect.grant(&state).await?;
        secrets.learn([grant.code.clone()]);
        let exchanged = manager
            .exchange_code_for_token_with_issuer(&grant.code, &state, grant.issuer.as_deref())
            .await;
        exchanged.map_err(unauthorized)?;
        let credentials = credentials.load().await.map_err(unauthorized)?;
        let credentials =
            credentials.ok_or_else(|| ConnectError::new("the response has no token"))?;
        let client_secret = client.client_secret;
        let issuer = self.issuer.clone();
        let record = TokenRecord { server, resource, issuer, metadata, client_secret, credentials };
        secrets.learn(record.secrets());
        let _lock = self.tokens.lock(&record.server).await.map_err(ConnectError::new)?;
        self.tokens.keep(&record)
    }

    /// Discovers the authorization server of a server, and restricts the allowed URLs.
    async fn discover(
        &self,
        server: &Url,
    ) -> Result<(AuthorizationManager, AuthorizationMetadata), ConnectError> {
        /// The maximum number of requests for the discovery.
        const MOST: usize = 40;

        let base = match &self.issuer {
            Some(issuer) => issuer
                .parse()
                .map(bare)
                .map_err(|_| ConnectError::new("the issuer is not a URL"))?,
            None => server.clone(),
        };
        // A client secret is sent only to an issuer that the user named. Without a secret, the
        // server may name the issuer, because the user sees its address at the login.
        let allowed = match (&self.issuer, &self.client_secret) {
            (None, None) => AllowedUrls::Anybody { left: MOST },
            _ => AllowedUrls::Origins(vec![origin(&base)]),
        };
        let client = Arc::new(RestrictedClient::new(&base, allowed)?);
        let manager = async |base: &Url| {
            let manager =
                AuthorizationManager::new_with_oauth_http_client(base.clone(), client.clone());
            manager.await.map_err(unauthorized)
        };
        let looking = manager(&base).await?;
        let found = looking.resolve_metadata().await.map_err(unauthorized)?;
        if !found.source.is_discovered() {
            return Err(ConnectError::new("no authorization server returned its metadata"));
        }
        let metadata = found.metadata;
        let issuer = metadata.issuer.as_deref().and_then(|it| Url::parse(it).ok());
        let issuer = issuer.ok_or_else(|| {
            ConnectError::new("the metadata of the authorization server have no issuer")
        })?;
        let has_pkce = metadata.code_challenge_methods_supported.is_some();
        if !has_pkce && self.issuer.is_none() {
            // The MCP specification (authorization) requires the client to stop in this case.
            let why = "the authorization server does not announce support for PKCE: if it supports PKCE, set it as `issuer`";
            return Err(ConnectError::new(why));
        }
        let endpoint = |it: &str| client.endpoint(&issuer, it, self.issuer.is_some());
        endpoint(&metadata.authorization_endpoint)?;
        let mut origins = vec![origin(&endpoint(&metadata.token_endpoint)?)];
        if let Some(registration) = &metadata.registration_endpoint {
            origins.push(origin(&endpoint(registration)?));
        }
        if self.issuer.is_none() && self.client_secret.is_some() {
            // The authorization server has the origin of the server, because no other URL was
            // allowed.
            origins.retain(|it| *it == origin(server));
        }
        client.confine(AllowedUrls::Origins(origins));
        // The resource of the token comes from the metadata of the server, not from that of the
        // issuer.
        let mut manager = if self.issuer.is_some() { manager(server).await? } else { looking };
        manager.set_metadata(metadata.clone());
        Ok((manager, metadata))
    }

    /// Returns the configured client, or registers a new one.
    async fn client(
        &self,
        manager: &mut AuthorizationManager,
        redirect: &str,
        scopes: &[&str],
    ) -> Result<OAuthClientConfig, ConnectError> {
        let Some(id) = &self.client_id else {
            let client = manager.register_client("openchatml", redirect, scopes).await;
            return client.map_err(|error| {
                let error = unauthorized(error);
                ConnectError {
                    why: format!(
                        "{}; if you have registered a client there, set its `client_id`",
                        error.why
                    ),
                    ..error
                }
            });
        };
        let mut client = OAuthClientConfig::new(id, redirect);
        client.client_secret = self.client_secret.clone();
        manager.configure_client(client.clone()).map_err(unauthorized)?;
        Ok(client)
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .field("issuer", &self.issuer)
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

/// Returns the URL under which the tokens of a server are stored. A token is sent only with TLS, or
/// to this machine.
pub(super) fn server(url: &str) -> Result<Url, ConnectError> {
    let server = Url::parse(url).map(bare).map_err(|_| ConnectError::new("invalid URL"))?;
    if server.scheme() != "https" && !is_local(&server) {
        let why = format!("the token would be sent to `{}` without TLS", origin(&server));
        return Err(ConnectError::new(why));
    }
    Ok(server)
}

/// Returns the state of an authorization URL, and its resource.
fn asked(page: &str) -> Result<(String, Url), ConnectError> {
    let page = Url::parse(page).map_err(ConnectError::new)?;
    // The parameters of the authorization server itself come first, so the last value is ours.
    let value = |name: &str| {
        let values: Vec<_> = page.query_pairs().filter(|it| it.0 == name).collect();
        values.into_iter().next_back().map(|it| it.1.into_owned())
    };
    let resource = value("resource").and_then(|it| Url::parse(&it).ok());
    let asked = value("state").zip(resource);
    asked.ok_or_else(|| ConnectError::new("the login page has no `state`"))
}
