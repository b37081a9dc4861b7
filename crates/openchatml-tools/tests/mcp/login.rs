//! Logging in with a browser: which servers receive the code and the tokens, and how the tokens are
//! stored.

#![cfg(all(unix, feature = "oauth"))]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use openchatml_tools::kinds::mcp::{self, ConnectError, Login, ServerOptions, TokenFolder};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::server::{self, Answer, Asked, Server};
use super::support::{answer, json_answer, router, serve_echo};

/// The state of the two servers of a test.
#[derive(Default)]
struct State {
    /// The number of issued tokens: `access1`, `access2`, …
    given: usize,
    /// The lifetime of the next tokens.
    seconds: u64,
    /// The access token that the server accepts. Empty: it accepts any.
    accepted: String,
    /// The refresh token that the authorization server accepts.
    refresh: String,
    /// The error that the token endpoint returns instead of a token.
    error: Option<Value>,
    /// The differences from valid metadata.
    metadata: Value,
}

type Shared = Arc<Mutex<State>>;

fn nothing() -> Answer {
    server::answer("404 Not Found", "text/plain", "")
}

fn form(text: &str) -> HashMap<String, String> {
    let url = format!("http://none/?{text}");
    let url: reqwest::Url = url.parse().unwrap();
    url.query_pairs().into_owned().collect()
}

/// An authorization server.
fn authorize(asked: &Asked, state: &Shared) -> Answer {
    let mut state = state.lock().unwrap();
    let own = format!("http://{}", asked.header("host").unwrap());
    match asked.target() {
        "/.well-known/oauth-authorization-server" => {
            let mut body = json!({"issuer": own, "authorization_endpoint": format!("{own}/authorize"),
                "token_endpoint": format!("{own}/token"),
                "registration_endpoint": format!("{own}/register"),
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]});
            for (key, value) in state.metadata.as_object().into_iter().flatten() {
                body[key] = value.clone();
            }
            json_answer("200 OK", &body)
        }
        "/register" => {
            let mut body: Value = serde_json::from_str(&asked.body).unwrap();
            body["client_id"] = json!("registered");
            json_answer("201 Created", &body)
        }
        "/token" => {
            let form = form(&asked.body);
            if let Some(error) = &state.error {
                return json_answer("400 Bad Request", error);
            }
            let is_good = match form["grant_type"].as_str() {
                "authorization_code" => {
                    form["code"] == "code1" && form.contains_key("code_verifier")
                }
                "refresh_token" => form["refresh_token"] == state.refresh,
                _ => false,
            };
            if !is_good {
                return json_answer("400 Bad Request", &json!({"error": "invalid_grant"}));
            }
            state.given += 1;
            state.refresh = format!("refresh{}", state.given);
            let token = format!("access{}", state.given);
            json_answer(
                "200 OK",
                &json!({"access_token": token, "token_type": "Bearer",
                "expires_in": state.seconds, "refresh_token": state.refresh}),
            )
        }
        _ => nothing(),
    }
}

/// A server with its authorization server at this origin.
fn serve(asked: &Asked, state: &Shared, issuer: &str) -> Answer {
    let accepted = state.lock().unwrap().accepted.clone();
    let own = format!("http://{}", asked.header("host").unwrap());
    if asked.target() == "/.well-known/oauth-protected-resource/mcp" {
        let body = json!({"resource": format!("{own}/mcp"), "authorization_servers": [issuer],
            "scopes_supported": ["read"]});
        return json_answer("200 OK", &body);
    }
    let shown = asked.header("authorization").unwrap_or_default();
    if !shown.starts_with(&format!("Bearer {accepted}")) {
        return server::answer("401 Unauthorized", "text/plain", "");
    }
    serve_echo(asked)
}

/// A server, its authorization server, and a folder for tokens.
struct Place {
    state: Shared,
    login: Server,
    http: Server,
    folder: tempfile::TempDir,
}

impl Place {
    async fn new() -> Self {
        let state = Shared::default();
        state.lock().unwrap().seconds = 3600;
        let shared = state.clone();
        let login = Server::new(move |asked| authorize(asked, &shared)).await;
        let (shared, issuer) = (state.clone(), login.url(""));
        let http = Server::new(move |asked| serve(asked, &shared, &issuer)).await;
        Self { state, login, http, folder: tempfile::tempdir().unwrap() }
    }

    fn tokens(&self) -> PathBuf {
        self.folder.path().join("state/tokens")
    }

    fn how(&self) -> Login {
        Login::new(TokenFolder::new(self.tokens()))
    }

    fn set(&self, set: impl FnOnce(&mut State)) {
        set(&mut self.state.lock().unwrap());
    }

    /// Logs in with a browser that returns with these queries in turn. `STATE` stands for the
    /// state.
    async fn log_in(&self, login: &Login, queries: &[&str]) -> Result<(), ConnectError> {
        let queries: Vec<String> = queries.iter().map(|&it| it.to_owned()).collect();
        let show = |page: &str| {
            let asked = form(page.split_once('?').unwrap().1);
            tokio::spawn(async move {
                for query in queries {
                    let query = query.replace("STATE", &asked["state"]);
                    visit(&format!("{}?{query}", asked["redirect_uri"])).await;
                }
            });
        };
        login.log_in(&self.http.url("/mcp"), Duration::from_secs(60), show).await
    }

    async fn logged_in() -> Self {
        let place = Self::new().await;
        place.log_in(&place.how(), &["code=code1&state=STATE"]).await.unwrap();
        place
    }

    async fn connect(&self, login: Login) -> Result<mcp::Server, ConnectError> {
        let options = ServerOptions::default();
        mcp::connect_logged_in(&self.http.url("/mcp"), [], login, &options).await
    }

    /// The file with the token.
    fn file(&self) -> PathBuf {
        let files = std::fs::read_dir(self.tokens()).unwrap().map(|it| it.unwrap().path());
        let mut files = files.filter(|it| it.extension().is_some_and(|it| it == "json"));
        let file = files.next().unwrap();
        assert_eq!(files.next(), None);
        file
    }

    /// The requests to the token endpoint.
    fn grants(&self) -> Vec<HashMap<String, String>> {
        let asked = self.login.asked().into_iter();
        asked.filter(|it| it.target() == "/token").map(|it| form(&it.body)).collect()
    }
}

/// Opens a page and returns the status.
async fn visit(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    stream
        .write_all(format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_login_stores_the_token_and_uses_it() {
    let place = Place::new().await;
    place.set(|state| state.accepted = "access1".to_owned());
    let error = place.connect(place.how()).await.unwrap_err();
    assert_eq!((error.why.as_str(), error.needs_login), ("not logged in", true));
    let queries = Mutex::new(None);
    let show = |page: &str| {
        let asked = form(page.split_once('?').unwrap().1);
        let back = format!("{}?code=code1&state={}", asked["redirect_uri"], asked["state"]);
        *queries.lock().unwrap() = Some(asked);
        tokio::spawn(async move { assert_eq!(visit(&back).await, "200") });
    };
    let url = place.http.url("/mcp");
    place.how().log_in(&format!("{url}?key=K3Y"), Duration::from_secs(60), show).await.unwrap();
    let asked = queries.into_inner().unwrap().unwrap();
    for (key, value) in [
        ("response_type", "code"),
        ("code_challenge_method", "S256"),
        ("client_id", "registered"),
        ("resource", &url),
        ("scope", "read"),
    ] {
        assert_eq!(asked[key], value, "{key}");
    }
    assert!(asked["redirect_uri"].starts_with("http://127.0.0.1:"));
    let all = place.login.asked();
    let registered = all.iter().find(|it| it.target() == "/register").unwrap();
    let registered: Value = serde_json::from_str(&registered.body).unwrap();
    assert_eq!(registered["redirect_uris"], json!([asked["redirect_uri"]]));
    assert_eq!(registered["token_endpoint_auth_method"], "none");
    let exchanged = form(&all.iter().find(|it| it.target() == "/token").unwrap().body);
    assert_eq!(exchanged["resource"], url);
    assert_eq!(exchanged["redirect_uri"], asked["redirect_uri"]);
    // Only its owner can read it.
    assert_eq!((mode(&place.tokens()), mode(&place.file())), (0o700, 0o600));
    let server = place.connect(place.how()).await.unwrap();
    assert!(answer(&router(&[&server]), "functions.echo", "{}").await.is_ok());
    assert!(place.login.asked().is_empty(), "the token is good");
    // Logging out removes the token.
    let tokens = TokenFolder::new(place.tokens());
    assert!(tokens.holds(&url) && tokens.remove(&url).await.unwrap());
    assert!(!tokens.holds(&url) && !tokens.remove(&url).await.unwrap());
    assert!(place.connect(place.how()).await.unwrap_err().needs_login);
}

#[tokio::test]
async fn the_listener_waits_for_the_right_state() {
    let place = Place::new().await;
    let queries =
        ["code=evil&state=wrong", "code=evil", "error=access_denied", "code=code1&state=STATE"];
    place.log_in(&place.how(), &queries).await.unwrap();
    assert_eq!(place.grants()[0]["code"], "code1");
}

#[tokio::test]
async fn a_denied_login_stores_no_token() {
    let place = Place::new().await;
    let denied = ["error=access_denied&error_description=No%0A%1B%5B2J&state=STATE"];
    let error = place.log_in(&place.how(), &denied).await.unwrap_err();
    assert_eq!(error.why, r"the authorization server refused: access_denied: No\n\u{1b}[2J");
    let error = place.log_in(&place.how(), &["code=wrong&state=STATE"]).await.unwrap_err();
    assert!(error.why.contains("invalid_grant"), "{error}");
    // The code comes from another issuer.
    let foreign = ["code=code1&state=STATE&iss=https%3A%2F%2Fother.example"];
    let error = place.log_in(&place.how(), &foreign).await.unwrap_err();
    assert!(error.why.contains("https://other.example"), "{error}");
    assert_eq!(place.grants().len(), 1);
    let url = place.http.url("/mcp");
    let late = place.how().log_in(&url, Duration::from_millis(20), |_| {}).await.unwrap_err();
    assert_eq!(late.why, "timeout: there was no login");
    assert!(!TokenFolder::new(place.tokens()).holds(&url));
}

#[tokio::test]
async fn an_expired_token_is_renewed_and_stored() {
    let place = Place::new().await;
    place.set(|state| state.seconds = 0);
    place.log_in(&place.how(), &["code=code1&state=STATE"]).await.unwrap();
    place.set(|state| (state.seconds, state.accepted) = (3600, "access2".to_owned()));
    place.grants();
    // Of two concurrent renewals only one makes a request.
    let (one, other) = tokio::join!(place.connect(place.how()), place.connect(place.how()));
    assert!(one.is_ok() && other.is_ok());
    let grants = place.grants();
    assert_eq!(grants.len(), 1, "{grants:?}");
    for (key, value) in [
        ("grant_type", "refresh_token"),
        ("refresh_token", "refresh1"),
        ("client_id", "registered"),
        ("resource", &place.http.url("/mcp")),
    ] {
        assert_eq!(grants[0][key], value, "{key}");
    }
    let kept = std::fs::read_to_string(place.file()).unwrap();
    assert!(kept.contains("refresh2") && !kept.contains("refresh1"), "{kept}");
    assert_eq!(mode(&place.file()), 0o600);
}

#[tokio::test]
async fn a_rejected_token_is_renewed() {
    let place = Place::logged_in().await;
    place.set(|state| state.accepted = "access2".to_owned());
    let server = place.connect(place.how()).await.unwrap();
    // The refused call is not repeated; the next one has a new token.
    place.set(|state| state.accepted = "access3".to_owned());
    let router = router(&[&server]);
    assert!(answer(&router, "functions.echo", "{}").await.is_err());
    assert!(answer(&router, "functions.echo", "{}").await.is_ok());
    // The server accepts no token.
    place.set(|state| state.accepted = "none".to_owned());
    let error = place.connect(place.how()).await.unwrap_err();
    assert!(error.needs_login && error.why.contains("401"), "{error}");
}

#[tokio::test]
async fn a_login_that_cannot_be_renewed_is_removed() {
    let place = Place::logged_in().await;
    place.set(|state| (state.accepted, state.refresh) = ("access2".to_owned(), "other".to_owned()));
    let error = place.connect(place.how()).await.unwrap_err();
    assert!(error.needs_login, "{error}");
    assert_eq!(error.why, "the authorization server does not renew the token");
    let error = place.connect(place.how()).await.unwrap_err();
    assert_eq!((error.why.as_str(), error.needs_login), ("not logged in", true));
}

#[tokio::test]
async fn a_token_is_for_one_server() {
    let place = Place::logged_in().await;
    let options = ServerOptions::default();
    let other = Place::new().await;
    for url in [other.http.url("/mcp"), place.http.url("/other"), place.http.url("/")] {
        let error = mcp::connect_logged_in(&url, [], place.how(), &options).await.unwrap_err();
        assert_eq!((error.why.as_str(), error.needs_login), ("not logged in", true));
    }
    assert!(other.http.asked().is_empty());
    // A file with the token of another server, or without a token, is refused.
    let kept = std::fs::read_to_string(place.file()).unwrap();
    let moved = kept.replacen(&place.http.url("/mcp"), &other.http.url("/mcp"), 1);
    for (text, why) in
        [(moved.as_str(), "the token of another server"), ("{}", "contains no token")]
    {
        std::fs::write(place.file(), text).unwrap();
        let error = place.connect(place.how()).await.unwrap_err();
        assert!(error.needs_login && error.why.contains(why), "{error}");
    }
    std::fs::write(place.file(), kept).unwrap();
    // A folder or a file that other users can write to is refused.
    let set_mode = |path: PathBuf, mode| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for (path, open, closed) in [(place.tokens(), 0o770, 0o700), (place.file(), 0o666, 0o600)] {
        set_mode(path.clone(), open);
        let error = place.connect(place.how()).await.unwrap_err();
        assert!(error.why.contains("other users can write to"), "{error}");
        set_mode(path, closed);
    }
    let mut by_another = place.how();
    by_another.client_id = Some("another".to_owned());
    assert!(place.connect(by_another).await.unwrap_err().needs_login);
    let mut by_another = place.how();
    by_another.issuer = Some("https://other.example".to_owned());
    assert!(place.connect(by_another).await.unwrap_err().needs_login);
    assert!(place.connect(place.how()).await.is_ok());
    let mut named = place.how();
    named.issuer = Some(place.login.url("/"));
    assert!(place.connect(named).await.is_ok());
    let open = "http://tools.example/mcp";
    let error = mcp::connect_logged_in(open, [], place.how(), &options).await.unwrap_err();
    assert_eq!(error.why, "the token would be sent to `http://tools.example` without TLS");
}

#[tokio::test]
async fn only_a_named_authorization_server_can_have_endpoints_at_other_origins() {
    let place = Place::new().await;
    let foreign = Place::new().await;
    for endpoint in ["token_endpoint", "authorization_endpoint", "registration_endpoint"] {
        place.set(|state| state.metadata = json!({endpoint: foreign.login.url("/token")}));
        let error = place.log_in(&place.how(), &[]).await.unwrap_err();
        assert!(error.why.contains("which is not the origin of the"), "{endpoint}: {error}");
    }
    assert!(foreign.login.asked().is_empty());
    place.set(|state| state.metadata = json!({"token_endpoint": foreign.login.url("/token")}));
    let mut named = place.how();
    named.issuer = Some(place.login.url(""));
    place.log_in(&named, &["code=code1&state=STATE"]).await.unwrap();
    let grants = foreign.grants();
    assert_eq!(grants.len(), 1);
    assert_eq!(
        grants[0]["resource"],
        place.http.url("/mcp"),
        "it is for the server, not the issuer"
    );
    place.set(|state| state.metadata = json!({"token_endpoint": "http://tokens.example/token"}));
    let error = place.log_in(&named, &[]).await.unwrap_err();
    assert_eq!(error.why, "the secret would be sent to `http://tokens.example` without TLS");
    place.set(|state| state.metadata = json!({"issuer": "https://other.example"}));
    let error = place.log_in(&place.how(), &[]).await.unwrap_err();
    assert!(error.why.contains("https://other.example"), "{error}");
    place.set(|state| state.metadata = json!({"code_challenge_methods_supported": null}));
    let error = place.log_in(&place.how(), &[]).await.unwrap_err();
    assert!(error.why.contains("does not announce support for PKCE"), "{error}");
    // A client secret is not sent to an endpoint that the server names.
    place.set(|state| state.metadata = Value::Null);
    let mut secret = place.how();
    (secret.client_id, secret.client_secret) = (Some("me".to_owned()), Some("s3cret".to_owned()));
    let error = place.log_in(&secret, &[]).await.unwrap_err();
    assert!(error.why.contains("which is not configured"), "{error}");
    secret.issuer = Some(place.login.url(""));
    place.login.asked();
    place.log_in(&secret, &["code=code1&state=STATE"]).await.unwrap();
    let asked = place.login.asked();
    assert!(!asked.iter().any(|it| it.target() == "/register"));
    // Basic authentication is the default.
    let token = asked.iter().find(|it| it.target() == "/token").unwrap();
    assert_eq!(token.header("authorization"), Some("Basic bWU6czNjcmV0"));
}

#[tokio::test]
async fn errors_do_not_contain_codes_and_tokens() {
    let place = Place::new().await;
    let why = json!({"error": "invalid_request", "error_description": "code1 of s3cret"});
    place.set(|state| state.error = Some(why));
    let mut login = place.how();
    (login.client_id, login.client_secret) = (Some("me".to_owned()), Some("s3cret".to_owned()));
    login.issuer = Some(place.login.url(""));
    assert!(!format!("{login:?}").contains("s3cret"));
    let error = place.log_in(&login, &["code=code1&state=STATE"]).await.unwrap_err().to_string();
    assert!(error.contains("[secret] of [secret]") && !error.contains("s3cret"), "{error}");
    // This also holds for stored tokens.
    place.set(|state| (state.error, state.accepted) = (None, "access2".to_owned()));
    place.log_in(&login, &["code=code1&state=STATE"]).await.unwrap();
    let why = json!({"error": "invalid_request", "error_description": "refresh1, access1"});
    place.set(|state| state.error = Some(why));
    let error = place.connect(login).await.unwrap_err();
    assert!(error.why.contains("[secret], [secret]"), "{error}");
}
