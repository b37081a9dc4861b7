//! Servers over streamable HTTP that lose their sessions, close connections early, and send too
//! much.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use openchatml::Value as Data;
use openchatml_tools::kinds::mcp::{self, ServerOptions};
use serde_json::{Value, json};

use super::server::{self, Answer, Asked, Server};
use super::support::{answer, router};

/// The state of a server.
#[derive(Default)]
struct State {
    /// The number of its current session.
    session: AtomicUsize,
    /// The tools of the calls that it received.
    calls: Mutex<Vec<String>>,
}

/// An answer with a session header.
fn in_session(session: usize, body: &Value) -> Answer {
    let body = body.to_string();
    Answer::Bytes(
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s{session}\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .into_bytes(),
    )
}

fn serve(state: &State, asked: &Asked) -> Answer {
    if !asked.line.starts_with("POST") {
        return server::answer("405 Method Not Allowed", "text/plain", "");
    }
    let message: Value = serde_json::from_str(&asked.body).unwrap();
    let id = &message["id"];
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    if message["method"] == "initialize" {
        let session = state.session.fetch_add(1, Ordering::SeqCst) + 1;
        let info = json!({"name": "http", "version": "1"});
        let answer = json!({"protocolVersion": "2025-06-18", "serverInfo": info,
            "capabilities": {"tools": {}}});
        return in_session(session, &result(answer));
    }
    let session = state.session.load(Ordering::SeqCst);
    if asked.header("mcp-session-id") != Some(&*format!("s{session}")) {
        return server::answer("404 Not Found", "text/plain", "");
    }
    match message["method"].as_str().unwrap() {
        "tools/list" => {
            let names = ["echo", "events", "forget", "change", "break", "busy"];
            let names = names.into_iter().chain(["flood", "flood_events"]);
            let tools = names.map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
            in_session(session, &result(json!({"tools": tools.collect::<Vec<_>>()})))
        }
        "tools/call" => call(state, asked, &message),
        _ => server::answer("202 Accepted", "text/plain", ""),
    }
}

fn call(state: &State, asked: &Asked, message: &Value) -> Answer {
    let name = message["params"]["name"].as_str().unwrap();
    state.calls.lock().unwrap().push(name.to_owned());
    let id = &message["id"];
    // The text is compared, because this test's JSON library would change numbers.
    let (_, arguments) = asked.body.split_once("\"arguments\":").unwrap();
    let arguments = &arguments[..=arguments.find('}').unwrap()];
    let echo = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"structuredContent":{arguments}}}}}"#
    );
    let head = |kind: &str| format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n").into_bytes();
    match name {
        "events" => {
            server::answer("200 OK", "text/event-stream", format!(": hi\n\ndata: {echo}\n\n"))
        }
        "forget" => {
            state.session.fetch_add(1, Ordering::SeqCst);
            server::answer("200 OK", "application/json", echo)
        }
        "change" => {
            state.session.fetch_add(1, Ordering::SeqCst);
            let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
            let events = format!("data: {changed}\n\ndata: {echo}\n\n");
            server::answer("200 OK", "text/event-stream", events)
        }
        "break" => server::answer("200 OK", "text/event-stream", ": hi\n\n"),
        "busy" => server::answer("503 Service Unavailable", "text/plain", "busy"),
        "flood" => Answer::Flood(head("application/json"), vec![b' '; 1 << 16]),
        "flood_events" => {
            let head = [head("text/event-stream"), b"data: ".to_vec()].concat();
            Answer::Flood(head, vec![b' '; 1 << 16])
        }
        _ => server::answer("200 OK", "application/json", echo),
    }
}

async fn connected() -> (Server, Arc<State>, mcp::Server) {
    let state = Arc::new(State::default());
    let shared = state.clone();
    let http = Server::new(move |asked| serve(&shared, asked)).await;
    let mut options = ServerOptions::default();
    options.backoff = std::time::Duration::from_millis(1);
    let key = ("authorization", "Bearer 1234");
    let server = mcp::connect_http(&http.url("/mcp"), [key], &options).await.unwrap();
    (http, state, server)
}

#[tokio::test]
async fn a_call_in_an_expired_session_fails_and_the_next_one_opens_another() {
    let (http, state, server) = connected().await;
    let router = router(&[&server]);
    assert!(answer(&router, "functions.forget", "{}").await.is_ok());
    let error = answer(&router, "functions.echo", "{}").await.unwrap_err();
    let expired = "E-TOOL-FAILED: the session with the server has expired; the call was refused";
    assert_eq!(error, expired);
    http.asked();
    assert!(answer(&router, "functions.echo", "{}").await.is_ok());
    assert_eq!(*state.calls.lock().unwrap(), ["forget", "echo"]);
    let asked = http.asked();
    assert!(asked[0].body.contains("\"initialize\""), "{asked:?}");
    assert_eq!(asked[0].header("mcp-session-id"), None);
    assert_eq!(asked[0].header("authorization"), Some("Bearer 1234"));
}

#[tokio::test]
async fn a_list_request_detects_an_expired_session_before_a_call() {
    let (_http, state, server) = connected().await;
    let router = router(&[&server]);
    assert!(answer(&router, "functions.change", "{}").await.is_ok());
    assert!(answer(&router, "functions.echo", "{}").await.is_ok());
    assert_eq!(*state.calls.lock().unwrap(), ["change", "echo"]);
}

#[tokio::test]
async fn an_incomplete_response_leaves_the_result_unknown() {
    let (http, state, server) = connected().await;
    let router = router(&[&server]);
    let broke = "E-TOOL-FAILED: the connection to the server broke; the call may have run";
    assert_eq!(answer(&router, "functions.break", "{}").await, Err(broke.to_owned()));
    assert!(answer(&router, "functions.echo", "{}").await.is_ok());
    assert_eq!(*state.calls.lock().unwrap(), ["break", "echo"]);
    // An error status is an answer and does not end the session.
    let session = state.session.load(Ordering::SeqCst);
    let busy = "E-TOOL-FAILED: the server answers with the status 503".to_owned();
    assert_eq!(answer(&router, "functions.busy", "{}").await, Err(busy));
    assert!(answer(&router, "functions.echo", "{}").await.is_ok());
    assert_eq!(state.session.load(Ordering::SeqCst), session);
    drop(http);
    let gone = "E-TOOL-FAILED: the server of the tool has stopped; the call did not run".to_owned();
    assert_eq!(answer(&router, "functions.echo", "{}").await, Err(gone));
}

#[tokio::test]
async fn responses_that_are_too_long_are_errors() {
    let (_http, _state, server) = connected().await;
    let router = router(&[&server]);
    let flood = "E-TOOL-OUTPUT: the answer is longer than 16000000 bytes".to_owned();
    for name in ["functions.flood", "functions.flood_events"] {
        assert_eq!(answer(&router, name, "{}").await, Err(flood.clone()), "{name}");
    }
    assert!(answer(&router, "functions.echo", "{}").await.is_ok());
}

#[tokio::test]
async fn numbers_keep_their_digits() {
    let (http, _state, server) = connected().await;
    let router = router(&[&server]);
    let body = r#"{"a":123456789012345678901234567890,"b":-0,"c":[1.50,7],"$serde_json::private::Number":1,"d":"$serde_json::private::RawValue"}"#;
    for name in ["functions.echo", "functions.events"] {
        http.asked();
        let said: Data<'_> = answer(&router, name, body).await.unwrap();
        assert_eq!(said.to_json(), body, "{name}");
        assert!(http.asked()[0].body.contains(&format!("\"arguments\":{body}")), "{name}");
    }
}

/// The error of a connection to a server with these answers.
async fn refused(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> String {
    let http = Server::new(answer).await;
    let header = [("x-key", "Key H3ADER"), ("x-token", "T0KEN")];
    let url = http.url("/mcp?key=K3YK3Y").replace("http://", "http://me:pass@");
    let error = mcp::connect_http(&url, header, &ServerOptions::default()).await;
    error.unwrap_err().to_string()
}

#[tokio::test]
async fn errors_of_servers_are_understandable() {
    let answered = |status: &'static str, kind: &'static str, body: &'static str| {
        refused(move |_| server::answer(status, kind, body))
    };
    let json = "application/json";
    let error = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"no\nway\u001b H3ADER T0KEN K3YK3Y"}}"#;
    let junk = r#"{"jsonrpc":"2.0","id":0,"result":{"foo":1}}"#;
    for (status, kind, body, why) in [
        ("500 Internal Server Error", "text/plain", "", "the server answers with the status 500"),
        (
            "401 Unauthorized",
            "text/plain",
            "",
            "the server answers with the status 401: it requires an authorization",
        ),
        ("200 OK", "text/html", "<p>", "it answers with `text/html`"),
        ("200 OK", json, "{", "it returned an invalid message"),
    ] {
        let told = answered(status, kind, body).await;
        assert_eq!(told, format!("cannot connect to the server: {why}"));
    }
    for (body, why) in [
        (
            error,
            r"it answers `initialize` with the error -1: no\nway\u{1b} [secret] [secret] [secret]",
        ),
        (junk, "it returned an invalid result of `initialize`"),
    ] {
        let told = answered("200 OK", json, body).await;
        assert_eq!(told, format!("the server cannot be used: {why}"));
    }
}

#[tokio::test]
async fn errors_of_unreachable_servers_do_not_contain_the_url() {
    for url in
        ["http://me:pass@127.0.0.1:9/mcp?key=K3YK3Y", "htt p://K3YK3Y", "ftp://a.example/?K3YK3Y"]
    {
        let error = mcp::connect_http(url, [], &ServerOptions::default()).await.unwrap_err();
        let error = error.to_string();
        assert!(!error.contains("K3YK3Y") && !error.contains("pass"), "{error}");
        assert!(!error.contains("rmcp") && !error.contains("openchatml"), "{error}");
    }
}
