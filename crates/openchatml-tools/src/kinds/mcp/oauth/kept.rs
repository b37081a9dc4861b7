//! The stored access token of a logged-in user, and its renewal.

use std::sync::{Arc, Mutex as Now, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore as _, InMemoryCredentialStore,
    OAuthClientConfig,
};
use tokio::sync::Mutex;

use super::guard::{Guarded, Reach, origin};
use super::login::{Login, server};
use super::tokens::Kept;
use super::unauthorized;
use crate::kinds::mcp::http::Authorize;
use crate::kinds::mcp::{NotConnected, Secrets};

/// Has the access token of somebody who logged in at a server.
pub(in crate::kinds::mcp) struct KeptToken {
    server: Url,
    login: Login,
    secrets: Secrets,
    timeout: Duration,
    /// `None` until somebody wants a token.
    kept: Mutex<Option<Kept>>,
    /// The token that the server refused last.
    refused: Now<Option<String>>,
}

impl KeptToken {
    /// The token for the server at this URL. What is secret of it becomes one of `secrets`.
    pub(in crate::kinds::mcp) fn new(
        url: &str,
        login: Login,
        secrets: &Secrets,
        timeout: Duration,
    ) -> Result<Self, NotConnected> {
        let (server, secrets) = (server(url)?, secrets.clone());
        let (kept, refused) = (Mutex::new(None), Now::new(None));
        Ok(Self { server, login, secrets, timeout, kept, refused })
    }

    async fn fetch(&self) -> Result<String, NotConnected> {
        let mut state = self.kept.lock().await;
        if let Some(token) = state.as_ref().and_then(|kept| self.usable(kept)) {
            return Ok(token);
        }
        // Another process may have renewed it.
        let (kept, token) = match self.load()? {
            (kept, Some(token)) => (kept, token),
            (_, None) => self.renew().await?,
        };
        *state = Some(kept);
        Ok(token)
    }

    /// What is kept, and the token if it can be shown.
    fn load(&self) -> Result<(Kept, Option<String>), NotConnected> {
        let kept = self.login.tokens.load(&self.server)?;
        let kept = kept.ok_or_else(|| NotConnected::logged_out("not logged in"))?;
        self.secrets.learn(kept.secrets());
        let url = |issuer: &str| Url::parse(issuer).ok();
        let is_from = |issuer: &String| {
            let known = [kept.issuer.as_deref(), kept.metadata.issuer.as_deref()];
            known.into_iter().flatten().any(|it| url(it).is_some_and(|it| Some(it) == url(issuer)))
        };
        let is_by = |id: &String| *id == kept.credentials.client_id;
        let login = &self.login;
        let is_same = login.issuer.as_ref().is_none_or(is_from);
        if !is_same || !login.client_id.as_ref().is_none_or(is_by) {
            let why = "the login belongs to another client or authorization server";
            return Err(NotConnected::logged_out(why));
        }
        let token = self.usable(&kept);
        Ok((kept, token))
    }

    /// The token, unless it has expired or was refused.
    fn usable(&self, kept: &Kept) -> Option<String> {
        let token = kept.token().filter(|_| kept.is_fresh())?;
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        (refused.as_ref() != Some(&token)).then_some(token)
    }

    /// Renews the token. Of several processes that want to, one does.
    async fn renew(&self) -> Result<(Kept, String), NotConnected> {
        let tokens = &self.login.tokens;
        let _lock = tokens.lock(&self.server).await.map_err(NotConnected::new)?;
        let kept = match self.load()? {
            (kept, Some(token)) => return Ok((kept, token)),
            (kept, None) => kept,
        };
        let client = Guarded::new(&self.server, Reach::Origins(Vec::new()))?;
        // It was believed when somebody logged in.
        let endpoint = client.endpoint(&self.server, &kept.metadata.token_endpoint, true)?;
        client.confine(Reach::Origins(vec![origin(&endpoint)]));
        let resource = kept.resource.clone();
        let manager =
            AuthorizationManager::new_with_oauth_http_client(resource, Arc::new(client)).await;
        let mut manager = manager.map_err(unauthorized)?;
        manager.set_metadata(kept.metadata.clone());
        // Nobody is sent back anywhere.
        let mut config = OAuthClientConfig::new(&kept.credentials.client_id, self.server.as_str());
        config.client_secret = kept.client_secret.clone();
        manager.configure_client(config).map_err(unauthorized)?;
        let store = InMemoryCredentialStore::new();
        store.save(kept.credentials.clone()).await.map_err(unauthorized)?;
        manager.set_credential_store(store.clone());
        if let Err(error) = manager.refresh_token().await {
            return Err(self.unrenewed(error));
        }
        let credentials = store.load().await.map_err(unauthorized)?;
        let kept = Kept { credentials: credentials.unwrap_or(kept.credentials), ..kept };
        self.secrets.learn(kept.secrets());
        tokens.keep(&kept)?;
        let token = kept.token().ok_or_else(|| NotConnected::new("missing access token"))?;
        Ok((kept, token))
    }

    /// Why there is no other token. Whoever calls this has the lock.
    fn unrenewed(&self, error: AuthError) -> NotConnected {
        match error {
            AuthError::AuthorizationRequired => {
                NotConnected::logged_out("the login has expired, or the server refuses it")
            }
            AuthError::TokenRefreshRejected(_) => {
                // Nobody can do anything with it anymore. If it stays, the next one finds that out again.
                let _ = self.login.tokens.discard(&self.server);
                NotConnected::logged_out("the authorization server does not renew the token")
            }
            error => {
                let error = unauthorized(error);
                // It answers, and with an error: it may have forgotten the client.
                let needs_login = error.why.contains("Server returned error response");
                NotConnected { needs_login, ..error }
            }
        }
    }
}

impl Authorize for KeptToken {
    fn token(&self) -> BoxFuture<'_, Result<String, NotConnected>> {
        Box::pin(async move {
            let fetched = tokio::time::timeout(self.timeout, self.fetch()).await;
            fetched.map_err(|_| NotConnected::new("the authorization took too long"))?
        })
    }

    fn refuse(&self, token: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        *refused = Some(token.to_owned());
    }
}
