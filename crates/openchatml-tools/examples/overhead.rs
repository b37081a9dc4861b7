//! Measures the overhead of the router: calls of a tool that does nothing, with a schema, on one
//! thread.
//!
//! `cargo run --release -p openchatml-tools --example overhead`

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "it is an example")]

use std::time::Instant;

use openchatml::{Channel, End, Limits, Message, Role, Value};
use openchatml_tools::{Entry, Output, Router, RouterOptions, Toolbox, TurnEvent, function};

fn router() -> Router {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    let mut entry = Entry::new(function(|_| std::future::ready(Ok(Output::text("20 °C")))));
    entry.parameters = Some(Value::from_json(schema, &Limits::default()).unwrap().into_owned());
    let mut tools = Toolbox::default();
    tools.insert("functions.weather", entry).unwrap();
    Router::new(tools, RouterOptions::default()).unwrap()
}

fn calls(count: usize) -> Vec<Message<'static>> {
    let call = |number: usize| {
        let mut call = Message::new(Role::Assistant, r#"{"city":"Tokyo"}"#);
        call.recipient = Some("functions.weather".into());
        call.call_id = Some(format!("call_{number}").into());
        call.channel = Some(Channel::Commentary);
        call.end = End::Call;
        call
    };
    (0..count).map(call).collect()
}

/// Dispatches all calls, takes events whenever the router is full, and counts the replies.
async fn run(router: &Router, calls: &[Message<'static>]) -> usize {
    let mut turn = router.turn([]);
    let mut replies = 0;
    for calls in calls.chunks(1_000) {
        for call in calls {
            assert!(turn.dispatch(call).await);
        }
        while let Some(event) = turn.next().await {
            replies += usize::from(matches!(event, TurnEvent::Done { code: None, .. }));
        }
    }
    replies
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let router = router();
    for count in [1_000, 1_000, 100_000] {
        let calls = calls(count);
        let begun = Instant::now();
        assert_eq!(run(&router, &calls).await, count);
        let each = begun.elapsed().as_secs_f64() * 1e6 / count as f64;
        println!("{count:>7} calls: {each:.2} µs each");
    }
}
