//! A listener on this machine, to which the browser returns after a login.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::kinds::mcp::ConnectError;

const PATH: &str = "/callback";

/// A listener for the redirect of a browser.
pub(super) struct Redirect {
    listener: TcpListener,
    uri: String,
}

/// The authorization response in the redirect.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AuthorizationResponse {
    pub(super) code: String,
    pub(super) issuer: Option<String>,
}

/// The meaning of a request to the listener.
#[derive(Debug, PartialEq, Eq)]
enum RedirectRequest {
    /// The redirect of the login: the response, or the reason of its failure.
    Ends(Result<AuthorizationResponse, String>),
    /// An unrelated request.
    Unknown,
    /// A redirect with a wrong state, which may be forged.
    Foreign,
}

impl Redirect {
    /// Listens on a free port of this machine.
    pub(super) async fn listen() -> Result<Self, ConnectError> {
        let cannot_listen =
            |error| ConnectError::new(format!("cannot listen for the browser: {error}"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(cannot_listen)?;
        let port = listener.local_addr().map_err(cannot_listen)?.port();
        Ok(Self { listener, uri: format!("http://127.0.0.1:{port}{PATH}") })
    }

    /// Returns the redirect URI.
    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// Waits for the redirect with this state. Other requests are rejected.
    pub(super) async fn grant(self, state: &str) -> Result<AuthorizationResponse, ConnectError> {
        /// The maximum number of concurrent connections: browsers open connections that they do not
        /// use.
        const AT_ONCE: usize = 16;
        /// The timeout of a connection without a request.
        const PATIENCE: Duration = Duration::from_secs(10);

        let state: Arc<str> = state.into();
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < AT_ONCE => {
                    let (stream, _) = accepted.map_err(ConnectError::new)?;
                    connections.spawn(tokio::time::timeout(PATIENCE, serve(stream, state.clone())));
                }
                Some(done) = connections.join_next() => {
                    if let Ok(Ok(Some(ended))) = done {
                        return ended.map_err(ConnectError::new);
                    }
                }
            }
        }
    }
}

/// Reads and answers a request. Returns `None` if it does not end the login.
async fn serve(
    mut stream: TcpStream,
    state: Arc<str>,
) -> Option<Result<AuthorizationResponse, String>> {
    /// The maximum size of the head of a request, in bytes.
    const LONGEST: usize = 1 << 14;

    let mut head = Vec::new();
    while !head.windows(4).any(|it| it == b"\r\n\r\n") {
        if head.len() >= LONGEST || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&head);
    let verdict = judge(head.lines().next().unwrap_or_default(), &state);
    let (status, text) = match &verdict {
        RedirectRequest::Ends(Ok(_)) => {
            ("200 OK", "Go back to the terminal: it says whether you are logged in.")
        }
        RedirectRequest::Ends(Err(_)) => {
            ("200 OK", "You are not logged in. The terminal says why.")
        }
        RedirectRequest::Unknown => ("404 Not Found", "There is nothing here."),
        RedirectRequest::Foreign => {
            ("400 Bad Request", "This is not the login that the terminal waits for.")
        }
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{text}\n",
        text.len() + 1
    );
    // A failed response does not change the result of the login.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    match verdict {
        RedirectRequest::Ends(ended) => Some(ended),
        RedirectRequest::Unknown | RedirectRequest::Foreign => None,
    }
}

/// Interprets the first line of a request.
fn judge(line: &str, state: &str) -> RedirectRequest {
    let mut words = line.split(' ');
    let (Some("GET"), Some(target)) = (words.next(), words.next()) else {
        return RedirectRequest::Unknown;
    };
    let url = target.starts_with('/').then(|| Url::parse(&format!("http://127.0.0.1{target}")));
    let Some(Ok(url)) = url.filter(|it| it.as_ref().is_ok_and(|url| url.path() == PATH)) else {
        return RedirectRequest::Unknown;
    };
    // A duplicate parameter counts as missing.
    let value = |name: &str| {
        let mut values = url.query_pairs().filter(|it| it.0 == name);
        let value = values.next()?.1.into_owned();
        values.next().is_none().then_some(value)
    };
    if value("state").as_deref() != Some(state) {
        return RedirectRequest::Foreign;
    }
    if let Some(error) = value("error") {
        let why = value("error_description").map_or_else(String::new, |it| format!(": {it}"));
        return RedirectRequest::Ends(Err(format!(
            "the authorization server refused: {error}{why}"
        )));
    }
    match value("code") {
        Some(code) => {
            RedirectRequest::Ends(Ok(AuthorizationResponse { code, issuer: value("iss") }))
        }
        None => RedirectRequest::Ends(Err("the authorization server returned no code".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::{AuthorizationResponse, RedirectRequest, judge};

    #[test]
    fn only_the_right_path_and_state_end_a_login() {
        let interpret = |target: &str| judge(&format!("GET {target} HTTP/1.1"), "s1");
        let grant = |code: &str, issuer: Option<&str>| {
            let issuer = issuer.map(str::to_owned);
            RedirectRequest::Ends(Ok(AuthorizationResponse { code: code.to_owned(), issuer }))
        };
        assert_eq!(interpret("/callback?code=a%20b&state=s1"), grant("a b", None));
        assert_eq!(
            interpret("/callback?state=s1&code=c&iss=https%3A%2F%2Fa"),
            grant("c", Some("https://a"))
        );
        for target in ["/", "/callback/?code=c&state=s1", "/x?code=c&state=s1", "http://a/callback"]
        {
            assert_eq!(interpret(target), RedirectRequest::Unknown, "{target}");
        }
        assert_eq!(
            judge("POST /callback?code=c&state=s1 HTTP/1.1", "s1"),
            RedirectRequest::Unknown
        );
        assert_eq!(judge("", "s1"), RedirectRequest::Unknown);
        for target in [
            "/callback",
            "/callback?code=c",
            "/callback?code=c&state=s",
            "/callback?code=c&state=s1&state=s1",
            "/callback?error=access_denied&state=other",
        ] {
            assert_eq!(interpret(target), RedirectRequest::Foreign, "{target}");
        }
        let refused =
            |why: &str| RedirectRequest::Ends(Err(format!("the authorization server {why}")));
        let target = "/callback?error=access_denied&error_description=no&state=s1&code=c";
        assert_eq!(interpret(target), refused("refused: access_denied: no"));
        assert_eq!(interpret("/callback?state=s1"), refused("returned no code"));
    }
}
