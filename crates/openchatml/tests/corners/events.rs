//! Events that no text format produces: servers create them (OpenChatML 2.2 §9).

use openchatml::{Event, Message, Policy, Role};

fn check(event: &Event<'_>, json: &str, for_user: bool) {
    assert_eq!(event.to_json(), json);
    assert!(json.contains(&format!("\"type\":\"{}\"", event.name())), "{json}");
    assert_eq!(event.is_for_user(Policy::default()), for_user, "{json}");
}

#[test]
fn a_summary_of_reasoning_is_for_the_user() {
    check(
        &Event::ReasoningSummaryDelta { index: 3, text: "I \"added\".".into() },
        r#"{"type":"response.reasoning_summary_text.delta","message_id":"m3","delta":"I \"added\"."}"#,
        true,
    );
}

#[test]
fn a_cancelled_tool_is_hidden_from_the_user() {
    check(
        &Event::ToolCancel { call_id: "c1".into(), reason: "timeout".into() },
        r#"{"type":"tool.cancel","call_id":"c1","reason":"timeout"}"#,
        false,
    );
}

#[test]
fn a_message_that_is_a_prompt_ends_open() {
    let mut prompt = Message::new(Role::Assistant, "");
    prompt.end = openchatml::End::Prompt;
    let json = Event::MessageDone { index: 0, message: (&prompt).into() }.to_json();
    assert!(json.ends_with(r#","end":"open"}"#), "{json}");
}
