//! Helpers of the tests of MCP.

use openchatml::{Channel, Code, Data, End, Limits, Message, Reply, Role, Value};
use openchatml_tools::kinds::mcp::Server;
use openchatml_tools::{Router, RouterOptions, Toolbox, Turn, TurnEvent};
#[cfg(feature = "oauth")]
use serde_json::json;

#[cfg(feature = "oauth")]
use super::server::{self, Answer, Asked};

/// A router of the tools of these servers.
pub fn router(servers: &[&Server]) -> Router {
    let mut tools = Toolbox::default();
    servers.iter().for_each(|server| server.add_to(&mut tools).unwrap());
    Router::new(tools, RouterOptions::default()).unwrap()
}

/// Dispatches a call, whose id is `id`.
pub async fn dispatch(turn: &mut Turn, id: &str, name: &str, body: &str) {
    let mut call = Message::new(Role::Assistant, body.to_owned());
    call.recipient = Some(name.to_owned().into());
    call.call_id = Some(id.to_owned().into());
    call.channel = Some(Channel::Commentary);
    call.end = End::Call;
    assert!(turn.dispatch(&call).await);
}

/// The output or the failure of the only call of a turn.
pub async fn answer(router: &Router, name: &str, body: &str) -> Result<Value<'static>, String> {
    let mut turn = router.turn([]);
    dispatch(&mut turn, "c1", name, body).await;
    done(&mut turn).await.1
}

/// The id and the result of the next finished call of a turn.
pub async fn done(turn: &mut Turn) -> (String, Result<Value<'static>, String>) {
    loop {
        if let Some(TurnEvent::Done { call_id, code, reply }) = turn.next().await {
            let body = reply.body.text();
            let reply = Reply::parse(&body, &Limits::default()).unwrap();
            return (call_id, result(code, reply));
        }
    }
}

fn result(code: Option<Code>, reply: Reply<'_>) -> Result<Value<'static>, String> {
    let (content, error) = (reply.content.unwrap(), reply.error.unwrap());
    if reply.ok {
        assert_eq!(error.data, Data::Null);
        return Ok(content.into_owned());
    }
    assert_eq!(content.data, Data::Null);
    let message = error.get("message").and_then(Value::as_str).unwrap();
    Err(format!("{}: {message}", code.unwrap()))
}

/// A JSON answer.
#[cfg(feature = "oauth")]
pub fn json_answer(status: &str, body: &serde_json::Value) -> Answer {
    server::answer(status, "application/json", body.to_string())
}

/// The answers of an HTTP server with the tool `echo`.
#[cfg(feature = "oauth")]
pub fn serve_echo(asked: &Asked) -> Answer {
    if !asked.line.starts_with("POST") {
        return server::answer("405 Method Not Allowed", "text/plain", "");
    }
    let message: serde_json::Value = serde_json::from_str(&asked.body).unwrap();
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "http", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": []}),
        _ => return server::answer("202 Accepted", "text/plain", ""),
    };
    json_answer("200 OK", &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}
