//! Removes secrets and line breaks from errors.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use reqwest::Url;

/// The secrets that are sent to a server or an authorization server, which could repeat them in
/// errors. Clones share the same list.
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
    pub(super) fn learn(&self, secrets: impl IntoIterator<Item = String>) {
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

    /// Returns the secrets of a URL: user, password and query, which is often a key.
    pub(super) fn of_url(url: &str) -> Vec<String> {
        let Ok(url) = Url::parse(url) else { return vec![url.to_owned()] };
        let mut secrets: Vec<String> = url.password().map(str::to_owned).into_iter().collect();
        secrets.extend([url.username().to_owned(), url.query().unwrap_or_default().to_owned()]);
        secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
        secrets
    }

    /// Returns the secrets of a header: its value, and the part after a scheme, as in `Bearer
    /// 1234`.
    pub(super) fn of_header(value: &str) -> Vec<String> {
        let credentials = value.split_once(' ').map(|it| it.1.trim().to_owned());
        credentials.into_iter().chain([value.to_owned()]).collect()
    }

    pub(super) fn and(&self, more: impl IntoIterator<Item = String>) -> Self {
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
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// Encodes a text as in forms and URLs.
fn encoded(text: &str) -> String {
    let url = Url::parse_with_params("http://none/", [("", text)]);
    url.ok()
        .and_then(|url| url.query().map(|it| it.trim_start_matches('=').to_owned()))
        .unwrap_or_default()
}

/// Returns a text on one line, with control characters escaped: `\n`, `\u{1b}`.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if is_invisible(c) {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// Whether a character is a control character, ends a line, or changes the display of other
/// characters.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0001}')
}

#[cfg(test)]
mod tests {
    use super::{Secrets, one_line};

    #[test]
    fn secrets_are_removed_in_every_spelling() {
        let url = "https://me:pass%20word@a.example/mcp?key=KEY1&b=x";
        let secrets = Secrets::new(Secrets::of_url(url)).and(Secrets::of_header("Bearer TOKEN"));
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
    fn errors_are_on_one_line() {
        assert_eq!(one_line("a\r\n\u{1b}[1m\u{202e}é\u{2028}"), r"a\r\n\u{1b}[1m\u{202e}é\u{2028}");
    }
}
