//! The HTTP client that tools share.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

/// A client whose TLS is `rustls` with `ring`, and which trusts whom the system trusts.
///
/// The provider is handed over and not installed for the whole process, which is the
/// application's to do.
pub(crate) fn builder() -> reqwest::ClientBuilder {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = || {
        ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("ring knows the versions of TLS")
    };
    // A system without certificates trusts nobody. Requests without TLS work there all the same.
    let config = match config().with_platform_verifier() {
        Ok(config) => config,
        Err(_) => config().with_root_certificates(RootCertStore::empty()),
    };
    reqwest::Client::builder().tls_backend_preconfigured(config.with_no_client_auth())
}
