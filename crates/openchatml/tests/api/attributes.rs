//! Duplicate and malformed attributes in the header of a message.

use openchatml::{Intent, Message, ReadOptions, Visibility, parse};

/// Parses a message with this header. Returns it with the number of diagnostics.
fn read(header: &str) -> (Message<'static>, usize) {
    let text = format!("version: 2.2\n\n<|start|>{header}<|message|>{{}}<|call|>\n");
    let format = "openchatml-2.2".parse().expect("a format");
    let parsed = parse(&text, format, &ReadOptions::default());
    let found = parsed.diagnostics.len();
    let mut messages = parsed.into_conversation().into_owned().messages;
    assert_eq!(messages.len(), 1);
    (messages.remove(0), found)
}

#[test]
fn a_repeated_intent_counts_if_it_is_the_same() {
    let rest = "to=functions.f call_id=a<|channel|>commentary";
    let (message, found) = read(&format!("assistant intent=status intent=status {rest}"));
    assert_eq!((message.intent, message.recovered, found), (Some(Intent::Status), false, 1));
    let (message, found) = read(&format!("assistant intent=status intent=debug {rest}"));
    assert_eq!((message.intent, message.recovered, found), (None, true, 1));
}

#[test]
fn the_first_of_two_values_counts() {
    let rest = "call_id=a<|channel|>commentary";
    let (message, found) = read(&format!("assistant to=functions.f to=functions.f {rest}"));
    assert_eq!(
        (message.recipient.as_deref(), message.recovered, found),
        (Some("functions.f"), false, 1)
    );
    let (message, found) = read(&format!("assistant to=functions.f to=functions.g {rest}"));
    assert_eq!(
        (message.recipient.as_deref(), message.recovered, found),
        (Some("functions.f"), true, 1)
    );
}

#[test]
fn a_message_with_an_unreadable_recipient_is_hidden() {
    let long = "a".repeat(5000);
    let mut headers = vec!["assistant to=<|channel|>final".to_owned()];
    headers.push(format!("assistant to={long}<|channel|>final"));
    let many: String = (0..40).map(|_| "name=a ").collect();
    headers.push(format!("assistant {many}to=functions.f<|channel|>final"));
    for header in headers {
        let (message, _) = read(&header);
        assert_eq!(message.visibility(), Visibility::Hidden, "{}", &header[..20]);
    }
    let (message, _) = read(&format!("assistant name={long}<|channel|>final"));
    assert_eq!(message.visibility(), Visibility::User);
}
