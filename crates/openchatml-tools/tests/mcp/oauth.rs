//! Servers that require authorization, and which servers receive the secret.

#![cfg(feature = "oauth")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use openchatml_tools::kinds::mcp::{self, ConnectError, OAuth, ServerOptions};
use serde_json::{Value, json};

use super::server::{self, Answer, Asked, Server};
use super::support::{answer, json_answer, router, serve_echo};

const SECRET: &str = "s3cret/+";

/// The metadata of an authorization server at this origin.
fn metadata(origin: &str) -> Answer {
    json_answer(
        "200 OK",
        &json!({"issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"), "response_types_supported": ["code"],
            "grant_types_supported": ["client_credentials"],
            "token_endpoint_auth_methods_supported": ["client_secret_post"]}),
    )
}

/// The origin of the request, from its `Host` header.
fn origin(asked: &Asked) -> String {
    format!("http://{}", asked.header("host").unwrap())
}

/// An authorization server that issues `t1`, `t2` and so on, with this lifetime.
fn authorize(asked: &Asked, given: &AtomicUsize, seconds: u64) -> Answer {
    match asked.target() {
        "/.well-known/oauth-authorization-server" => metadata(&origin(asked)),
        "/token" if !asked.body.contains("client_secret=s3cret%2F%2B") => {
            json_answer("401 Unauthorized", &json!({"error": "invalid_client"}))
        }
        "/token" => {
            let token = format!("t{}", given.fetch_add(1, Ordering::SeqCst) + 1);
            let body =
                json!({"access_token": token, "token_type": "Bearer", "expires_in": seconds});
            json_answer("200 OK", &body)
        }
        _ => server::answer("404 Not Found", "text/plain", ""),
    }
}

/// A server that accepts the token with this number, or any token if it is 0.
fn serve(asked: &Asked, accepted: &AtomicUsize) -> Answer {
    let token = accepted.load(Ordering::SeqCst);
    let is_authorized =
        token == 0 || asked.header("authorization") == Some(&*format!("Bearer t{token}"));
    if !is_authorized {
        return server::answer("401 Unauthorized", "text/plain", "");
    }
    serve_echo(asked)
}

fn oauth(issuer: Option<String>) -> OAuth {
    let mut oauth = OAuth::new("me", SECRET);
    (oauth.scopes, oauth.issuer) = (vec!["read".to_owned()], issuer);
    oauth
}

async fn connect(http: &Server, oauth: OAuth) -> Result<mcp::Server, ConnectError> {
    let options = ServerOptions::default();
    mcp::connect_authorized(&http.url("/mcp"), [], oauth, &options).await
}

/// The distinct tokens that a server received.
fn tokens(http: &Server) -> Vec<String> {
    let asked = http.asked();
    let shown = asked.iter().filter_map(|it| it.header("authorization").map(str::to_owned));
    let mut shown: Vec<_> = shown.collect();
    shown.dedup();
    shown
}

#[tokio::test]
async fn a_token_is_fetched_once_and_again_after_a_rejection() {
    let given = Arc::new(AtomicUsize::new(0));
    let shared = given.clone();
    let login = Server::new(move |asked| authorize(asked, &shared, 3600)).await;
    let accepted = Arc::new(AtomicUsize::new(1));
    let shared = accepted.clone();
    let http = Server::new(move |asked| serve(asked, &shared)).await;
    let issuer = format!("http://{}", login.address);
    let server = connect(&http, oauth(Some(issuer))).await.unwrap();
    let router = router(&[&server]);
    assert!(answer(&router, "functions.echo", "{}").await.is_ok());
    assert_eq!(tokens(&http), ["Bearer t1"]);
    let asked = login.asked();
    let bodies: Vec<_> =
        asked.iter().filter(|it| it.target() == "/token").map(|it| it.body.as_str()).collect();
    assert_eq!(bodies.len(), 1);
    for part in ["grant_type=client_credentials", "client_id=me", "scope=read", "resource=http"] {
        assert!(bodies[0].contains(part), "{part}: {}", bodies[0]);
    }
    // The refused call is not repeated; the next one has a new token.
    accepted.store(2, Ordering::SeqCst);
    let error = answer(&router, "functions.echo", "{}").await.unwrap_err();
    assert_eq!(error, "E-TOOL-FAILED: the server answers with the status 401");
    assert!(answer(&router, "functions.echo", "{}").await.is_ok());
    assert_eq!(tokens(&http), ["Bearer t1", "Bearer t2"]);
    assert_eq!(given.load(Ordering::SeqCst), 2);
}

/// A server that repeats the token in its error does not reveal it to the model.
#[tokio::test]
async fn errors_do_not_contain_the_access_token() {
    let login = Server::new(|asked| match asked.target() {
        "/token" => {
            json_answer("200 OK", &json!({"access_token": "access-1", "token_type": "Bearer"}))
        }
        _ => authorize(asked, &AtomicUsize::new(0), 3600),
    });
    let login = login.await;
    let http = Server::new(|asked| match asked.body.contains("tools/call") {
        true => {
            let message: Value = serde_json::from_str(&asked.body).unwrap();
            let why = asked.header("authorization").unwrap();
            let error = json!({"code": -1, "message": format!("not with {why}")});
            json_answer("200 OK", &json!({"jsonrpc": "2.0", "id": message["id"], "error": error}))
        }
        false => serve(asked, &AtomicUsize::new(0)),
    });
    let http = http.await;
    let issuer = format!("http://{}", login.address);
    let server = connect(&http, oauth(Some(issuer))).await.unwrap();
    let error = answer(&router(&[&server]), "functions.echo", "{}").await.unwrap_err();
    assert!(error.contains("not with Bearer [secret]"), "{error}");
}

#[tokio::test]
async fn an_expired_token_is_not_sent() {
    let given = AtomicUsize::new(0);
    let login = Server::new(move |asked| authorize(asked, &given, 0)).await;
    let http = Server::new(|asked| serve(asked, &AtomicUsize::new(0))).await;
    let issuer = format!("http://{}", login.address);
    let server = connect(&http, oauth(Some(issuer))).await.unwrap();
    assert!(answer(&router(&[&server]), "functions.echo", "{}").await.is_ok());
    let shown = tokens(&http);
    assert!(shown.len() > 3, "{shown:?}");
}

#[tokio::test]
async fn an_authorization_server_at_the_same_origin_need_not_be_named() {
    let given = AtomicUsize::new(0);
    let http = Server::new(move |asked| match asked.target() {
        "/mcp" if asked.line.starts_with("POST") => serve(asked, &AtomicUsize::new(1)),
        _ => authorize(asked, &given, 3600),
    });
    let http = http.await;
    let server = connect(&http, oauth(None)).await.unwrap();
    assert!(answer(&router(&[&server]), "functions.echo", "{}").await.is_ok());
}

#[tokio::test]
async fn a_server_cannot_redirect_the_secret() {
    let given = AtomicUsize::new(0);
    let foreign = Server::new(move |asked| authorize(asked, &given, 3600)).await;
    let elsewhere = format!("http://{}", foreign.address);
    // The loop is in its own metadata, or in that of the authorization server that it names.
    for path in
        ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"]
    {
        let to = elsewhere.clone();
        let http = Server::new(move |asked| {
            let own = origin(asked);
            if asked.target() != path {
                return server::answer("404 Not Found", "text/plain", "");
            }
            if path.contains("protected") {
                let body = json!({"resource": format!("{own}/mcp"), "authorization_servers": [to]});
                return json_answer("200 OK", &body);
            }
            let body = json!({"issuer": own, "authorization_endpoint": format!("{own}/authorize"),
                "token_endpoint": format!("{to}/token"), "response_types_supported": ["code"]});
            json_answer("200 OK", &body)
        });
        let error = connect(&http.await, oauth(None)).await.unwrap_err();
        assert!(error.why.contains(&format!("`{elsewhere}`, which ")), "{error}");
        assert!(foreign.asked().is_empty(), "{path}");
    }
}

#[tokio::test]
async fn authorization_errors_do_not_contain_the_secret() {
    let given = AtomicUsize::new(0);
    let login = Server::new(move |asked| authorize(asked, &given, 3600)).await;
    let http = Server::new(|asked| serve(asked, &AtomicUsize::new(1))).await;
    let issuer = format!("http://{}", login.address);
    let mut wrong = oauth(Some(issuer.clone()));
    wrong.client_secret = "wr0ng".to_owned();
    let error = connect(&http, wrong).await.unwrap_err();
    assert!(error.why.contains("invalid_client") && !error.why.contains("wr0ng"), "{error}");
    // No server returns metadata.
    let nobody = Server::new(|_| server::answer("404 Not Found", "text/plain", "")).await;
    let error = connect(&http, oauth(Some(nobody.url("")))).await.unwrap_err();
    assert_eq!(error.why, "no authorization server returned its metadata");
    // The metadata have another issuer.
    let liar = Server::new(move |asked| match asked.target() {
        "/.well-known/oauth-authorization-server" => metadata(&issuer),
        _ => server::answer("404 Not Found", "text/plain", ""),
    });
    let error = connect(&http, oauth(Some(liar.await.url("")))).await.unwrap_err();
    assert!(error.why.starts_with("authorization failed: "), "{error}");
    let error = connect(&http, oauth(Some("http://login.example".to_owned()))).await.unwrap_err();
    assert!(error.why.contains("without TLS"), "{error}");
    let header = [("Authorization", "Basic 1234")];
    let options = ServerOptions::default();
    let error = mcp::connect_authorized(&http.url("/mcp"), header, oauth(None), &options).await;
    assert_eq!(error.unwrap_err().why, "a header already contains an authorization");
    assert!(http.asked().is_empty());
}

/// An authorization server with its token endpoint at this address.
async fn with_token_endpoint(endpoint: String) -> Server {
    let login = Server::new(move |asked| match asked.target() {
        "/.well-known/oauth-authorization-server" => {
            let own = origin(asked);
            let body = json!({"issuer": own, "authorization_endpoint": format!("{own}/authorize"),
                "token_endpoint": endpoint, "response_types_supported": ["code"],
                "token_endpoint_auth_methods_supported": ["client_secret_post"]});
            json_answer("200 OK", &body)
        }
        _ => server::answer("404 Not Found", "text/plain", ""),
    });
    login.await
}

#[tokio::test]
async fn a_named_authorization_server_can_have_its_token_endpoint_at_another_origin() {
    let given = AtomicUsize::new(0);
    let foreign = Server::new(move |asked| authorize(asked, &given, 3600)).await;
    let login = with_token_endpoint(foreign.url("/token")).await;
    let http = Server::new(|asked| serve(asked, &AtomicUsize::new(1))).await;
    let server = connect(&http, oauth(Some(login.url("")))).await.unwrap();
    assert!(answer(&router(&[&server]), "functions.echo", "{}").await.is_ok());
    assert_eq!(foreign.asked().len(), 1);
    // An endpoint without TLS is refused.
    let login = with_token_endpoint("http://tokens.example/token".to_owned()).await;
    let error = connect(&http, oauth(Some(login.url("")))).await.unwrap_err();
    assert_eq!(error.why, "the secret would be sent to `http://tokens.example` without TLS");
}

#[tokio::test]
async fn repeated_secrets_are_removed_and_errors_are_one_line() {
    let login = Server::new(|asked| match asked.target() {
        "/.well-known/oauth-authorization-server" => metadata(&origin(asked)),
        "/token" => {
            let why = format!("no\n\u{1b}[31m {SECRET} and {}", asked.body);
            json_answer("400 Bad Request", &json!({"error": "e", "error_description": why}))
        }
        _ => server::answer("404 Not Found", "text/plain", ""),
    });
    let login = login.await;
    let issuer = login.url("");
    let http = Server::new(|asked| serve(asked, &AtomicUsize::new(0))).await;
    let error = connect(&http, oauth(Some(issuer))).await.unwrap_err().to_string();
    assert!(error.contains("[secret] and"), "{error}");
    assert!(!error.contains("s3cret") && !error.contains(char::is_control), "{error}");
}

#[tokio::test]
async fn the_resource_of_a_token_has_no_query() {
    let given = AtomicUsize::new(0);
    let login = Server::new(move |asked| authorize(asked, &given, 3600)).await;
    let http = Server::new(|asked| serve(asked, &AtomicUsize::new(0))).await;
    let url = http.url("/mcp?key=K3Y#part").replace("http://", "http://me:pass@");
    let oauth = oauth(Some(login.url("")));
    mcp::connect_authorized(&url, [], oauth, &ServerOptions::default()).await.unwrap();
    let asked = login.asked();
    let token = asked.iter().find(|it| it.target() == "/token").unwrap();
    let resource = format!("resource=http%3A%2F%2F{}%2Fmcp", http.address).replacen(':', "%3A", 1);
    assert!(token.body.split('&').any(|it| it == resource), "{}", token.body);
    assert!(!format!("{asked:?}").contains("K3Y") && !format!("{asked:?}").contains("pass"));
}
