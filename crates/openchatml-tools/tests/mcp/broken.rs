//! Broken connections: the results of the calls on them and of the later calls.

#![cfg(unix)]

use std::path::Path;
use std::time::Duration;

use openchatml::Value;
use openchatml_testkit::shell::mcp_server;
use openchatml_tools::kinds::mcp::{self, Server, ServerOptions};
use openchatml_tools::{Router, RouterOptions, Toolbox};
use tokio::process::Command;

use super::support::{answer, dispatch, done, router};

const BROKE: &str = "E-TOOL-FAILED: the connection to the server broke; the call may have run";
const GONE: &str = "E-TOOL-FAILED: the server of the tool has stopped; the call did not run";

/// A server as a shell script. It logs its starts and its calls, exits on request, and lists `old`
/// only the first time.
fn script() -> String {
    let before = r#"
echo start >> log
tools='{"name":"die","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}},{"name":"echo","inputSchema":{"type":"object"}}'
[ "$(grep -c start log)" -gt 1 ] || tools="$tools"',{"name":"old","inputSchema":{"type":"object"}}'"#;
    let cases = r#"
    *'"tools/list"'*) result='{"tools":['$tools']}' ;;
    *'"name":"die"'*) echo die >> log; exit 1 ;;
    *'"name":"hang"'*) echo hang >> log; continue ;;
    *'"name":"echo"'*) echo echo >> log; result='{"content":[{"type":"text","text":"here"}]}' ;;"#;
    format!("{before}{}", mcp_server(r#""tools":{}"#, cases))
}

fn log(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("log")).unwrap();
    text.lines().map(str::to_owned).collect()
}

async fn start(folder: &Path, options: &ServerOptions) -> Server {
    std::fs::write(folder.join("server"), script()).unwrap();
    let mut command = Command::new("sh");
    command.arg("server").current_dir(folder).stderr(std::process::Stdio::null());
    mcp::connect_stdio(command, options).await.unwrap()
}

fn quick() -> ServerOptions {
    let mut options = ServerOptions::default();
    options.backoff = Duration::from_millis(1);
    options
}

#[tokio::test]
async fn the_next_call_restarts_a_program_and_no_call_runs_twice() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &quick()).await;
    let router = router(&[&server]);
    let mut turn = router.turn([]);
    dispatch(&mut turn, "hang", "functions.hang", "{}").await;
    dispatch(&mut turn, "die", "functions.die", "{}").await;
    for _ in 0..2 {
        assert_eq!(done(&mut turn).await.1, Err(BROKE.to_owned()));
    }
    assert!(server.is_disconnected());
    assert_eq!(answer(&router, "functions.echo", "{}").await, Ok(Value::from("here")));
    assert!(!server.is_disconnected());
    let mut log = log(folder.path());
    log[1..3].sort();
    assert_eq!(log, ["start", "die", "hang", "start", "echo"]);
    // The restarted server no longer lists this tool.
    let gone = "E-CALL-UNKNOWN: the server no longer offers this tool".to_owned();
    assert_eq!(answer(&router, "functions.old", "{}").await, Err(gone));
}

#[tokio::test]
async fn calls_fail_until_a_program_can_be_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &quick()).await;
    let router = router(&[&server]);
    assert_eq!(answer(&router, "functions.die", "{}").await, Err(BROKE.to_owned()));
    std::fs::write(folder.path().join("server"), "echo try >> log").unwrap();
    assert_eq!(answer(&router, "functions.echo", "{}").await, Err(GONE.to_owned()));
    assert_eq!(log(folder.path()), ["start", "die", "try", "try", "try"]);
    std::fs::write(folder.path().join("server"), script()).unwrap();
    assert_eq!(answer(&router, "functions.echo", "{}").await, Ok(Value::from("here")));
}

#[tokio::test]
async fn calls_do_not_wait_for_a_reconnection_after_their_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = ServerOptions::default();
    options.backoff = Duration::from_secs(3600);
    let server = start(folder.path(), &options).await;
    let router = router(&[&server]);
    assert_eq!(answer(&router, "functions.die", "{}").await, Err(BROKE.to_owned()));
    std::fs::write(folder.path().join("server"), "echo try >> log").unwrap();
    let body = r#"{"deadline_ms":60000}"#;
    assert_eq!(answer(&router, "functions.echo", body).await, Err(GONE.to_owned()));
    assert_eq!(log(folder.path()), ["start", "die", "try"]);
}

#[tokio::test]
async fn a_call_that_times_out_before_the_connection_did_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &quick()).await;
    let router = router(&[&server]);
    assert_eq!(answer(&router, "functions.die", "{}").await, Err(BROKE.to_owned()));
    std::fs::write(folder.path().join("server"), "cat > log").unwrap();
    let unmade = "E-TOOL-TIMEOUT: the deadline passed before the call ran".to_owned();
    let body = r#"{"deadline_ms":300}"#;
    assert_eq!(answer(&router, "functions.echo", body).await, Err(unmade));
    std::fs::write(folder.path().join("server"), script()).unwrap();
    let late = "E-TOOL-TIMEOUT: the call did not finish before its deadline".to_owned();
    assert_eq!(answer(&router, "functions.hang", body).await, Err(late));
}

#[tokio::test]
async fn reconnection_can_be_disabled() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = quick();
    options.reconnects = 0;
    let server = start(folder.path(), &options).await;
    let router = router(&[&server]);
    assert_eq!(answer(&router, "functions.die", "{}").await, Err(BROKE.to_owned()));
    assert_eq!(answer(&router, "functions.echo", "{}").await, Err(GONE.to_owned()));
    assert_eq!(log(folder.path()), ["start", "die"]);
}

#[tokio::test]
async fn only_idempotent_calls_are_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), &quick()).await;
    for (is_idempotent, made) in [(false, 1), (true, 3)] {
        std::fs::write(folder.path().join("log"), "").unwrap();
        let mut tools = Toolbox::default();
        for (name, entry) in server.entries() {
            let mut entry = entry.clone();
            entry.is_idempotent = is_idempotent;
            tools.insert(name, entry).unwrap();
        }
        let mut options = RouterOptions::default();
        options.backoff = Duration::from_millis(1);
        let router = Router::new(tools, options).unwrap();
        assert_eq!(answer(&router, "functions.die", "{}").await, Err(BROKE.to_owned()));
        let died = log(folder.path()).iter().filter(|line| *line == "die").count();
        assert_eq!(died, made, "idempotent: {is_idempotent}");
    }
}
