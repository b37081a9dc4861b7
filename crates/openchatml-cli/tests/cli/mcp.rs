//! `ocml tools` and `ocml run` with servers of the Model Context Protocol: logging in, and the end
//! of the servers.

#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use openchatml_testkit::shell::mcp_server;
use serde_json::{Value, json};

use crate::support::{Folder, Ran, command, finish, run};

/// An HTTP server that is its own authorization server. It accepts the token `t1`.
struct Server {
    address: SocketAddr,
    /// Its requests: the first line and the body of each.
    asked: Arc<Mutex<Vec<(String, String)>>>,
}

impl Server {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let log = log.clone();
                std::thread::spawn(move || serve(stream.unwrap(), address, &log));
            }
        });
        Self { address, asked }
    }

    /// The number of requests that begin with this line.
    fn count(&self, line: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|it| it.0.starts_with(line)).count()
    }
}

/// Reads and answers one request. `None` if there is none.
fn serve(stream: TcpStream, address: SocketAddr, log: &Mutex<Vec<(String, String)>>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let (mut line, mut length, mut is_authorized) = (String::new(), 0, false);
    stream.read_line(&mut line).ok()?;
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        is_authorized |= header == "authorization: bearer t1";
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if header.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    let target = line.split(' ').nth(1)?.to_owned();
    log.lock().unwrap().push((line.clone(), body.clone()));
    if line.starts_with("DELETE /mcp?hang") {
        // Waits until the client has closed the connection.
        let _ = stream.read(&mut [0]);
        return None;
    }
    let target = target.trim_end_matches("?hang");
    let own = format!("http://{address}");
    let (status, answer) = match target {
        "/.well-known/oauth-authorization-server" => (
            "200 OK",
            json!({"issuer": own, "authorization_endpoint": format!("{own}/authorize"),
                "token_endpoint": format!("{own}/token"),
                "registration_endpoint": format!("{own}/register"),
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}),
        ),
        "/register" => ("201 Created", json!({"client_id": "c1", "redirect_uris": []})),
        "/token" => ("200 OK", json!({"access_token": "t1", "token_type": "Bearer"})),
        "/mcp" if !is_authorized => ("401 Unauthorized", Value::Null),
        "/mcp" if line.starts_with("POST") => mcp(&body),
        "/mcp" if line.starts_with("DELETE") => ("200 OK", Value::Null),
        _ => ("404 Not Found", Value::Null),
    };
    let answer = answer.to_string();
    let length = answer.len();
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nMcp-Session-Id: s1\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{answer}"
    );
    stream.get_mut().write_all(text.as_bytes()).ok()
}

/// The server's answer to a message.
fn mcp(message: &str) -> (&'static str, Value) {
    let message: Value = serde_json::from_str(message).unwrap();
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "http", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "here"}]}),
        _ => return ("202 Accepted", Value::Null),
    };
    ("200 OK", json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

const CALL: &str = "version: 2.2\n\n<|start|>user<|message|>Go.<|end|>\n\
    <|start|>assistant to=functions.echo call_id=c1<|channel|>commentary<|constrain|>json<|message|>{}<|call|>\n";

/// A folder with a transcript and the configuration of a server, without stored tokens.
fn folder(server: &Server, rest: &str) -> Folder {
    let folder = Folder::new();
    folder.file("chat.ocml", CALL);
    folder.file(
        "tools.toml",
        format!("[mcp.tickets]\nurl = 'http://{}/mcp'\n{rest}", server.address),
    );
    folder
}

/// The command in a folder, which also stores the tokens.
fn ocml(folder: &Folder, args: &[&str]) -> Command {
    let mut command = command(args);
    command.current_dir(folder.path()).env_remove("OCML_TOKENS");
    command.env("XDG_STATE_HOME", folder.path().join("state"));
    command
}

/// Logs in with a browser that follows the redirect.
fn log_in(folder: &Folder) -> Ran {
    let mut child = ocml(folder, &["tools", "--login", "tickets", "tools.toml"]).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut page = String::new();
    while !page.trim().starts_with("http") {
        page.clear();
        assert_ne!(stderr.read_line(&mut page).unwrap(), 0, "there is no page");
    }
    let value = |name: &str| {
        let (_, rest) = page.trim().split_once(&format!("{name}=")).unwrap();
        rest.split('&').next().unwrap().replace("%3A", ":").replace("%2F", "/")
    };
    let back = value("redirect_uri");
    let (host, path) = back.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut browser = TcpStream::connect(host).unwrap();
    let query = format!("code=x&state={}", value("state"));
    write!(browser, "GET /{path}?{query} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    browser.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    let ran = finish(child);
    Ran { stderr: rest, ..ran }
}

#[test]
fn login_and_logout_work() {
    for rest in ["", "oauth = {}\n"] {
        let server = Server::new();
        let folder = folder(&server, rest);
        let advice = ": log in with `ocml tools --login tickets tools.toml`";
        let tools = || run(&mut ocml(&folder, &["tools", "tools.toml"]), "");
        tools().exits(1).says(advice);
        let kept = ["run", "--tools", "tools.toml", "--in-place", "chat.ocml"];
        run(&mut ocml(&folder, &kept), "").exits(1).says(advice);
        let ran = log_in(&folder).exits(0);
        assert_eq!((ran.stdout.as_str(), ran.stderr.trim()), ("", "logged in to `tickets`"));
        let state = folder.path().join("state/openchatml/tokens");
        assert!(std::fs::read_dir(state).unwrap().count() > 0);
        assert_eq!(tools().silent().stdout, "mcp.tickets\n  functions.echo\n");
        run(&mut ocml(&folder, &kept), "").exits(0);
        assert!(folder.read("chat.ocml").contains("here"));
        let logout =
            || run(&mut ocml(&folder, &["tools", "--logout", "tickets", "tools.toml"]), "");
        assert_eq!(logout().exits(0).stderr, "logged out of `tickets`\n");
        assert_eq!(logout().exits(0).stderr, "there was no login to `tickets`\n");
        tools().exits(1).says(advice);
    }
}

#[test]
fn a_failed_login_reports_its_reason() {
    let server = Server::new();
    let folder = folder(
        &server,
        "headers = { Authorization = 'Bearer t1' }\n[mcp.other]\ncommand = 'cat'\n",
    );
    let ran =
        |name| run(&mut ocml(&folder, &["tools", "--login", name, "tools.toml"]), "").exits(1);
    let why = "this server has no login: it is a program, or uses another authorization";
    ran("tickets").says(why);
    ran("other").says(why);
    ran("tickts").says("unknown server `tickts`: no server has a login");
}

#[test]
fn sessions_end_with_the_command() {
    let server = Server::new();
    let folder = folder(&server, "headers = { Authorization = 'Bearer t1' }\n");
    let tools = ["tools", "tools.toml"];
    run(&mut ocml(&folder, &tools), "").silent();
    assert_eq!(server.count("DELETE /mcp"), 1);
    let kept = ["run", "--tools", "tools.toml", "--in-place", "chat.ocml"];
    run(&mut ocml(&folder, &kept), "").exits(0);
    assert_eq!(server.count("DELETE /mcp"), 2);
    // A server that does not answer is not waited for.
    folder.file("tools.toml", folder.read("tools.toml").replace("/mcp'", "/mcp?hang'"));
    run(&mut ocml(&folder, &tools), "").silent();
    assert_eq!(server.count("DELETE /mcp?hang"), 1);
}

/// Standard error of servers is shown line by line, with their names and without control
/// characters.
#[test]
fn standard_error_of_servers_is_printed_with_their_names() {
    let folder = Folder::new();
    let server = mcp_server(r#""tools":{}"#, r#"*'"tools/list"'*) result='{"tools":[]}' ;;"#);
    let before = r"printf 'begins\033[2J\n' >&2";
    let script = format!("{before}\n{server}printf 'ends' >&2\n");
    folder.file("server", script);
    folder.file("tools.toml", "[mcp.files]\ncommand = 'sh'\nargs = ['server']\n");
    let ran = folder.ocml(["tools", "tools.toml"]).exits(0);
    assert_eq!(ran.stderr, "files: begins␛[2J\nfiles: ends\n");
    assert_eq!(ran.stdout, "mcp.files\n");
    // The standard error of a server that does not start may contain the reason.
    folder.file("server", "echo 'no such root' >&2; exit 1");
    let ran = folder.ocml(["tools", "tools.toml"]).exits(1);
    assert!(ran.stderr.starts_with("files: no such root\n"), "{ran:?}");
}
