//! The layout that messages keep, and when it is dropped.

use openchatml::render::LayoutChoice;
use openchatml::{Channel, End, Format, Message, ReadOptions, RenderOptions, Role, parse, render};

#[test]
fn the_header_of_a_changed_message_is_rewritten() {
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

#[test]
fn leading_white_space_is_kept_in_its_own_format_on_request() {
    let format = |name: &str| -> Format { name.parse().expect("a format") };
    for (name, text, canonical) in [
        (
            "openchatml-2.2",
            " \n\n<|start|>user<|message|>a<|end|>",
            "<|start|>user<|message|>a<|end|>\n",
        ),
        ("chatml", " \n\n<|im_start|>user\na<|im_end|>", "<|im_start|>user\na<|im_end|>\n"),
    ] {
        let document = parse(text, format(name), &ReadOptions::default()).document;
        let mut options = RenderOptions::default();
        assert_eq!(render(&document, format(name), &options).as_deref(), Ok(text));
        // The layout of one format does not apply to another.
        for other in Format::all() {
            // Some formats require ids or a date, which this conversation lacks.
            let Ok(written) = render(&document, other, &options) else { continue };
            let is_own = other == format(name);
            assert_eq!(written.starts_with(' '), is_own, "{name} as {other}: {written}");
        }
        options.layout = LayoutChoice::Canonical;
        assert_eq!(render(&document, format(name), &options).as_deref(), Ok(canonical));
    }
}

#[test]
fn incomplete_messages_are_closed_before_a_prompt() {
    let mut cut_off = Message::answer("a");
    cut_off.end = End::Open;
    let document = openchatml::Conversation::from_messages([cut_off]).into();
    let mut options = RenderOptions::default();
    let mut written = |format: &str, prompt| {
        options.generation_prompt = prompt;
        render(&document, format.parse().expect("a format"), &options).expect("text")
    };
    let open = "<|start|>assistant<|channel|>final<|message|>a";
    assert_eq!(written("openchatml-2.2", None), open);
    let closed = format!("{open}<|end|>\n<|start|>assistant");
    assert_eq!(written("openchatml-2.2", Some(Role::Assistant)), closed);
    assert_eq!(written("chatml", None), "<|im_start|>assistant\na");
    let closed = "<|im_start|>assistant\na<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(written("chatml", Some(Role::Assistant)), closed);
}
