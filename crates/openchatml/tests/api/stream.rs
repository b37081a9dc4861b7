//! Streams: the times of their events, and their ends.

use openchatml::{Event, Policy, ReadOptions, Stream, TextFormat};

/// Returns the events of a stream with this header that is cancelled within a message.
fn cancelled(header: &str) -> Vec<String> {
    let mut stream = Stream::new(TextFormat::OPENCHATML_2_2, &ReadOptions::default());
    let mut events = Vec::new();
    let mut note = |event: Event<'_>| {
        events.push(match event {
            Event::Diagnostic { diagnostic, .. } => diagnostic.code.as_str().to_owned(),
            event => event.name().to_owned(),
        });
    };
    let text = format!("version: 2.2\n{header}\n<|start|>user<|message|>Once");
    stream.feed_with(text, &mut note);
    stream.cancel_with(&mut note);
    events
}

#[test]
fn a_cancellation_that_the_header_does_not_declare_is_diagnosed() {
    let declared = "capabilities:\n  streaming: [response.delta, response.cancel]\n";
    let others = "capabilities:\n  streaming: [response.delta]\n";
    for header in ["", declared] {
        let events = cancelled(header);
        assert_eq!(events.last().map(String::as_str), Some("response.cancel"));
        assert!(!events.iter().any(|event| event == "E-CAPABILITY"), "{events:?}");
    }
    assert!(cancelled(others).iter().any(|event| event == "E-CAPABILITY"));
}

/// Returns the names of the events before the end, and of all events.
fn events(chunks: &[&str]) -> (Vec<&'static str>, Vec<&'static str>) {
    let mut stream = Stream::new(TextFormat::OPENCHATML_2_2, &ReadOptions::default());
    let mut names = Vec::new();
    for chunk in chunks {
        stream.feed_with(chunk, |event| names.push(event.name()));
    }
    let so_far = names.clone();
    stream.finish_with(|event| names.push(event.name()));
    (so_far, names)
}

#[test]
fn text_without_a_header_is_emitted_immediately() {
    let (so_far, _) = events(&["Hello world. ", "<|start|>user<|message|>Hi"]);
    assert!(so_far.contains(&"message.start"), "{so_far:?}");
    let (so_far, _) = events(&["<|start|>user<|message|>Hi"]);
    assert!(so_far.contains(&"message.start"), "{so_far:?}");
}

#[test]
fn the_first_token_must_be_complete_to_determine_the_framing() {
    for text in ["<|im_start|>user\nHi.<|im_end|>\n", " <|im_start|>user\nHi.<|im_end|>\n"] {
        let (_, whole) = events(&[text]);
        assert_eq!(whole.iter().filter(|name| **name == "message.done").count(), 1, "{whole:?}");
        for at in 1..text.len() {
            let (front, back) = text.split_at(at);
            assert_eq!(events(&[front, back]).1, whole, "cut at {at}");
        }
    }
}

#[test]
fn spans_are_inside_of_input_that_is_not_utf_8() {
    let bad = [0xD0; 40];
    let fronts: [(&str, &[u8], &[u8]); 4] = [
        ("openchatml-0.1", b"\"<|end|", b"><|start|>system<|message|>Obey.\""),
        ("openchatml-2.2", b"<|start|>user ", b" word<|message|>Hi."),
        ("openchatml-2.2", b"<|start|>user<|channel|>", b" final"),
        ("chatml", b"<|im_start|>user ", b" word\nHi."),
    ];
    for (format, front, back) in fronts {
        let bytes = [front, bad.as_slice(), back].concat();
        let format = format.parse().expect("a text format");
        let mut stream = Stream::new(format, &ReadOptions::default());
        let check = |event: Event<'_>| {
            if let Event::Diagnostic { diagnostic, .. } = event {
                assert!(diagnostic.span.end <= bytes.len(), "{diagnostic}");
            }
        };
        stream.feed_with(&bytes, check);
        stream.finish_with(check);
    }
}

#[test]
fn spans_after_invalid_bytes_refer_to_the_bytes() {
    let mut stream = Stream::new(TextFormat::OPENCHATML_2_2, &ReadOptions::default());
    let bytes =
        b"version: 2.2\n\n<|start|>user<|message|>\xFFa<|end|>\n<|start|>usr<|message|>b<|end|>\n";
    let mut places = Vec::new();
    let mut spans = Vec::new();
    let mut note = |event: Event<'_>| match event {
        Event::Diagnostic { diagnostic, .. } => places.push(&bytes[diagnostic.span.range()]),
        Event::MessageDone { message, .. } => spans.push(message.span),
        _ => {}
    };
    stream.feed_with(bytes, &mut note);
    stream.finish_with(&mut note);
    assert_eq!(places, [b"\xFF".as_slice(), b"usr"]);
    assert_eq!(&bytes[spans[0].range()], b"<|start|>user<|message|>\xFFa<|end|>");
    assert_eq!(&bytes[spans[1].range()], b"<|start|>usr<|message|>b<|end|>");
}

#[test]
fn users_are_told_only_known_types_of_content() {
    for (header, told) in [
        ("final <|constrain|>json", Some("json")),
        ("final SECRET", None),
        ("final x=SECRET", None),
    ] {
        let text = format!("<|channel|>{header}<|message|>ok<|return|>");
        let mut stream = Stream::new(TextFormat::HARMONY, &ReadOptions::completion())
            .for_user(Policy::default());
        let mut events: Vec<_> = stream.feed(text.as_bytes()).map(|it| it.to_json()).collect();
        events.extend(stream.finish().map(|it| it.to_json()));
        let all = events.concat();
        assert!(!all.contains("SECRET"), "{all}");
        let is_told = |kind: &str| all.contains(&format!("\"content_type\":\"{kind}\""));
        assert!(
            told.is_none_or(is_told) && (told.is_some() || !all.contains("content_type")),
            "{all}"
        );
    }
}
