//! The HTTP client that tools share.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

/// Creates a client with TLS from `rustls` and `ring` that trusts the certificates of the system.
///
/// The crypto provider is passed to the client and not installed for the whole process, because
/// that is the decision of the application.
pub(crate) fn builder() -> reqwest::ClientBuilder {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = || {
        ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("ring knows the versions of TLS")
    };
    // Without certificates, no TLS connection is trusted, but requests without TLS still work.
    let config = match config().with_platform_verifier() {
        Ok(config) => config,
        Err(_) => config().with_root_certificates(RootCertStore::empty()),
    };
    reqwest::Client::builder().tls_backend_preconfigured(config.with_no_client_auth())
}
