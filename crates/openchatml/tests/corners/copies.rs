//! Owned copies are equal to the original documents, including their layout.

use openchatml::{
    Channel, Code, Document, End, Format, Intent, Message, ReadOptions, RenderOptions, Role, parse,
    render,
};

/// Documents of every kind with unusual layouts.
const DOCUMENTS: &[(&str, &str)] = &[
    (
        "openchatml-2.2",
        "# c\nversion: 2.2\nm: {a: [1, x, null, true]}\n\n \n\
         <|start|>user  name=Eric<|message|>a<|literal|>b<|endliteral|><|end|> \n\n\
         <|start|>assistant<|channel|>commentary to=f call_id=c<|constrain|>json<|message|>{}\
         <|call|>\t",
    ),
    (
        "openchatml-2.0",
        "version: 2.0\n\n<|start|>assistant<|channel|>analysis<|message|>a<|start_reason|>b<|end|>\n",
    ),
    ("openchatml-0.1", "\n<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>c</s>\n \n"),
    (
        "openchatml-0.1",
        "text<|file_separator|>\n<s><|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>c\n\
         <|file_separator|>\n\n<s>\n<|im_start|>user \nHi.<|im_end|> \n</s>",
    ),
    ("chatml", "<|im_start|>user\r\nHi.\r\n<|im_end|>\r\n"),
];

#[test]
fn copies_are_written_byte_for_byte() {
    let options = RenderOptions::default();
    for (format, text) in DOCUMENTS {
        let format: Format = format.parse().expect("a format");
        let document = {
            // The borrowed text does not live as long as the copy.
            let text = (*text).to_owned();
            let parsed = parse(&text, format, &ReadOptions::default());
            let copy = parsed.document.clone().into_owned();
            assert_eq!(copy, parsed.document, "{text}");
            copy
        };
        assert_eq!(render(&document, format, &options).as_deref(), Ok(*text));
    }
}

#[test]
fn copies_of_json_have_its_tools() {
    let text = r#"{"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"a":[1]},"strict":true}}],"messages":[]}"#;
    let format = "json".parse().expect("a format");
    let copy = parse(text, format, &ReadOptions::default()).document.into_owned();
    assert_eq!(render(&copy, format, &RenderOptions::default()).as_deref(), Ok(text));
}

#[test]
fn strict_gives_the_document_or_the_first_error() {
    let read = |text| parse(text, "chatml".parse().expect("a format"), &ReadOptions::default());
    let document = read("<|im_start|>user\nHi.<|im_end|>\n").strict().expect("nothing is wrong");
    assert_eq!(document.as_conversation().map(|it| it.messages.len()), Some(1));
    let error = read("<|im_start|>nobody\nHi.<|im_end|>\nx").strict().expect_err("two errors");
    assert_eq!((error.code, error.span.start), (Code::ParseHeader, 12));
    assert!(matches!(read("").strict(), Ok(Document::Conversation(_))));
}

/// Debug output may end up in logs, and the text of messages may be hidden.
#[test]
fn debug_output_does_not_contain_message_text() {
    let text = "version: 2.2\n\n<|start|>assistant<|channel|>commentary to=functions.f name=n \
                call_id=c intent=status<|constrain|>json<|message|>{\"secret\":1}<|call|>\n";
    let format: Format = "openchatml-2.2".parse().expect("a format");
    let mut parsed = parse(text, format, &ReadOptions::default());
    let Document::Conversation(conversation) = &mut parsed.document else { panic!("{parsed:?}") };
    conversation.messages[0].recovered = true;
    conversation.messages[0].foreign = true;
    let debug = format!("{parsed:?}");
    assert!(!debug.contains("secret"), "{debug}");
    for said in [
        "role: Assistant",
        "name: \"n\"",
        "recipient: \"functions.f\"",
        "call_id: \"c\"",
        "content_type: \"json\"",
        "channel: Commentary",
        "intent: Status",
        "constrained: true",
        "recovered: true",
        "foreign: true",
        "Body(12 bytes)",
        "end: Call",
    ] {
        assert!(debug.contains(said), "{said} is not in {debug}");
    }
}

#[test]
fn messages_that_differ_in_one_field_are_not_equal() {
    let changes: [fn(&mut Message<'_>); 12] = [
        |message| message.role = Role::User,
        |message| message.channel = Some(Channel::Final),
        |message| message.intent = Some(Intent::Status),
        |message| message.end = End::Call,
        |message| message.constrained = true,
        |message| message.recovered = true,
        |message| message.foreign = true,
        |message| message.name = Some("a".into()),
        |message| message.recipient = Some("a".into()),
        |message| message.call_id = Some("a".into()),
        |message| message.content_type = Some("a".into()),
        |message| message.body = "b".into(),
    ];
    let same = Message::new(Role::Assistant, "a");
    assert_eq!(same, same.clone());
    for (index, change) in changes.iter().enumerate() {
        let mut other = same.clone();
        change(&mut other);
        assert_ne!(other, same, "change {index}");
    }
    // The position of a message and the layout of its header make no difference.
    let read = |text: &str| {
        let parsed = parse(text, "openchatml-2.2".parse().expect("a format"), &Default::default());
        parsed.into_conversation().into_owned().messages.remove(0)
    };
    let text = "<|start|>user name=a<|message|>b<|end|>";
    assert_eq!(read(text), read(&format!("\n{}", text.replace(" name", "   name"))));
}
