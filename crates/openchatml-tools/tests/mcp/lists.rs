//! Lists of servers: changing tools, resources, prompts, and the numbers in them.

use std::sync::{Arc, Mutex};

use openchatml::Value as Data;
use openchatml_tools::kinds::mcp::{self, Server, ServerOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

use super::support::{answer, router};

/// An object that `serde_json` treats specially and would replace by the content of its string,
/// which is not JSON here.
const PRIVATE: &str = r#"{"$serde_json::private::RawValue":"[1,"}"#;

/// The lists of a server, and the requests that it received.
#[derive(Default)]
struct State {
    /// The names of its tools.
    tools: Vec<&'static str>,
    /// The tools after the next change.
    next: Vec<&'static str>,
    capabilities: Value,
    resources: Vec<Vec<Value>>,
    prompts: Vec<Vec<Value>>,
    /// The methods of its requests, and the tools that were called.
    asked: Vec<String>,
}

/// The requested page of a list.
fn page(key: &str, pages: &[Vec<Value>], params: &Value) -> Value {
    let page = params["cursor"].as_str().map_or(0, |it| it.parse().unwrap());
    let mut result = json!({key: pages[page]});
    if page + 1 < pages.len() {
        result["nextCursor"] = json!((page + 1).to_string());
    }
    result
}

/// The object at the start of a text. Its strings must not contain braces.
fn object(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    });
    &text[..=end.unwrap()]
}

/// The lines of the answer to a request.
fn lines(state: &mut State, line: &str) -> Vec<String> {
    let plain = line.replace("$serde_json::private::RawValue", "raw");
    let request: Value = serde_json::from_str(&plain).unwrap();
    let Some(id) = request.get("id") else { return Vec::new() };
    let (method, params) = (request["method"].as_str().unwrap(), &request["params"]);
    let asked = params["name"].as_str().unwrap_or(method).to_owned();
    state.asked.push(asked.clone());
    let result = match method {
        "initialize" => json!({"protocolVersion": params["protocolVersion"],
            "capabilities": state.capabilities, "serverInfo": {"name": "lists", "version": "1"}}),
        "tools/list" => {
            let tool = |name| json!({"name": name, "inputSchema": {"type": "object"}});
            json!({"tools": state.tools.iter().map(tool).collect::<Vec<_>>()})
        }
        "resources/list" => page("resources", &state.resources, params),
        "prompts/list" => page("prompts", &state.prompts, params),
        _ => json!({"content": [{"type": "text", "text": asked}]}),
    };
    let mut answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    if asked == "exact" {
        // The text is compared, because this test's JSON library would change numbers.
        let (_, arguments) = line.split_once("\"arguments\":").unwrap();
        let arguments = object(arguments);
        answer = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"structuredContent":{arguments}}}}}"#
        );
    }
    if asked == "tools/list" && state.tools.contains(&"exact") {
        let schema = format!(r#""object","maximum":100000000000000000000,"default":{PRIVATE}"#);
        answer = answer.replace(r#""object""#, &schema);
    }
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned();
    match &*asked {
        "change" => {
            state.tools = std::mem::take(&mut state.next);
            vec![changed, answer]
        }
        // Some servers announce a change whenever the tools are listed.
        "tools/list" if state.tools.contains(&"restless") => vec![changed, answer],
        _ => vec![answer],
    }
}

async fn serve(stream: DuplexStream, state: Arc<Mutex<State>>) {
    let (read, mut write) = tokio::io::split(stream);
    let mut requests = BufReader::new(read).lines();
    while let Ok(Some(line)) = requests.next_line().await {
        let lines = lines(&mut state.lock().unwrap(), &line);
        for line in lines {
            write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
    }
}

async fn connected(state: State) -> (Server, Arc<Mutex<State>>) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let state = Arc::new(Mutex::new(state));
    tokio::spawn(serve(theirs, state.clone()));
    let (read, write) = tokio::io::split(ours);
    let mut options = ServerOptions::default();
    options.tools = 3;
    (mcp::connect(read, write, &options).await.unwrap(), state)
}

fn state(tools: &[&'static str]) -> State {
    State { tools: tools.to_vec(), capabilities: json!({"tools": {}}), ..State::default() }
}

#[tokio::test]
async fn removed_tools_are_rejected_and_new_ones_appear_after_a_refresh() {
    let mut state = state(&["change", "old"]);
    state.next = vec!["change", "new"];
    let (mut server, state) = connected(state).await;
    let before = router(&[&server]);
    assert_eq!(answer(&before, "functions.old", "{}").await, Ok(Data::from("old")));
    assert_eq!(answer(&before, "functions.change", "{}").await, Ok(Data::from("change")));
    let gone = Err("E-CALL-UNKNOWN: the server no longer offers this tool".to_owned());
    for _ in 0..2 {
        assert_eq!(answer(&before, "functions.old", "{}").await, gone);
    }
    // The tools are listed once more, and the call did not reach the server.
    let asked = state.lock().unwrap().asked.clone();
    assert_eq!(asked, ["initialize", "tools/list", "old", "change", "tools/list"]);
    let names =
        |server: &Server| server.entries().iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&server), ["functions.change", "functions.old"]);
    server.refresh().await.unwrap();
    assert_eq!(names(&server), ["functions.change", "functions.new"]);
    let after = router(&[&server]);
    assert_eq!(answer(&after, "functions.new", "{}").await, Ok(Data::from("new")));
    assert_eq!(answer(&before, "functions.old", "{}").await, gone);
}

#[tokio::test]
async fn a_server_with_constantly_changing_tools_can_be_called() {
    let (server, state) = connected(state(&["restless"])).await;
    let router = router(&[&server]);
    for _ in 0..2 {
        assert_eq!(answer(&router, "functions.restless", "{}").await, Ok(Data::from("restless")));
    }
    let asked = state.lock().unwrap().asked.clone();
    let lists = asked.iter().filter(|it| *it == "tools/list").count();
    assert_eq!((asked.len(), lists), (6, 3), "{asked:?}");
}

#[tokio::test]
async fn resources_and_prompts_are_listed_page_by_page() {
    let mut state = state(&["echo"]);
    state.capabilities = json!({"tools": {}, "resources": {}, "prompts": {}});
    let resource = |n: u32| json!({"uri": format!("file:///{n}"), "name": n.to_string()});
    let mut first = resource(1);
    (first["mimeType"], first["description"]) = (json!("text/plain"), json!("A file.\u{1b}[2J"));
    (first["title"], first["size"]) = (json!("One"), json!(5_000_000_000_u64));
    state.resources = vec![vec![first], vec![resource(2), resource(3)]];
    let arguments =
        json!([{"name": "code", "required": true, "description": "What."}, {"name": "b"}]);
    state.prompts = vec![vec![json!({"name": "review", "arguments": arguments})]];
    let (server, state) = connected(state).await;
    let resources = server.resources().await.unwrap();
    let uris: Vec<_> = resources.iter().map(|it| it.uri.as_str()).collect();
    assert_eq!(uris, ["file:///1", "file:///2", "file:///3"]);
    let first = &resources[0];
    assert_eq!((first.name.as_str(), first.title.as_deref()), ("1", Some("One")));
    assert_eq!((first.mime_type.as_deref(), first.size), (Some("text/plain"), Some(5_000_000_000)));
    assert_eq!(first.description.as_deref(), Some("A file.\u{1b}[2J"));
    let prompts = server.prompts().await.unwrap();
    assert_eq!((prompts.len(), prompts[0].name.as_str()), (1, "review"));
    let arguments = prompts[0].arguments.iter().map(|it| (it.name.as_str(), it.is_required));
    assert_eq!(arguments.collect::<Vec<_>>(), [("code", true), ("b", false)]);
    assert_eq!(prompts[0].arguments[0].description.as_deref(), Some("What."));
    // The number of pages is limited, and only the last page may be empty.
    state.lock().unwrap().resources.push(vec![resource(4)]);
    let error = server.resources().await.unwrap_err();
    assert_eq!(error.why, "it lists more than 3 resources");
    state.lock().unwrap().prompts.splice(..0, [Vec::new()]);
    let error = server.prompts().await.unwrap_err();
    assert_eq!(error.why, "it returns an empty page of prompts that is not the last page");
}

#[tokio::test]
async fn only_declared_capabilities_are_requested() {
    let (server, state) = connected(state(&["echo"])).await;
    assert_eq!(server.resources().await, Ok(Vec::new()));
    assert_eq!(server.prompts().await, Ok(Vec::new()));
    assert_eq!(state.lock().unwrap().asked, ["initialize", "tools/list"]);
}

#[tokio::test]
async fn numbers_keep_their_digits() {
    let (server, _state) = connected(state(&["exact"])).await;
    let schema = server.entries()[0].1.parameters.as_ref().unwrap().to_json();
    let default = format!(r#""maximum":100000000000000000000,"default":{PRIVATE}}}"#);
    assert_eq!(schema, format!(r#"{{"type":"object",{default}"#));
    let router = router(&[&server]);
    let body = r#"{"a":-123456789012345678901234567890,"b":-0,"c":[1.50,7,0.1]}"#;
    assert_eq!(answer(&router, "functions.exact", body).await.unwrap().to_json(), body);
    for inner in
        [PRIVATE.to_owned(), PRIVATE.replace("[1,", "1"), PRIVATE.replace("\"[1,\"", "null")]
    {
        let body = format!(r#"{{"a":{{"b":[{inner}]}}}}"#);
        let said = answer(&router, "functions.exact", &body).await.unwrap().to_json();
        assert_eq!(said, body);
    }
}
