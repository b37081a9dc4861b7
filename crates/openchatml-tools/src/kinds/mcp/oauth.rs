//! Authorization at a server by OAuth 2: an access token for the client itself (client credentials).
//!
//! The secret goes to the authorization server that the caller names, or to one at the server's own origin.
//! What a server says of other places is not followed: it could name one that collects secrets, or one in
//! our own network.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::Url;
use reqwest::redirect::Policy;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, ClientCredentialsConfig, OAuthHttpClient,
    OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest, OAuthTokenResponse,
};
use tokio::sync::Mutex;

use super::NotConnected;
use super::http::Authorize;

/// How a client proves to a server who it is, by OAuth 2 with client credentials.
///
/// The access token is kept in memory, and fetched again when it has expired or the server refuses it.
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
    /// The id that the authorization server knows the client by.
    pub client_id: String,
    /// The secret that goes with it.
    pub client_secret: String,
    /// What the client asks to be allowed.
    pub scopes: Vec<String>,
    /// The authorization server. Without it, it must be at the origin of the server itself.
    pub issuer: Option<String>,
}

impl OAuth {
    /// A client of this id and with this secret.
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

/// Has an access token for a server.
pub(super) struct Authorization {
    credentials: ClientCredentialsConfig,
    /// Where the authorization server is looked for.
    base: Url,
    client: Arc<Guarded>,
    /// `None` until somebody wants a token.
    manager: Mutex<Option<AuthorizationManager>>,
    /// Whether the server refused the token.
    is_refused: AtomicBool,
    timeout: Duration,
}

impl Authorization {
    pub(super) fn new(url: &str, oauth: OAuth, timeout: Duration) -> Result<Self, NotConnected> {
        let base = oauth.issuer.as_deref().unwrap_or(url);
        // Not quoted: it may hold a secret.
        let parsed = Url::parse(base).map_err(|error| NotConnected::new(format!("a URL: {error}")));
        let base = bare(parsed?);
        let resource =
            Url::parse(url).map(bare).map_err(|_| NotConnected::new("the URL is none"))?;
        let client = crate::client::builder().redirect(Policy::none()).build();
        let client = client.map_err(NotConnected::new)?;
        let allowed = origin(&base);
        let credentials = ClientCredentialsConfig::ClientSecret {
            client_id: oauth.client_id,
            client_secret: oauth.client_secret,
            scopes: oauth.scopes,
            resource: Some(resource.into()),
        };
        Ok(Self {
            credentials,
            base,
            client: Arc::new(Guarded { client, allowed }),
            manager: Mutex::new(None),
            is_refused: AtomicBool::new(false),
            timeout,
        })
    }

    async fn fetch(&self) -> Result<String, NotConnected> {
        let mut manager = self.manager.lock().await;
        let is_refused = self.is_refused.swap(false, Ordering::SeqCst);
        if let Some(manager) = manager.as_ref() {
            let kept = manager.get_access_token().await;
            if let (Ok(token), false) = (kept, is_refused) {
                return Ok(token);
            }
            return self.exchange(manager).await;
        }
        let found = self.discover().await?;
        let token = self.exchange(&found).await?;
        *manager = Some(found);
        Ok(token)
    }

    /// Finds the authorization server, and what it can do.
    async fn discover(&self) -> Result<AuthorizationManager, NotConnected> {
        let client = self.client.clone();
        let manager =
            AuthorizationManager::new_with_oauth_http_client(self.base.clone(), client).await;
        let mut manager = manager.map_err(unauthorized)?;
        let found = manager.resolve_metadata().await.map_err(unauthorized)?;
        if !found.source.is_discovered() {
            return Err(NotConnected::new("no authorization server says what it can do"));
        }
        let endpoint = Url::parse(&found.metadata.token_endpoint);
        let endpoint = endpoint.map_err(|_| NotConnected::new("tokens are at no URL"))?;
        if origin(&endpoint) != self.client.allowed {
            return Err(NotConnected::new(format!(
                "the secret would go to `{}`, which is not the origin of the authorization server",
                origin(&endpoint)
            )));
        }
        self.client.check(&endpoint).map_err(NotConnected::new)?;
        manager.set_metadata(found.metadata);
        manager.validate_client_credentials_metadata(&self.credentials).map_err(unauthorized)?;
        manager.configure_client_credentials(&self.credentials).map_err(unauthorized)?;
        Ok(manager)
    }

    async fn exchange(&self, manager: &AuthorizationManager) -> Result<String, NotConnected> {
        let response = manager.exchange_client_credentials(&self.credentials).await;
        let response = response.map_err(unauthorized)?;
        access_token(&response).ok_or_else(|| NotConnected::new("there is no access token"))
    }
}

impl Authorize for Authorization {
    fn token(&self) -> BoxFuture<'_, Result<String, NotConnected>> {
        Box::pin(async move {
            let fetched = tokio::time::timeout(self.timeout, self.fetch()).await;
            fetched.map_err(|_| NotConnected::new("the authorization took too long"))?
        })
    }

    fn refuse(&self) {
        self.is_refused.store(true, Ordering::SeqCst);
    }
}

fn access_token(response: &OAuthTokenResponse) -> Option<String> {
    let response = serde_json::to_value(response).ok()?;
    response.get("access_token")?.as_str().map(str::to_owned)
}

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

/// A client of HTTP that asks one origin only, and follows no redirects.
struct Guarded {
    client: reqwest::Client,
    /// This origin, as browsers write it.
    allowed: String,
}

impl Guarded {
    fn check(&self, url: &Url) -> Result<(), Forbidden> {
        let origin = origin(url);
        if self.allowed != origin {
            return Err(Forbidden::Origin(origin));
        }
        match url.scheme() {
            "https" => Ok(()),
            "http" if url.host_str().is_some_and(is_loopback) => Ok(()),
            _ => Err(Forbidden::Scheme(origin)),
        }
    }
}

/// A URL without what may be a secret in it, and without what no resource has.
fn bare(mut url: Url) -> Url {
    url.set_query(None);
    url.set_fragment(None);
    // Those that cannot have them have none.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url
}

/// The scheme, host and port of a URL: `https://login.example`.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address = address.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Why an authorization server is not asked.
#[derive(Debug)]
enum Forbidden {
    Origin(String),
    Scheme(String),
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Origin(origin) => write!(
                f,
                "the server wants an authorization of `{origin}`, which was not named: if you trust it, name it as the `issuer`"
            ),
            Self::Scheme(origin) => write!(f, "`{origin}` would be told the secret without TLS"),
        }
    }
}

impl std::error::Error for Forbidden {}

impl OAuthHttpClient for Guarded {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        /// The longest answer that is read.
        const LONGEST: usize = 1 << 20;

        Box::pin(async move {
            let request = reqwest::Request::try_from(request.request)?;
            self.check(request.url())?;
            let response = self.client.execute(request).await;
            let mut response = response.map_err(reqwest::Error::without_url)?;
            let mut answer = http::Response::new(Vec::new());
            *answer.status_mut() = response.status();
            *answer.headers_mut() = response.headers().clone();
            while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
                if answer.body().len() + chunk.len() > LONGEST {
                    return Err(OAuthHttpClientError::from("the answer is too long"));
                }
                answer.body_mut().extend_from_slice(&chunk);
            }
            Ok(answer)
        })
    }
}
