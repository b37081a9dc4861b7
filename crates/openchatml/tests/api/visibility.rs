//! Visibility: every combination of properties against a list of visible messages.

use openchatml::{
    Body, Channel, Conversation, Event, Intent, Marker, Message, Policy, Preambles, ReadOptions,
    Role, Segment, Stream, TextFormat, Visibility,
};

fn all<T: Copy>(values: &[T]) -> impl Iterator<Item = Option<T>> {
    values.iter().copied().map(Some).chain([None])
}

/// Returns messages with all combinations of header and origin.
fn messages() -> Vec<Message<'static>> {
    let mut messages = Vec::new();
    for role in Role::ALL {
        for channel in all(Channel::ALL) {
            for intent in all(Intent::ALL) {
                for (recipient, foreign) in
                    [(None, false), (Some("functions.f"), false), (None, true)]
                {
                    let mut message = Message::new(*role, "text");
                    (message.channel, message.intent) = (channel, intent);
                    (message.recipient, message.foreign) = (recipient.map(Into::into), foreign);
                    messages.push(message);
                }
            }
        }
    }
    messages
}

/// OpenChatML 2.2 §4, §5, §7, §11.
fn is_shown(message: &Message<'_>, preambles: Preambles) -> bool {
    let channel = message.channel.unwrap_or(Channel::Final);
    match message.role {
        _ if message.foreign => false,
        Role::User => channel != Channel::Analysis,
        Role::Assistant if message.recipient.is_some() => false,
        Role::Assistant => match channel {
            Channel::Analysis => false,
            Channel::Final => true,
            Channel::Commentary => {
                message.intent == Some(Intent::Preamble) && preambles == Preambles::Show
            }
        },
        Role::System | Role::Developer | Role::Tool => false,
    }
}

#[test]
fn a_user_sees_exactly_the_listed_messages() {
    let messages = messages();
    assert_eq!(messages.len(), 5 * 4 * 4 * 3);
    for preambles in [Preambles::Show, Preambles::Hide] {
        let policy = Policy::new(preambles);
        for message in &messages {
            let expected = match is_shown(message, preambles) {
                true => Visibility::User,
                false => Visibility::Hidden,
            };
            assert_eq!(policy.visibility(message), expected, "{preambles:?} {message:?}");
        }
        let conversation = Conversation::from_messages(messages.clone());
        let view = policy.view(&conversation);
        assert_eq!(
            view.messages().count(),
            messages.iter().filter(|message| is_shown(message, preambles)).count(),
        );
        for (index, message) in messages.iter().enumerate() {
            let seen = view.message(index);
            assert_eq!(seen.is_ok(), is_shown(message, preambles));
            if let Ok(seen) = seen {
                let is_preamble =
                    message.role == Role::Assistant && message.channel == Some(Channel::Commentary);
                assert_eq!((seen.role(), seen.is_preamble()), (message.role, is_preamble));
            }
        }
    }
}

#[test]
fn reasoning_inside_an_answer_is_not_visible() {
    let body = Body::from_segments([
        Segment::Text("4".into()),
        Segment::Literal(".".into()),
        Segment::Marker(Marker::Reason),
        Segment::Text("secret".into()),
    ]);
    let conversation = Conversation::from_messages([Message::answer(body)]);
    let view = Policy::default().view(&conversation);
    let texts: Vec<_> = view.messages().map(|message| message.text()).collect();
    assert_eq!(texts, ["4."]);
}

#[test]
fn no_event_reveals_a_hidden_message() {
    let text = "<|start|>assistant<|channel|>analysis<|message|>a\n\nb<|end|>\
        <|start|>assistant<|channel|>commentary<|message|>c\n\nd<|end|>\
        <|start|>assistant<|channel|>final<|message|>e\n\nf<|end|>";
    for preambles in [Preambles::Show, Preambles::Hide] {
        let policy = Policy::new(preambles);
        let mut told = Vec::new();
        let mut tell = |event: Event<'_>| {
            let is_end = matches!(event, Event::Done { .. });
            if !is_end {
                told.extend(event.for_user(policy).map(|event| event.to_json()));
            }
        };
        let mut stream = Stream::new(TextFormat::HARMONY, &ReadOptions::default());
        stream.feed_with(text, &mut tell);
        stream.finish_with(&mut tell);
        let of = |id: &str| told.iter().filter(|event| event.contains(id)).count();
        let preamble = if preambles == Preambles::Show { 5 } else { 0 };
        assert_eq!([of("m0"), of("m1"), of("m2")], [0, preamble, 5], "{told:#?}");
    }
}
