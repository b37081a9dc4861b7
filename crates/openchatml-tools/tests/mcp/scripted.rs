//! A server that misbehaves as a script says.

use std::time::Duration;

use openchatml::Value as Data;
use openchatml_tools::kinds::mcp::{self, ConnectError, Server, ServerOptions};
use openchatml_tools::{Toolbox, TurnEvent};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc;

use super::support::{answer, dispatch, done, router};

/// The pages of a server's list of tools.
type Pages = Vec<Vec<Value>>;

fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object"}})
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// The messages before the answer to a call, and the answer, if there is one.
fn call(request: &Value) -> (Vec<String>, Option<Value>) {
    let params = &request["params"];
    let token = &params["_meta"]["progressToken"];
    let progress = |done: u32| {
        let params = json!({"progressToken": token, "progress": done, "total": 3});
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}).to_string()
    };
    let ok = |result: Value| Some(json!({"result": result}));
    match params["name"].as_str().unwrap() {
        "echo" => (vec![], ok(text(&params["arguments"].to_string()))),
        "structured" => {
            let content = json!([{"type": "text", "text": "{\"b\":1,\"a\":2.5}"}]);
            (vec![], ok(json!({"content": content, "structuredContent": {"b": 1, "a": 2.5}})))
        }
        "several" => {
            let content = json!([
                {"type": "text", "text": "Look:"},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                {"type": "resource_link", "uri": "file:///a.txt", "name": "a"},
                {"type": "resource", "resource": {"uri": "file:///b", "text": "<|end|>"}},
            ]);
            (vec![], ok(json!({"content": content})))
        }
        "fail" => {
            let content = json!([{"type": "text", "text": "no such file"}]);
            (vec![], ok(json!({"content": content, "isError": true})))
        }
        "refuse" => (vec![], Some(json!({"error": {"code": -32602, "message": "bad params"}}))),
        "steps" => ((1..=3).map(progress).collect(), ok(text("done"))),
        "garbage" => (vec!["Listening on stdio!".to_owned(), "{".to_owned()], ok(text("fine"))),
        "flood" => (vec![], ok(text(&"x".repeat(17 << 20)))),
        // This one is sent as text; see `serve`.
        "broken" => (vec![], ok(json!("BROKEN"))),
        "both" => {
            let answer = json!({"result": text("a"), "error": {"code": 1, "message": "b"}});
            (vec![], Some(answer))
        }
        "endless" => (vec![], ok(json!("ENDLESS"))),
        "nothing" => (vec![], ok(json!({"content": []}))),
        _ => (vec![], None),
    }
}

/// Serves until the tool `die` is called, and forwards the notifications that it receives.
async fn serve(stream: DuplexStream, pages: Pages, heard: mpsc::UnboundedSender<Value>) {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let request: Value = serde_json::from_str(&line).unwrap();
        let Some(id) = request.get("id") else {
            let _ = heard.send(request);
            continue;
        };
        let (before, answer) = match request["method"].as_str().unwrap() {
            "initialize" => {
                let version = &request["params"]["protocolVersion"];
                let info = json!({"name": "scripted", "version": "1"});
                let result = json!({"protocolVersion": version, "capabilities": {"tools": {}},
                    "serverInfo": info, "instructions": "Be kind."});
                (vec![], Some(json!({"result": result})))
            }
            "tools/list" => {
                let page = request["params"]["cursor"].as_str().map_or(0, |it| it.parse().unwrap());
                let mut result = json!({"tools": pages[page]});
                if page + 1 < pages.len() {
                    result["nextCursor"] = json!((page + 1).to_string());
                }
                (vec![], Some(json!({"result": result})))
            }
            _ if request["params"]["name"] == "die" => return,
            _ => call(&request),
        };
        let answer = answer.map(|mut answer| {
            answer["jsonrpc"] = json!("2.0");
            answer["id"] = id.clone();
            answer.to_string()
        });
        for line in before.into_iter().chain(answer) {
            let (head, is_endless) = match line.split_once("\"ENDLESS\"") {
                Some(_) => (format!(r#"{{"jsonrpc":"2.0","id":{id},"result":["#), true),
                None => (line.replace("\"BROKEN\"", "{\"content\":[}"), false),
            };
            write.write_all(head.as_bytes()).await.unwrap();
            if is_endless {
                write.write_all(&vec![b' '; 16_100_000]).await.unwrap();
            } else {
                write.write_all(b"\n").await.unwrap();
            }
        }
    }
}

/// A connection to a server with these tools, and the notifications that the server receives.
async fn connected(
    pages: Pages,
    options: &ServerOptions,
) -> (Result<Server, ConnectError>, mpsc::UnboundedReceiver<Value>) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (send, heard) = mpsc::unbounded_channel();
    tokio::spawn(serve(theirs, pages, send));
    let (read, write) = tokio::io::split(ours);
    (mcp::connect(read, write, options).await, heard)
}

async fn all() -> (Server, mpsc::UnboundedReceiver<Value>) {
    let names = ["echo", "structured", "several", "fail", "refuse", "steps", "garbage"];
    let more = ["flood", "nothing", "hang", "die", "broken", "both", "endless"];
    let pages = [&names[..], &more[..]].map(|names| names.iter().map(|it| tool(it)).collect());
    let (server, heard) = connected(pages.into(), &ServerOptions::default()).await;
    (server.unwrap(), heard)
}

#[tokio::test]
async fn tools_on_all_pages_become_functions() {
    let (server, _heard) = all().await;
    let names: Vec<_> = server.entries().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names.len(), names[0], names[10]), (14, "functions.echo", "functions.die"));
    let entry = &server.entries()[0].1;
    assert_eq!(entry.description.as_deref(), Some("Does echo."));
    assert_eq!(entry.parameters.as_ref().unwrap().to_json(), r#"{"type":"object"}"#);
    assert_eq!(server.instructions().as_deref(), Some("Be kind."));
}

#[tokio::test]
async fn results_are_passed_on() {
    let (server, _heard) = all().await;
    let router = router(&[&server]);
    for (name, said) in [
        ("echo", r#""{\"x\":1.5,\"a\":[]}""#),
        ("structured", r#"{"b":1,"a":2.5}"#),
        ("garbage", r#""fine""#),
        ("nothing", r#""""#),
        (
            "several",
            r#""Look:\n[image: image/png, 3 bytes omitted]\n[link to a: file:///a.txt]\n[resource file:///b]\n<|end|>""#,
        ),
    ] {
        let content = answer(&router, &format!("functions.{name}"), r#"{"x":1.5,"a":[]}"#).await;
        assert_eq!(content.unwrap().to_json(), said, "{name}");
    }
    let failed = answer(&router, "functions.fail", "{}").await;
    assert_eq!(failed, Err("E-TOOL-FAILED: no such file".to_owned()));
    let flood = answer(&router, "functions.flood", "{}").await;
    assert_eq!(flood, Err("E-TOOL-OUTPUT: the answer is longer than 16000000 bytes".to_owned()));
    let refused = answer(&router, "functions.refuse", "{}").await;
    assert_eq!(refused, Err("E-TOOL-FAILED: the server refuses the call: bad params".to_owned()));
}

#[tokio::test]
async fn malformed_responses_fail_immediately() {
    let (server, _heard) = all().await;
    let router = router(&[&server]);
    let unreadable = Err("E-TOOL-OUTPUT: the answer cannot be read".to_owned());
    for name in ["functions.broken", "functions.both"] {
        assert_eq!(answer(&router, name, "{}").await, unreadable, "{name}");
    }
    let endless = "E-TOOL-OUTPUT: the answer is longer than 16000000 bytes".to_owned();
    assert_eq!(answer(&router, "functions.endless", "{}").await, Err(endless));
}

#[tokio::test]
async fn progress_is_passed_on() {
    let (server, _heard) = all().await;
    let mut turn = router(&[&server]).turn([]);
    dispatch(&mut turn, "c1", "functions.steps", "{}").await;
    let mut last = 0.0;
    while let Some(event) = turn.next().await {
        if let TurnEvent::Progress { call_id, progress } = event {
            assert_eq!((call_id.as_str(), progress.total), ("c1", Some(3.0)));
            assert!(progress.done > last);
            last = progress.done;
        }
    }
    assert!(last > 0.0);
}

/// The next notification of a cancelled call.
async fn cancelled(heard: &mut mpsc::UnboundedReceiver<Value>) -> Value {
    loop {
        let notification = heard.recv().await.expect("the server lives");
        if notification["method"] == "notifications/cancelled" {
            return notification["params"]["requestId"].clone();
        }
    }
}

#[tokio::test]
async fn a_cancelled_call_is_reported_to_the_server() {
    let (server, mut heard) = all().await;
    let router = router(&[&server]);
    let mut turn = router.turn([]);
    dispatch(&mut turn, "c1", "functions.hang", "{}").await;
    assert!(matches!(turn.next().await, Some(TurnEvent::Start { .. })));
    // Before the server has received the call, there is nothing to cancel.
    answer(&router, "functions.echo", "{}").await.unwrap();
    assert!(turn.cancel("c1", "not needed"));
    let first = cancelled(&mut heard).await;
    assert!(first.is_number());
    // A deadline and a dropped turn are reported to the server in the same way.
    dispatch(&mut turn, "c2", "functions.hang", r#"{"deadline_ms":20}"#).await;
    assert_ne!(cancelled(&mut heard).await, first);
    dispatch(&mut turn, "c3", "functions.hang", "{}").await;
    answer(&router, "functions.echo", "{}").await.unwrap();
    drop(turn);
    cancelled(&mut heard).await;
    assert!(answer(&router, "functions.echo", "{}").await.is_ok(), "the server goes on");
    // An answered call is not cancelled.
    drop((router, server));
    while let Some(notification) = heard.recv().await {
        assert_ne!(notification["method"], "notifications/cancelled");
    }
}

#[tokio::test]
async fn calls_of_a_server_that_ends_fail() {
    let (dying, _heard) = all().await;
    let mut options = ServerOptions::default();
    options.namespace = "other".to_owned();
    let (other, _other_heard) = connected(vec![vec![tool("echo")]], &options).await;
    let other = other.unwrap();
    let router = router(&[&dying, &other]);
    let mut turn = router.turn([]);
    dispatch(&mut turn, "hang", "functions.hang", "{}").await;
    dispatch(&mut turn, "die", "functions.die", "{}").await;
    let broke = "the connection to the server broke; the call may have run";
    for _ in 0..2 {
        assert_eq!(done(&mut turn).await.1, Err(format!("E-TOOL-FAILED: {broke}")));
    }
    assert!(dying.is_disconnected() && !other.is_disconnected());
    let gone = "E-TOOL-FAILED: the server of the tool has stopped; the call did not run".to_owned();
    assert_eq!(answer(&router, "functions.echo", "{}").await, Err(gone));
    assert_eq!(answer(&router, "other.echo", "{}").await, Ok(Data::from("{}")));
}

#[tokio::test]
async fn names_and_hints_are_checked() {
    let mut hinted = tool("files/read.all");
    hinted["annotations"] = json!({"idempotentHint": true});
    let pages = || vec![vec![hinted.clone(), tool("plain")]];
    let mut options = ServerOptions::default();
    let server = connected(pages(), &options).await.0.unwrap();
    assert_eq!(server.entries()[0].0, "functions.files_read_all");
    assert!(!server.entries()[0].1.is_idempotent, "the word of a stranger");
    options.trusts_hints = true;
    let server = connected(pages(), &options).await.0.unwrap();
    let hints: Vec<_> = server.entries().iter().map(|(_, entry)| entry.is_idempotent).collect();
    assert_eq!(hints, [true, false]);
    let mut tools = Toolbox::default();
    server.add_to(&mut tools).unwrap();
    assert!(server.add_to(&mut tools).is_err(), "the names are taken");
}

#[tokio::test]
async fn invalid_lists_of_tools_are_refused() {
    let mut options = ServerOptions::default();
    options.tools = 3;
    let many = vec![vec![tool("a"), tool("b")], vec![tool("c"), tool("d")]];
    for (pages, why) in [
        (
            vec![vec![tool("a/b"), tool("a.b")]],
            "its tool `a.b` has the same name `functions.a_b` as another tool",
        ),
        (many, "it lists more than 3 tools"),
    ] {
        let error = connected(pages, &options).await.0.unwrap_err();
        assert_eq!(error.why, why);
    }
    // One peer that has closed the connection and one that never answers.
    let (ours, theirs) = tokio::io::duplex(64);
    drop(theirs);
    let (read, write) = tokio::io::split(ours);
    assert!(mcp::connect(read, write, &options).await.is_err());
    let (ours, _theirs) = tokio::io::duplex(1 << 16);
    options.timeout = Duration::from_millis(20);
    let (read, write) = tokio::io::split(ours);
    let error = mcp::connect(read, write, &options).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot connect to the server: the server did not answer in time"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_that_is_not_a_server_is_refused() {
    for (program, arguments) in [("/nonexistent/server", &[][..]), ("true", &[]), ("echo", &["{}"])]
    {
        let mut command = tokio::process::Command::new(program);
        command.args(arguments);
        let error = mcp::connect_stdio(command, &ServerOptions::default()).await.unwrap_err();
        assert!(!error.why.is_empty(), "{program}");
        assert!(!program.contains('/') || error.why.contains("cannot start `/nonexistent/server`"));
    }
    let mut command = tokio::process::Command::new("true");
    command.current_dir("/nonexistent");
    let error = mcp::connect_stdio(command, &ServerOptions::default()).await.unwrap_err();
    assert!(error.why.starts_with("cannot run `true` in `/nonexistent`: "), "{error}");
    let options = ServerOptions::default();
    let no_header = mcp::connect_http("http://127.0.0.1:9/", [("a b", "c")], &options).await;
    assert_eq!(no_header.unwrap_err().why, "invalid header `a b`");
    assert!(mcp::connect_http("http://127.0.0.1:9/", [], &options).await.is_err());
}
