//! Errors on one line and without secrets.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use reqwest::Url;

/// The secrets that a server or an authorization server is told, and could repeat. Clones know the same ones.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    /// The longest first.
    known: Arc<RwLock<Vec<String>>>,
}

impl Secrets {
    pub(crate) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let new = Self::default();
        new.learn(secrets);
        new
    }

    /// Adds secrets that came later, such as a token.
    pub(super) fn learn(&self, secrets: impl IntoIterator<Item = String>) {
        /// What is shorter is in many words that are no secret.
        const SHORTEST: usize = 4;

        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for secret in secrets {
            // As a form, and as a string of JSON.
            let encoded = encoded(&secret);
            let json = serde_json::to_string(&secret).unwrap_or_default();
            // Between its quotes.
            let json = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
            known.extend(json.map(str::to_owned));
            known.extend([encoded, secret]);
        }
        known.retain(|it| it.len() >= SHORTEST);
        known.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        known.dedup();
    }

    /// The secrets of a URL: its user and password, and its query, which is often a key.
    pub(super) fn of_url(url: &str) -> Vec<String> {
        let Ok(url) = Url::parse(url) else { return vec![url.to_owned()] };
        let mut secrets: Vec<String> = url.password().map(str::to_owned).into_iter().collect();
        secrets.extend([url.username().to_owned(), url.query().unwrap_or_default().to_owned()]);
        secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
        secrets
    }

    /// The secrets of a header: its value, and what stands behind the name of a scheme, as in `Bearer 1234`.
    pub(super) fn of_header(value: &str) -> Vec<String> {
        let behind = value.split_once(' ').map(|it| it.1.trim().to_owned());
        behind.into_iter().chain([value.to_owned()]).collect()
    }

    pub(super) fn and(&self, more: impl IntoIterator<Item = String>) -> Self {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        Self::new(known.into_iter().chain(more))
    }

    /// A text without the secrets.
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

/// A text as forms and URLs have it.
fn encoded(text: &str) -> String {
    let url = Url::parse_with_params("http://none/", [("", text)]);
    url.ok()
        .and_then(|url| url.query().map(|it| it.trim_start_matches('=').to_owned()))
        .unwrap_or_default()
}

/// A text on one line, in which characters that a terminal obeys are spelled: `\n`, `\u{1b}`.
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

/// Whether a character is a command, ends a line, or changes how the ones beside it are shown.
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
    fn secrets_are_not_told_however_they_are_spelled() {
        let url = "https://me:pass%20word@a.example/mcp?key=KEY1&b=x";
        let secrets = Secrets::new(Secrets::of_url(url)).and(Secrets::of_header("Bearer TOKEN"));
        let secrets = secrets.and(["s3cret/+\"".to_owned()]);
        let said =
            r#"key=KEY1&b=x KEY1 pass%20word TOKEN s3cret/+" s3cret%2F%2B%22 s3cret/+\" me x"#;
        assert_eq!(
            secrets.redact(said.to_owned()),
            "[secret] [secret] [secret] [secret] [secret] [secret] [secret] me x"
        );
        assert_eq!(Secrets::default().redact(said.to_owned()), said);
        let clone = secrets.clone();
        secrets.learn(["LATER".to_owned()]);
        assert_eq!(clone.redact("a LATER".to_owned()), "a [secret]");
    }

    #[test]
    fn errors_are_on_one_line() {
        assert_eq!(one_line("a\r\n\u{1b}[1m\u{202e}é\u{2028}"), r"a\r\n\u{1b}[1m\u{202e}é\u{2028}");
    }
}
