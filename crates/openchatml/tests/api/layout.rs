//! How a header was written is kept only as long as it says what the message says.

use openchatml::{Channel, Format, Message, ReadOptions, RenderOptions, Role, parse, render};

#[test]
fn a_header_is_written_anew_once_its_message_has_changed() {
    let format: Format = "openchatml-2.2".parse().expect("a format");
    let text = "version: 2.2\n\n<|start|>assistant  call_id=a name=n intent=status \
                to=functions.f<|channel|>commentary<|constrain|>json<|message|>{}<|end|>\n";
    let document = parse(text, format, &ReadOptions::default()).document;
    assert_eq!(render(&document, format, &RenderOptions::default()).as_deref(), Ok(text));
    let changes: [fn(&mut Message<'_>); 9] = [
        |message| message.role = Role::Developer,
        |message| message.name = Some("m".into()),
        |message| message.name = None,
        |message| message.recipient = Some("functions.g".into()),
        |message| message.channel = Some(Channel::Final),
        |message| message.call_id = Some("b".into()),
        |message| message.intent = None,
        |message| message.content_type = Some("text".into()),
        |message| message.constrained = false,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut conversation = document.clone().into_conversation();
        change(&mut conversation.messages[0]);
        let changed = conversation.messages[0].clone();
        let text = render(&conversation.into(), format, &RenderOptions::default()).expect("text");
        let read = parse(&text, format, &ReadOptions::default()).into_conversation();
        assert_eq!(read.messages, [changed], "change {number}: {text}");
    }
}
