//! Lints: what they find, and what they leave alone.

use openchatml::{Code, Conversation, End, Intent, Message, Role, lint};

fn codes(messages: impl IntoIterator<Item = Message<'static>>) -> Vec<&'static str> {
    let conversation = Conversation::from_messages(messages);
    let found = lint::check(&conversation, lint::SAMPLE);
    found.iter().map(|found| found.code.as_str()).collect()
}

#[test]
fn usual_conversations_have_no_findings() {
    let mut preamble = Message::answer("I look it up.");
    preamble.intent = Some(Intent::Preamble);
    assert!(
        codes([
            Message::new(Role::System, "Be brief."),
            Message::new(Role::Developer, "Use tools."),
            Message::user("Hi."),
            Message::reasoning("Easy."),
            preamble,
            Message::call("functions.f", "{}"),
            Message::answer("Hello."),
            Message::user("<think>?"),
            Message::reasoning("The user writes <think>."),
            Message::answer("Yes."),
        ])
        .is_empty()
    );
    assert!(lint::check(&Conversation::default(), lint::SAMPLE).is_empty());
}

#[test]
fn each_lint_finds_what_it_is_about() {
    let user = || Message::user("Hi.");
    let answer = || Message::answer("Hello.");
    let system = || Message::new(Role::System, "Be brief.");
    let cases = [
        (vec![Message::user(" \n"), answer()], "W-EMPTY-MESSAGE"),
        (vec![user()], "W-NO-ASSISTANT"),
        (vec![user(), user(), answer()], "W-REPEATED-ROLE"),
        (vec![user(), answer(), answer()], "W-REPEATED-ROLE"),
        (vec![user(), answer(), Message::reasoning("More.")], "W-REPEATED-ROLE"),
        (vec![user(), system(), answer()], "W-LATE-SYSTEM"),
        (vec![user(), Message::answer("a</think>b")], "W-VISIBLE-REASONING"),
        (vec![Message::user("a\u{202e}b"), answer()], "W-HIDDEN-UNICODE"),
    ];
    for (messages, code) in cases {
        assert_eq!(codes(messages), [code]);
    }
    // A prompt is not empty.
    let mut open = Message::new(Role::Assistant, "");
    open.end = End::Prompt;
    assert!(codes([user(), open]).is_empty());
}

#[test]
fn characters_are_counted_and_named() {
    let conversation = Conversation::from_messages([Message::user("a\u{200b}b\u{202e}\u{e0041}")]);
    let found = lint::check(&conversation, &[Code::HiddenUnicode, Code::ParseJson]);
    assert_eq!(
        found[0].message,
        "U+200B, a character without width (and 2 more such characters in this message)"
    );
    let two = Conversation::from_messages([Message::user("a\u{200b}b\u{200b}")]);
    let found = lint::check(&two, &[Code::HiddenUnicode]);
    assert!(found[0].message.ends_with("(and one more such character in this message)"));
}

#[test]
fn fingerprints_tell_conversations_apart() {
    let of =
        |messages: Vec<Message<'static>>| lint::fingerprint(&Conversation::from_messages(messages));
    let all = [
        of(vec![]),
        of(vec![Message::user("a")]),
        of(vec![Message::user("a"), Message::user("b")]),
        of(vec![Message::user("ab")]),
        of(vec![Message::answer("a")]),
        of(vec![Message::reasoning("a")]),
        of(vec![Message::new(Role::Assistant, "a")]),
    ];
    for (at, one) in all.iter().enumerate() {
        assert!(!all[..at].contains(one), "{at}");
    }
    assert_eq!(all[1], of(vec![Message::user("a")]));
}
