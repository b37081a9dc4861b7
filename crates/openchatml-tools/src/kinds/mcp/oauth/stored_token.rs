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

use super::login::{Login, server};
use super::restricted_client::{AllowedUrls, RestrictedClient, origin};
use super::tokens::TokenRecord;
use super::unauthorized;
use crate::kinds::mcp::ConnectError;
use crate::kinds::mcp::http::Authorize;
use crate::secrets::Secrets;

/// Provides the stored access token of a user who logged in at a server.
pub(in crate::kinds::mcp) struct StoredToken {
    server: Url,
    login: Login,
    secrets: Secrets,
    timeout: Duration,
    /// `None` before the first request for a token.
    record: Mutex<Option<TokenRecord>>,
    /// The token that the server rejected last.
    refused: Now<Option<String>>,
}

impl StoredToken {
    /// Creates a provider for the server at this URL. Secrets of the token are added to `secrets`.
    pub(in crate::kinds::mcp) fn new(
        url: &str,
        login: Login,
        secrets: &Secrets,
        timeout: Duration,
    ) -> Result<Self, ConnectError> {
        let (server, secrets) = (server(url)?, secrets.clone());
        let (record, refused) = (Mutex::new(None), Now::new(None));
        Ok(Self { server, login, secrets, timeout, record, refused })
    }

    async fn fetch(&self) -> Result<String, ConnectError> {
        let mut state = self.record.lock().await;
        if let Some(token) = state.as_ref().and_then(|record| self.usable(record)) {
            return Ok(token);
        }
        // Another process may have renewed the token.
        let (record, token) = match self.load()? {
            (record, Some(token)) => (record, token),
            (_, None) => self.renew().await?,
        };
        *state = Some(record);
        Ok(token)
    }

    /// Loads the stored record, and its token if it is usable.
    fn load(&self) -> Result<(TokenRecord, Option<String>), ConnectError> {
        let record = self.login.tokens.load(&self.server)?;
        let record = record.ok_or_else(|| ConnectError::logged_out("not logged in"))?;
        self.secrets.learn(record.secrets());
        let url = |issuer: &str| Url::parse(issuer).ok();
        let is_from = |issuer: &String| {
            let known = [record.issuer.as_deref(), record.metadata.issuer.as_deref()];
            known.into_iter().flatten().any(|it| url(it).is_some_and(|it| Some(it) == url(issuer)))
        };
        let is_by = |id: &String| *id == record.credentials.client_id;
        let login = &self.login;
        let is_same = login.issuer.as_ref().is_none_or(is_from);
        if !is_same || !login.client_id.as_ref().is_none_or(is_by) {
            let why = "the login belongs to another client or authorization server";
            return Err(ConnectError::logged_out(why));
        }
        let token = self.usable(&record);
        Ok((record, token))
    }

    /// Returns the token, unless it has expired or was rejected.
    fn usable(&self, record: &TokenRecord) -> Option<String> {
        let token = record.token().filter(|_| record.is_fresh())?;
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        (refused.as_ref() != Some(&token)).then_some(token)
    }

    /// Renews the token. A lock makes sure that only one process does it.
    async fn renew(&self) -> Result<(TokenRecord, String), ConnectError> {
        let tokens = &self.login.tokens;
        let _lock = tokens.lock(&self.server).await.map_err(ConnectError::new)?;
        let record = match self.load()? {
            (record, Some(token)) => return Ok((record, token)),
            (record, None) => record,
        };
        let client = RestrictedClient::new(&self.server, AllowedUrls::Origins(Vec::new()))?;
        // The endpoint was trusted at login, so it may have any origin.
        let endpoint = client.endpoint(&self.server, &record.metadata.token_endpoint, true)?;
        client.confine(AllowedUrls::Origins(vec![origin(&endpoint)]));
        let resource = record.resource.clone();
        let manager =
            AuthorizationManager::new_with_oauth_http_client(resource, Arc::new(client)).await;
        let mut manager = manager.map_err(unauthorized)?;
        manager.set_metadata(record.metadata.clone());
        // A renewal uses no redirect URI.
        let mut config =
            OAuthClientConfig::new(&record.credentials.client_id, self.server.as_str());
        config.client_secret = record.client_secret.clone();
        manager.configure_client(config).map_err(unauthorized)?;
        let store = InMemoryCredentialStore::new();
        store.save(record.credentials.clone()).await.map_err(unauthorized)?;
        manager.set_credential_store(store.clone());
        if let Err(error) = manager.refresh_token().await {
            return Err(self.unrenewed(error));
        }
        let credentials = store.load().await.map_err(unauthorized)?;
        let record =
            TokenRecord { credentials: credentials.unwrap_or(record.credentials), ..record };
        self.secrets.learn(record.secrets());
        tokens.keep(&record)?;
        let token = record.token().ok_or_else(|| ConnectError::new("missing access token"))?;
        Ok((record, token))
    }

    /// Returns the error of a failed renewal. The caller must hold the lock.
    fn unrenewed(&self, error: AuthError) -> ConnectError {
        match error {
            AuthError::AuthorizationRequired => {
                ConnectError::logged_out("the login has expired, or the server refuses it")
            }
            AuthError::TokenRefreshRejected(_) => {
                // The token is useless. If it cannot be removed, the next attempt fails in the same
                // way.
                let _ = self.login.tokens.discard(&self.server);
                ConnectError::logged_out("the authorization server does not renew the token")
            }
            error => {
                let error = unauthorized(error);
                // The authorization server returned an error. It may no longer know the client.
                let needs_login = error.why.contains("Server returned error response");
                ConnectError { needs_login, ..error }
            }
        }
    }
}

impl Authorize for StoredToken {
    fn token(&self) -> BoxFuture<'_, Result<String, ConnectError>> {
        Box::pin(async move {
            let fetched = tokio::time::timeout(self.timeout, self.fetch()).await;
            fetched.map_err(|_| ConnectError::new("the authorization took too long"))?
        })
    }

    fn refuse(&self, token: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        *refused = Some(token.to_owned());
    }
}
