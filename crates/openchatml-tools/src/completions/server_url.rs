//! The URLs of a completion server.

use super::UpstreamError;
use super::engine::Engine;

/// The URLs of a completion server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerUrl {
    /// The base of all paths, without a slash at the end.
    base: String,
    /// The URL of completions, if the caller gave it. An engine with its own path does not use it.
    completions: Option<String>,
}

impl ServerUrl {
    /// Parses the URL of a server, of its `/v1`, or of its completions.
    ///
    /// # Errors
    ///
    /// The URL does not use HTTP.
    pub(super) fn of(url: &str) -> Result<Self, UpstreamError> {
        let is_http = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
        if !is_http {
            let text = format!("`{}` is not an http:// or https:// address", url.escape_debug());
            return Err(UpstreamError::Connection(text));
        }
        let url = url.trim_end_matches('/');
        reqwest::Url::parse(url).map_err(|error| {
            UpstreamError::Connection(format!("`{}`: {error}", url.escape_debug()))
        })?;
        let completions = url.ends_with("/completions").then(|| url.to_owned());
        let base = url.strip_suffix("/completions").unwrap_or(url);
        let base = base.strip_suffix("/v1").unwrap_or(base).to_owned();
        Ok(Self { base, completions })
    }

    /// Returns the URL of completions.
    pub(super) fn completions(&self, engine: Engine) -> String {
        let path = engine.facts().path;
        let given = self.completions.as_ref().filter(|given| given.ends_with(path));
        given.cloned().unwrap_or_else(|| format!("{}/{path}", self.base))
    }

    /// Returns the URL of the list of models.
    pub(super) fn models(&self) -> String {
        format!("{}/v1/models", self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::{Engine, ServerUrl};

    #[test]
    fn addresses_are_completed() {
        let whole = "http://[::1]:8000/v1/completions";
        for url in ["http://[::1]:8000", "http://[::1]:8000/", "http://[::1]:8000/v1/", whole] {
            let address = ServerUrl::of(url).expect("an address");
            assert_eq!(address.completions(Engine::Vllm), whole);
            assert_eq!(address.models(), "http://[::1]:8000/v1/models");
        }
        let ollama = ServerUrl::of("http://localhost:11434").expect("an address");
        assert_eq!(ollama.completions(Engine::Ollama), "http://localhost:11434/api/generate");
        let ollama = ServerUrl::of("http://localhost:11434/v1/completions").expect("an address");
        assert_eq!(ollama.completions(Engine::Ollama), "http://localhost:11434/api/generate");
        assert!(ServerUrl::of("localhost:8000").is_err());
        assert!(ServerUrl::of("file:///etc/passwd").is_err());
    }
}
