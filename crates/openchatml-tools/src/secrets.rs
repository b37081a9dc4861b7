//! Removes secrets from errors.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use openchatml::{Data, Value};

use crate::Failure;

/// The secrets that a tool or a server gets, and could repeat in errors. Clones share the same list.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    /// The secrets, the longest first.
    known: Arc<RwLock<Vec<String>>>,
}

impl Secrets {
    pub(crate) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let new = Self::default();
        new.learn(secrets);
        new
    }

    /// Adds secrets.
    pub(crate) fn learn(&self, secrets: impl IntoIterator<Item = String>) {
        /// Shorter texts are part of many ordinary words.
        const SHORTEST: usize = 4;

        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for secret in secrets {
            // Also the encoded forms: as in a URL, and as in a JSON string.
            let encoded = encoded(&secret);
            let json = serde_json::to_string(&secret).unwrap_or_default();
            // Without the quotes.
            let json = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
            known.extend(json.map(str::to_owned));
            known.extend([encoded, secret]);
        }
        known.retain(|it| it.len() >= SHORTEST);
        known.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        known.dedup();
    }

    /// Returns the secrets of a header: its value, and the part after a scheme, as in `Bearer
    /// 1234`.
    pub(crate) fn of_header(value: &str) -> Vec<String> {
        let credentials = value.split_once(' ').map(|it| it.1.trim().to_owned());
        credentials.into_iter().chain([value.to_owned()]).collect()
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn and(&self, more: impl IntoIterator<Item = String>) -> Self {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        Self::new(known.into_iter().chain(more))
    }

    /// Replaces the secrets in a text.
    pub(crate) fn redact(&self, text: String) -> String {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().fold(text, |text, secret| match text.contains(secret) {
            true => text.replace(secret, "[secret]"),
            false => text,
        })
    }

    /// Replaces the secrets in a failure.
    pub(crate) fn redacted(&self, mut failure: Failure) -> Failure {
        failure.message = self.redact(failure.message);
        if let Some(details) = &mut failure.details {
            self.redact_value(details);
        }
        failure
    }

    fn redact_value(&self, value: &mut Value<'static>) {
        match &mut value.data {
            Data::String(text) => *text = self.redact(std::mem::take(text).into_owned()).into(),
            Data::List(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Data::Map(fields) => {
                fields.iter_mut().for_each(|(_, value)| self.redact_value(value));
            }
            _ => {}
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// Encodes a text as in forms and URLs.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'*' | b'-' | b'.' | b'_' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Returns the secrets of a URL: user, password and query, which is often a key.
#[cfg(feature = "client")]
pub(crate) fn of_url(url: &str) -> Vec<String> {
    let Ok(url) = reqwest::Url::parse(url) else { return vec![url.to_owned()] };
    let mut secrets: Vec<String> = url.password().map(str::to_owned).into_iter().collect();
    secrets.extend([url.username().to_owned(), url.query().unwrap_or_default().to_owned()]);
    secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    secrets
}

#[cfg(all(test, feature = "client"))]
mod tests {
    use openchatml::{Limits, Value};

    use super::{Secrets, of_url};
    use crate::Failure;

    #[test]
    fn secrets_are_removed_in_every_spelling() {
        let url = "https://me:pass%20word@a.example/mcp?key=KEY1&b=x";
        let secrets = Secrets::new(of_url(url)).and(Secrets::of_header("Bearer TOKEN"));
        let secrets = secrets.and(["s3cret/+\"".to_owned()]);
        let harmless =
            r#"key=KEY1&b=x KEY1 pass%20word TOKEN s3cret/+" s3cret%2F%2B%22 s3cret/+\" me x"#;
        assert_eq!(
            secrets.redact(harmless.to_owned()),
            "[secret] [secret] [secret] [secret] [secret] [secret] [secret] me x"
        );
        assert_eq!(Secrets::default().redact(harmless.to_owned()), harmless);
        let clone = secrets.clone();
        secrets.learn(["LATER".to_owned()]);
        assert_eq!(clone.redact("a LATER".to_owned()), "a [secret]");
    }

    #[test]
    fn failures_contain_no_secrets() {
        let secrets = Secrets::new(["s3cret".to_owned()]);
        let mut failure = Failure::new("not s3cret");
        let details = Value::from_json(r#"{"a":["x s3cret"],"b":1}"#, &Limits::default());
        failure.details = Some(details.unwrap().into_owned());
        let failure = secrets.redacted(failure);
        assert_eq!(failure.message, "not [secret]");
        assert_eq!(failure.details.unwrap().to_json(), r#"{"a":["x [secret]"],"b":1}"#);
    }
}
