//! Lints: what they find, and what they leave alone.

use openchatml::{Code, Conversation, End, Format, Intent, Message, Role, lint, parse};

fn codes(messages: impl IntoIterator<Item = Message<'static>>) -> Vec<&'static str> {
    let document = Conversation::from_messages(messages).into();
    let found = lint::check(&document, lint::SAMPLE);
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
}

#[test]
fn each_lint_finds_what_it_is_about() {
    let user = || Message::user("Hi.");
    let answer = || Message::answer("Hello.");
    let system = || Message::new(Role::System, "Be brief.");
    let named = |name: &'static str| {
        let mut message = user();
        message.name = Some(name.into());
        message
    };
    let call = |arguments: &'static str| Message::call("f", arguments);
    let open = || {
        let mut open = answer();
        open.end = End::Open;
        open
    };
    let cases = [
        (vec![], "W-EMPTY-MESSAGE"),
        (vec![Message::user(" \n"), answer()], "W-EMPTY-MESSAGE"),
        (vec![user(), open()], "W-OPEN-MESSAGE"),
        (vec![user()], "W-NO-ASSISTANT"),
        (vec![user(), user(), answer()], "W-REPEATED-ROLE"),
        (vec![user(), answer(), answer()], "W-REPEATED-ROLE"),
        (vec![user(), answer(), Message::reasoning("More.")], "W-REPEATED-ROLE"),
        (vec![user(), system(), answer()], "W-LATE-SYSTEM"),
        (vec![user(), Message::answer("a</think>b")], "W-VISIBLE-REASONING"),
        (vec![user(), Message::answer("a<|channel|>analysis<|message|>b")], "W-VISIBLE-REASONING"),
        (vec![user(), Message::answer("analysisThink.assistantfinalHi.")], "W-VISIBLE-REASONING"),
        (vec![Message::user("a\u{202e}b"), answer()], "W-HIDDEN-UNICODE"),
        (vec![named("Er\u{200b}ic"), answer()], "W-HIDDEN-UNICODE"),
        (vec![user(), call(r#"{"x":"a\u202eb"}"#)], "W-HIDDEN-UNICODE"),
        (vec![user(), call(r#"{"a\u202eb":[1]}"#)], "W-HIDDEN-UNICODE"),
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
fn declarations_of_tools_are_inspected() {
    let hidden = "a\u{202e}b";
    let schema =
        |text: &str| format!(r#"{{"type":"object","properties":{{"x":{{"enum":["{text}"]}}}}}}"#);
    let tool = |description: &str, parameters: &str| {
        format!(
            r#"{{"messages":[{{"role":"user","content":"Hi."}},{{"role":"assistant","content":"Hello."}}],"tools":[{{"type":"function","function":{{"name":"f","description":"{description}","parameters":{parameters}}}}}]}}"#
        )
    };
    for (text, is_found) in [
        (tool("Adds.", &schema("b")), false),
        (tool(hidden, &schema("b")), true),
        (tool("Adds.", &schema(hidden)), true),
        (tool("Adds.", &format!(r#"{{"{hidden}":1}}"#)), true),
    ] {
        let document = openchatml::parse(&text, openchatml::Format::OPENAI, &Default::default());
        let found = lint::check(&document.document, lint::DOCUMENT);
        let codes: Vec<_> = found.iter().map(|found| found.code.as_str()).collect();
        assert_eq!(codes.contains(&"W-HIDDEN-UNICODE"), is_found, "{text}");
    }
}

#[test]
fn characters_are_counted_and_named() {
    let document =
        Conversation::from_messages([Message::user("a\u{200b}b\u{202e}\u{e0041}")]).into();
    let found = lint::check(&document, &[Code::HiddenUnicode, Code::ParseJson]);
    assert_eq!(
        found[0].message,
        "U+200B, a character without width (and 2 more such characters in this message)"
    );
    let two = Conversation::from_messages([Message::user("a\u{200b}b\u{200b}")]).into();
    let found = lint::check(&two, &[Code::HiddenUnicode]);
    assert!(found[0].message.ends_with("(and one more such character in this message)"));
}

#[test]
fn fingerprints_tell_conversations_apart() {
    let of = |messages: Vec<Message<'static>>| {
        lint::fingerprint(&Conversation::from_messages(messages).into())
    };
    let all = [
        of(vec![]),
        of(vec![Message::user("a")]),
        of(vec![Message::user("a"), Message::user("b")]),
        of(vec![Message::user("ab")]),
        of(vec![Message::answer("a")]),
        of(vec![Message::reasoning("a")]),
    ];
    for (at, one) in all.iter().enumerate() {
        assert!(!all[..at].contains(one), "{at}");
    }
    assert_eq!(all[1], of(vec![Message::user("a")]));
}

#[test]
fn pairs_have_a_preference() {
    let codes = |text: &str| {
        let parsed = parse(text, Format::RECORDS, &Default::default());
        let found = lint::check(&parsed.document, lint::SAMPLE);
        found.iter().map(|found| found.message.clone()).collect::<Vec<_>>()
    };
    let side = |question: &str, answer: &str| {
        format!(
            r#"[{{"role":"user","content":"{question}"}},{{"role":"assistant","content":"{answer}"}}]"#
        )
    };
    let pair = |chosen: String, rejected: String| {
        codes(&format!(r#"{{"chosen":{chosen},"rejected":{rejected}}}"#))
    };
    assert!(pair(side("A?", "B."), side("A?", "C.")).is_empty());
    assert_eq!(pair(side("A?", "B."), side("A?", "B.")), ["`chosen` and `rejected` are the same"]);
    let other = ["`chosen` and `rejected` answer different prompts"];
    assert_eq!(pair(side("A?", "B."), side("Z?", "C.")), other);
    let question = r#"[{"role":"user","content":"A?"}]"#;
    let found = pair(side("A?", "B."), question.to_owned());
    let ends = "`rejected` does not end with a message of `assistant`".to_owned();
    assert!(found.contains(&ends), "{found:?}");
    // What both sides have is reported once.
    let found = codes(r#"{"prompt":" ","chosen":"B.","rejected":"C."}"#);
    assert_eq!(found, ["the message of `user` is empty"]);
}

/// A message with an image says something.
#[test]
fn an_image_is_no_empty_message() {
    let image = r#"{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}"#;
    for (part, count) in [(image, 0), (r#"{"type":"text","text":""}"#, 1)] {
        let text = format!(r#"[{{"role":"user","content":[{part}]}}]"#);
        let read = parse(&text, Format::OPENAI, &Default::default());
        let found = lint::check(&read.document, &[Code::EmptyMessage]);
        assert_eq!(found.len(), count, "{part}");
    }
}
