//! An HTTP client for authorization requests, with restricted origins and response sizes.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::redirect::Policy;
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
};

use crate::kinds::mcp::ConnectError;

/// An HTTP client that sends requests only to allowed URLs and follows no redirects.
pub(super) struct RestrictedClient {
    client: reqwest::Client,
    allowed: Mutex<AllowedUrls>,
    /// Whether requests to this machine may use plain HTTP, because the URL of the user is on this
    /// machine as well.
    is_local: bool,
}

/// The URLs that requests may use.
pub(super) enum AllowedUrls {
    /// URLs with these origins, in the format of browsers.
    Origins(Vec<String>),
    /// Any URL with TLS, for a limited number of requests: the server names its authorization
    /// server, and no secret is sent yet.
    Anybody { left: usize },
}

impl RestrictedClient {
    /// Creates a client for an authorization at `base`, which the user named.
    pub(super) fn new(base: &Url, allowed: AllowedUrls) -> Result<Self, ConnectError> {
        let client = crate::client::builder().redirect(Policy::none()).build();
        let client = client.map_err(ConnectError::new)?;
        Ok(Self { client, allowed: Mutex::new(allowed), is_local: is_local(base) })
    }

    /// Changes the allowed URLs.
    pub(super) fn confine(&self, allowed: AllowedUrls) {
        *self.allowed() = allowed;
    }

    fn allowed(&self) -> MutexGuard<'_, AllowedUrls> {
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks the URL of an endpoint of the authorization server `issuer`: it must have the same
    /// origin, or the user must have named the issuer.
    pub(super) fn endpoint(
        &self,
        issuer: &Url,
        endpoint: &str,
        is_named: bool,
    ) -> Result<Url, ConnectError> {
        let url = Url::parse(endpoint);
        let url = url.map_err(|_| {
            ConnectError::new("an endpoint of the authorization server has an invalid URL")
        })?;
        if !is_named && origin(&url) != origin(issuer) {
            return Err(ConnectError::new(format!(
                "the secret would be sent to `{}`, which is not the origin of the authorization server: if you trust it, set it as `issuer`",
                origin(&url)
            )));
        }
        self.check_transport(&url).map_err(ConnectError::new)?;
        Ok(url)
    }

    /// Checks that the transport is encrypted, or stays on this machine.
    fn check_transport(&self, url: &Url) -> Result<(), ForbiddenUrl> {
        match url.scheme() {
            "https" => Ok(()),
            "http" if self.is_local && is_local(url) => Ok(()),
            _ => Err(ForbiddenUrl::Transport(origin(url))),
        }
    }

    fn check(&self, url: &Url) -> Result<(), ForbiddenUrl> {
        match &mut *self.allowed() {
            AllowedUrls::Origins(origins) if !origins.contains(&origin(url)) => {
                return Err(ForbiddenUrl::Origin(origin(url)));
            }
            AllowedUrls::Anybody { left: 0 } => return Err(ForbiddenUrl::Often),
            AllowedUrls::Anybody { left } => *left -= 1,
            AllowedUrls::Origins(_) => {}
        }
        self.check_transport(url)
    }
}

/// Returns a URL without user, password, query and fragment.
pub(super) fn bare(mut url: Url) -> Url {
    url.set_query(None);
    url.set_fragment(None);
    // Setting them fails only for URLs that cannot have them.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url
}

/// Returns the origin of a URL: `https://login.example`.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Whether the host of a URL is this machine.
pub(super) fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address = address.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The reason why a URL is not allowed.
#[derive(Debug)]
enum ForbiddenUrl {
    Origin(String),
    Transport(String),
    Often,
}

impl fmt::Display for ForbiddenUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Origin(origin) => write!(
                f,
                "the server requires an authorization from `{origin}`, which is not configured: if you trust it, set it as `issuer`"
            ),
            Self::Transport(origin) => {
                write!(f, "the secret would be sent to `{origin}` without TLS")
            }
            Self::Often => f.write_str("the server names too many URLs for its metadata"),
        }
    }
}

impl std::error::Error for ForbiddenUrl {}

/// Whether a response is a stream of events, which may never end.
fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

impl OAuthHttpClient for RestrictedClient {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        /// The maximum size of a response, in bytes.
        const LONGEST: usize = 1 << 20;

        Box::pin(async move {
            let request = reqwest::Request::try_from(request.request)?;
            self.check(request.url())?;
            let response = self.client.execute(request).await;
            let mut response = response.map_err(reqwest::Error::without_url)?;
            let mut answer = http::Response::new(Vec::new());
            *answer.status_mut() = response.status();
            *answer.headers_mut() = response.headers().clone();
            if is_stream(response.headers()) {
                return Ok(answer);
            }
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

#[cfg(test)]
mod tests {
    use super::{AllowedUrls, RestrictedClient};
    use reqwest::Url;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn only_a_named_issuer_can_have_endpoints_at_other_origins() {
        let issuer = url("https://login.example/a");
        let guarded = RestrictedClient::new(&issuer, AllowedUrls::Origins(Vec::new())).unwrap();
        let is_allowed =
            |endpoint: &str, is_named| guarded.endpoint(&issuer, endpoint, is_named).is_ok();
        assert!(is_allowed("https://login.example/token", false));
        assert!(!is_allowed("https://tokens.example/token", false));
        assert!(is_allowed("https://tokens.example/token", true));
        for endpoint in ["http://tokens.example/", "http://127.0.0.1/token", "ftp://a/", "token"] {
            assert!(!is_allowed(endpoint, true), "{endpoint}");
        }
    }

    #[test]
    fn requests_without_tls_stay_on_this_machine() {
        let check = |base: &str, asked: &str| {
            let guarded =
                RestrictedClient::new(&url(base), AllowedUrls::Anybody { left: 2 }).unwrap();
            guarded.check(&url(asked)).is_ok()
        };
        assert!(check("http://127.0.0.1:1/mcp", "http://[::1]:2/token"));
        assert!(check("http://127.0.0.1:1/mcp", "https://login.example/"));
        assert!(!check("http://127.0.0.1:1/mcp", "http://login.example/"));
        assert!(!check("https://mcp.example/", "http://localhost/"));
        assert!(!check("https://mcp.example/", "http://169.254.169.254/latest"));
    }

    #[test]
    fn discovery_ends() {
        let base = url("https://mcp.example/");
        let guarded = RestrictedClient::new(&base, AllowedUrls::Anybody { left: 1 }).unwrap();
        assert!(guarded.check(&base).is_ok());
        assert!(guarded.check(&base).is_err());
        guarded.confine(AllowedUrls::Origins(vec!["https://mcp.example".to_owned()]));
        assert!(guarded.check(&base).is_ok());
        assert!(guarded.check(&url("https://other.example/")).is_err());
    }
}
