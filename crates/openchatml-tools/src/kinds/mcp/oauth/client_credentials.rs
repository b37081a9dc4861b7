//! An access token for the client itself: client credentials.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::Url;
use rmcp::transport::auth::{AuthorizationManager, ClientCredentialsConfig, OAuthTokenResponse};
use tokio::sync::Mutex;

use super::restricted_client::{AllowedUrls, RestrictedClient, bare, origin};
use super::unauthorized;
use crate::kinds::mcp::ConnectError;
use crate::kinds::mcp::http::Authorize;
use crate::secrets::Secrets;

/// The authorization of a client by OAuth 2 with client credentials.
///
/// The access token is kept in memory. It is fetched again after it expires or the server rejects
/// it.
///
/// ```
/// use openchatml_tools::kinds::mcp::OAuth;
///
/// let mut oauth = OAuth::new("my-client", "s3cret");
/// oauth.scopes = vec!["files:read".to_owned()];
/// oauth.issuer = Some("https://login.example".to_owned());
/// assert!(!format!("{oauth:?}").contains("s3cret"));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OAuth {
    /// The client id at the authorization server.
    pub client_id: String,
    /// The client secret.
    pub client_secret: String,
    /// The scopes that the client requests.
    pub scopes: Vec<String>,
    /// The authorization server. Its token endpoint may be at any address. Without an issuer, the
    /// authorization server and its token endpoint must have the origin of the server itself.
    pub issuer: Option<String>,
}

impl OAuth {
    /// Creates a client with this id and this secret.
    pub fn new(client_id: impl Into<String>, client_secret: impl Into<String>) -> Self {
        let (client_id, client_secret) = (client_id.into(), client_secret.into());
        Self { client_id, client_secret, scopes: Vec::new(), issuer: None }
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

/// Provides an access token for a server.
pub(in crate::kinds::mcp) struct Authorization {
    credentials: ClientCredentialsConfig,
    /// The URL at which the discovery of the authorization server starts.
    base: Url,
    /// Whether the user configured it.
    is_named: bool,
    client: Arc<RestrictedClient>,
    /// `None` before the first request for a token.
    manager: Mutex<Option<AuthorizationManager>>,
    /// Whether the server rejected the token.
    is_refused: AtomicBool,
    timeout: Duration,
    /// The secrets, which receive all tokens, so that errors do not contain them.
    secrets: Secrets,
}

impl Authorization {
    pub(in crate::kinds::mcp) fn new(
        url: &str,
        oauth: OAuth,
        secrets: &Secrets,
        timeout: Duration,
    ) -> Result<Self, ConnectError> {
        let base = oauth.issuer.as_deref().unwrap_or(url);
        // The message does not quote the URL, because it may contain a secret.
        let parsed = Url::parse(base).map_err(|error| ConnectError::new(format!("a URL: {error}")));
        let base = bare(parsed?);
        let resource = Url::parse(url).map(bare).map_err(|_| ConnectError::new("invalid URL"))?;
        let client = RestrictedClient::new(&base, AllowedUrls::Origins(vec![origin(&base)]))?;
        let credentials = ClientCredentialsConfig::ClientSecret {
            client_id: oauth.client_id,
            client_secret: oauth.client_secret,
            scopes: oauth.scopes,
            resource: Some(resource.into()),
        };
        Ok(Self {
            credentials,
            base,
            is_named: oauth.issuer.is_some(),
            client: Arc::new(client),
            manager: Mutex::new(None),
            is_refused: AtomicBool::new(false),
            timeout,
            secrets: secrets.clone(),
        })
    }

    async fn fetch(&self) -> Result<String, ConnectError> {
        let mut manager = self.manager.lock().await;
        let is_refused = self.is_refused.swap(false, Ordering::SeqCst);
        if let Some(manager) = manager.as_ref() {
            let record = manager.get_access_token().await;
            if let (Ok(token), false) = (record, is_refused) {
                return Ok(token);
            }
            return self.exchange(manager).await;
        }
        let found = self.discover().await?;
        let token = self.exchange(&found).await?;
        *manager = Some(found);
        Ok(token)
    }

    /// Discovers the authorization server and its metadata.
    async fn discover(&self) -> Result<AuthorizationManager, ConnectError> {
        let client = self.client.clone();
        let manager =
            AuthorizationManager::new_with_oauth_http_client(self.base.clone(), client).await;
        let mut manager = manager.map_err(unauthorized)?;
        let found = manager.resolve_metadata().await.map_err(unauthorized)?;
        if !found.source.is_discovered() {
            return Err(ConnectError::new("no authorization server returned its metadata"));
        }
        let endpoint = &found.metadata.token_endpoint;
        let endpoint = self.client.endpoint(&self.base, endpoint, self.is_named)?;
        self.client.confine(AllowedUrls::Origins(vec![origin(&self.base), origin(&endpoint)]));
        manager.set_metadata(found.metadata);
        manager.validate_client_credentials_metadata(&self.credentials).map_err(unauthorized)?;
        manager.configure_client_credentials(&self.credentials).map_err(unauthorized)?;
        Ok(manager)
    }

    async fn exchange(&self, manager: &AuthorizationManager) -> Result<String, ConnectError> {
        let response = manager.exchange_client_credentials(&self.credentials).await;
        let response = response.map_err(unauthorized)?;
        let token = access_token(&response);
        self.secrets.learn(token.clone());
        token.ok_or_else(|| ConnectError::new("missing access token"))
    }
}

impl Authorize for Authorization {
    fn token(&self) -> BoxFuture<'_, Result<String, ConnectError>> {
        Box::pin(async move {
            let fetched = tokio::time::timeout(self.timeout, self.fetch()).await;
            fetched.map_err(|_| ConnectError::new("the authorization took too long"))?
        })
    }

    fn refuse(&self, _: &str) {
        self.is_refused.store(true, Ordering::SeqCst);
    }
}

fn access_token(response: &OAuthTokenResponse) -> Option<String> {
    let response = serde_json::to_value(response).ok()?;
    response.get("access_token")?.as_str().map(str::to_owned)
}
