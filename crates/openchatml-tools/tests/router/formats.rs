//! A call is the same in every format.

use openchatml::{Conversation, Format, Message, ReadOptions, RenderOptions, Role, convert, parse};
use openchatml_tools::{Output, Router, RouterOptions, Turn};

use super::support::{call, one, replies};

#[tokio::test]
async fn calls_of_every_format_run() {
    let can_call = |format: &Format| format.carries().recipients;
    for format in Format::all().filter(can_call) {
        let mut asked = call("functions.f", "c1", r#"{"a":1}"#);
        asked.content_type = Some("json".into());
        asked.constrained = true;
        let system = Message::new(Role::System, "You help.");
        let said = Conversation::from_messages([system, Message::new(Role::User, "Go."), asked]);
        let converted = convert::convert(&said.into(), format, &RenderOptions::default());
        let text = converted.unwrap().output;
        let read = parse(&text, format, &ReadOptions::default()).into_conversation();
        let tools = one(|call| async move { Ok(Output::text(call.arguments())) });
        let mut turn = Router::new(tools, RouterOptions::default()).unwrap().turn([]);
        let mut calls = 0;
        for mut message in read.messages {
            if message.is_call() && message.call_id.is_none() {
                message.call_id = Some(turn.unused_id().into());
            }
            calls += usize::from(turn.dispatch(&message).await);
        }
        let replies = replies(&mut turn).await;
        assert_eq!((calls, replies.len()), (1, 1), "{format}: {text}");
        let body = replies[0].body.text();
        assert!(body.starts_with(r#"{"ok":true,"content":"{\"a\":"#), "{format}: {text}: {body}");
    }
}

#[test]
fn turns_can_move_between_threads() {
    fn can<T: Send + Sync>() {}
    fn sends<T: Send>(_: T) {}
    can::<Router>();
    can::<RouterOptions>();
    let _ = |turn: &'static mut Turn, message: &'static Message<'static>| {
        sends(turn.dispatch(message));
    };
    let _ = |turn: &'static mut Turn| sends(turn.next());
}
