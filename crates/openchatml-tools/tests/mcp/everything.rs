//! The official reference server, over both transports. `tests/servers/run` installs it.

#![cfg(unix)]

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use openchatml::{Data, Value};
use openchatml_testkit::external_files;
use openchatml_tools::TurnEvent;
use openchatml_tools::kinds::mcp::{self, Server, ServerOptions};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::support::{answer, dispatch, done, router};

/// The path of the server. `None`, with a message, if it is missing: the test is skipped.
fn script() -> Option<PathBuf> {
    let script = std::env::var_os("OPENCHATML_MCP_SERVER").map(PathBuf::from);
    if script.is_none() {
        external_files::say_skipped(
            "a real server of tools",
            "OPENCHATML_MCP_SERVER can name its script",
        );
    }
    script
}

/// The server over standard input and output, and the file with its process id.
async fn over_stdio(script: &std::path::Path, dir: &tempfile::TempDir) -> (Server, PathBuf) {
    let pid = dir.path().join("pid");
    let mut command = Command::new("sh");
    command.args(["-c", r#"echo $$ > "$0"; exec node "$1" stdio"#]).arg(&pid).arg(script);
    command.stderr(Stdio::null());
    (mcp::connect_stdio(command, &ServerOptions::default()).await.unwrap(), pid)
}

/// The server over HTTP.
async fn over_http(script: &std::path::Path) -> (Server, Child) {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    let mut command = Command::new("node");
    command.arg(script).arg("streamableHttp").env("PORT", &port).kill_on_drop(true);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("listening") {
            break;
        }
    }
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    let url = format!("http://127.0.0.1:{port}/mcp");
    let key = ("authorization", "Bearer 1234");
    (mcp::connect_http(&url, [key], &ServerOptions::default()).await.unwrap(), child)
}

/// What must hold with both transports.
async fn check(server: &Server) {
    let router = router(&[server]);
    let said = answer(&router, "functions.echo", r#"{"message":"<|end|>"}"#).await;
    assert_eq!(said, Ok(Value::from("Echo: <|end|>")));
    let sum = answer(&router, "functions.get-sum", r#"{"a":2,"b":3.5}"#).await.unwrap();
    assert!(sum.as_str().unwrap().contains("5.5"), "{sum:?}");
    let weather = answer(&router, "functions.get-structured-content", r#"{"location":"Chicago"}"#);
    let weather = weather.await.unwrap();
    assert_eq!(weather.get("temperature"), Some(&Data::Number("36".into()).into()));
    let image = answer(&router, "functions.get-tiny-image", "{}").await.unwrap();
    assert!(image.as_str().unwrap().contains("[image: image/png, "), "{image:?}");
    // Arguments and names of tools are checked before the call is made.
    let wrong = answer(&router, "functions.get-sum", r#"{"a":"2","b":3}"#).await.unwrap_err();
    assert!(wrong.starts_with("E-CALL-SCHEMA: at /a: "), "{wrong}");
    let wrong = answer(&router, "functions.get_sum", "{}").await.unwrap_err();
    assert!(wrong.contains("did you mean `functions.get-sum`?"), "{wrong}");

    // Progress of two concurrent calls.
    let mut turn = router.turn([]);
    for id in ["a", "b"] {
        let body = r#"{"duration":0.2,"steps":4}"#;
        dispatch(&mut turn, id, "functions.trigger-long-running-operation", body).await;
    }
    let (mut reports, mut answered) = (Vec::new(), 0);
    while let Some(event) = turn.next().await {
        match event {
            TurnEvent::Progress { call_id, progress } => {
                assert_eq!(progress.total, Some(4.0));
                reports.push(call_id);
            }
            TurnEvent::Done { code, .. } => {
                assert_eq!(code, None);
                answered += 1;
            }
            _ => {}
        }
    }
    assert_eq!(answered, 2);
    assert!(reports.iter().any(|id| id == "a") && reports.iter().any(|id| id == "b"));

    // A cancelled call ends at once, and the server continues.
    let body = r#"{"duration":3600,"steps":3600}"#;
    dispatch(&mut turn, "c", "functions.trigger-long-running-operation", body).await;
    assert!(matches!(turn.next().await, Some(TurnEvent::Start { .. })));
    assert!(turn.cancel("c", "not needed"));
    let (_, cancelled) = done(&mut turn).await;
    assert!(cancelled.unwrap_err().starts_with("E-TOOL-CANCELLED: "));
    let body = r#"{"duration":3600,"steps":3600,"deadline_ms":50}"#;
    let late = answer(&router, "functions.trigger-long-running-operation", body).await;
    assert!(late.unwrap_err().starts_with("E-TOOL-TIMEOUT: "));
    let said = answer(&router, "functions.echo", r#"{"message":"on"}"#).await;
    assert_eq!(said, Ok(Value::from("Echo: on")));
}

#[tokio::test]
async fn the_reference_server_over_stdio() {
    let Some(script) = script() else { return };
    let dir = tempfile::tempdir().unwrap();
    check(&over_stdio(&script, &dir).await.0).await;
}

#[tokio::test]
async fn the_reference_server_over_http() {
    let Some(script) = script() else { return };
    let (server, _child) = over_http(&script).await;
    check(&server).await;
}

const LONG: &str = r#"{"duration":3600,"steps":3600,"deadline_ms":20000}"#;

#[tokio::test]
async fn the_reference_server_is_killed_over_stdio() {
    let Some(script) = script() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (server, pid) = over_stdio(&script, &dir).await;
    let router = router(&[&server]);
    let mut turn = router.turn([]);
    dispatch(&mut turn, "a", "functions.trigger-long-running-operation", LONG).await;
    assert!(answer(&router, "functions.echo", r#"{"message":"on"}"#).await.is_ok());
    let pid = std::fs::read_to_string(pid).unwrap();
    assert!(Command::new("kill").args(["-9", pid.trim()]).status().await.unwrap().success());
    let broke = "the connection to the server broke; the call may have run";
    assert_eq!(done(&mut turn).await, ("a".to_owned(), Err(format!("E-TOOL-FAILED: {broke}"))));
    // The next call starts it again.
    assert!(answer(&router, "functions.echo", r#"{"message":"on"}"#).await.is_ok());
}

#[tokio::test]
async fn the_reference_server_is_killed_over_http() {
    let Some(script) = script() else { return };
    let (server, mut child) = over_http(&script).await;
    let mut options = openchatml_tools::RouterOptions::default();
    options.longest = Duration::from_secs(20);
    let router = router(&[&server]);
    let mut turn = router.turn([]);
    dispatch(&mut turn, "a", "functions.trigger-long-running-operation", LONG).await;
    assert!(answer(&router, "functions.echo", r#"{"message":"on"}"#).await.is_ok());
    child.kill().await.unwrap();
    let (_, outcome) = done(&mut turn).await;
    let error = outcome.unwrap_err();
    assert!(error.starts_with("E-TOOL-FAILED: "), "{error}");
    let error = answer(&router, "functions.echo", r#"{"message":"on"}"#).await.unwrap_err();
    assert!(error.starts_with("E-TOOL-FAILED: "), "{error}");
}

#[tokio::test]
async fn a_dropped_server_ends() {
    let Some(script) = script() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (server, pid) = over_stdio(&script, &dir).await;
    let pid = std::fs::read_to_string(pid).unwrap();
    drop(server);
    let is_there = || std::path::Path::new("/proc").join(pid.trim()).exists();
    let ends = async {
        while is_there() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), ends).await.expect("it ends");
}
