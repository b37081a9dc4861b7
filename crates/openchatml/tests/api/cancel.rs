//! Streams that nobody wants the rest of.

use openchatml::{Event, ReadOptions, Stream};

/// The events of a stream with this header that is cancelled in the middle of a message.
fn cancelled(header: &str) -> Vec<String> {
    let format = "openchatml-2.2".parse().expect("a format");
    let mut stream = Stream::new(format, &ReadOptions::default()).expect("a text format");
    let mut events = Vec::new();
    let mut note = |event: Event<'_>| {
        events.push(match event {
            Event::Diagnostic { diagnostic, .. } => diagnostic.code.as_str().to_owned(),
            event => event.name().to_owned(),
        });
    };
    let text = format!("version: 2.2\n{header}\n<|start|>user<|message|>Once");
    stream.feed(text.as_bytes(), &mut note);
    stream.cancel(&mut note);
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
