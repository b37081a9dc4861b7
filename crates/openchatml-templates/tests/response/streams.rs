//! Streams, and properties of all readings.

use openchatml::{Done, Event, Message, ReadOptions};
use openchatml_templates::ResponseStream;

use crate::{ALL, AUTHOR, GLM, THINK, read, template};

/// The messages, their deltas and the diagnostics of a stream in chunks.
fn streamed(
    json: &str,
    text: &[u8],
    size: usize,
) -> (Vec<Message<'static>>, Vec<String>, Vec<String>) {
    let mut stream = ResponseStream::new(
        &template(json),
        Some("<|im_start|>assistant\n<|assistant|>"),
        &ReadOptions::default(),
    );
    let mut events: Vec<Event<'static>> = Vec::new();
    for chunk in text.chunks(size) {
        events.extend(stream.feed(chunk));
    }
    events.extend(stream.finish());
    let (mut messages, mut deltas, mut others) = (Vec::new(), Vec::<String>::new(), Vec::new());
    for event in events {
        match event {
            Event::MessageStart { index, .. } => {
                assert_eq!(index, messages.len());
                deltas.push(String::new());
            }
            Event::Delta { text, .. }
            | Event::ReasoningDelta { text, .. }
            | Event::ToolCallDelta { text, .. } => {
                deltas.last_mut().expect("it began").push_str(&text);
            }
            Event::MessageDone { message, .. } => {
                let message = message.into_value();
                let is_told = message.is_call() || message.is_reasoning() || message.is_answer();
                assert_eq!(
                    deltas.last().expect("it began").as_str(),
                    if is_told { message.body.text().into_owned() } else { String::new() }
                );
                messages.push(message);
            }
            other => others.push(other.to_json()),
        }
    }
    (messages, deltas, others)
}

/// Texts made of the anchors and words of all templates.
fn random_text(seed: u64) -> String {
    let words = [
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "<|im_end|>",
        "<|channel|>",
        "analysis",
        "final",
        "commentary to=functions.",
        "f",
        "<|message|>",
        "<|end|>",
        "<|return|>",
        "<|call|>",
        "<arg_key>",
        "</arg_key>",
        "<arg_value>",
        "</arg_value>",
        "<mood>",
        "</mood>",
        "<a>",
        "<aaa>",
        "</a>",
        "{\"name\":\"f\",\"arguments\":{}}",
        " ",
        "\n\n",
        "é",
        "word",
        "<",
        "<|",
        "</",
        "1",
        "{",
        "\u{2028}",
        "<th",
        "ink>",
        "\u{fffd}",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let count = next() % 14;
    (0..count).map(|_| words[(next() % words.len() as u64) as usize]).collect()
}

#[test]
fn a_stream_gives_the_same_for_every_chunk_size() {
    for seed in 0..1500 {
        let text = random_text(seed);
        for json in ALL {
            let whole = streamed(json, text.as_bytes(), usize::MAX);
            for size in [1, 2, 3, 7] {
                assert_eq!(streamed(json, text.as_bytes(), size), whole, "{text:?} by {size}");
            }
        }
    }
}

#[test]
fn nothing_is_lost() {
    for seed in 0..1500 {
        let text = random_text(seed);
        for json in ALL {
            let read = read(json, None, &text);
            let spans: Vec<_> = read.diagnostics.iter().map(|it| it.span).collect();
            let messages = read.into_conversation().messages;
            let is_in = |at: usize| {
                messages.iter().any(|it| it.span.range().contains(&at))
                    || spans.iter().any(|it| it.range().contains(&at))
            };
            let lost: String =
                text.char_indices().filter(|(at, _)| !is_in(*at)).map(|(_, c)| c).collect();
            // Only white space, regions that are empty, and the close of the implicit region.
            let mut rest = lost.as_str();
            let framing = [
                "<think>",
                "</think>",
                "<|im_end|>",
                "<|message|>",
                "<|channel|>",
                "analysis",
                "final",
                "<|end|>",
                "<|return|>",
                "<a>",
                "<aaa>",
                "</a>",
                "<mood>",
            ];
            while let Some(c) = rest.chars().next() {
                match framing.iter().find_map(|it| rest.strip_prefix(it)) {
                    Some(after) => rest = after,
                    // Names before the anchor are a part of it.
                    None if json == AUTHOR => break,
                    None if c.is_whitespace() => rest = &rest[c.len_utf8()..],
                    None if lost.contains("<|channel|>") => break,
                    None => panic!("{lost:?} of {text:?} is lost"),
                }
            }
            // The words of bodies are in the messages.
            let bodies: String = messages.iter().map(|it| it.body.text().into_owned()).collect();
            if !text.contains("<|channel|>") && json != AUTHOR {
                assert_eq!(
                    text.matches("word").count(),
                    bodies.matches("word").count() + lost_words(json, &text, &bodies),
                    "{text:?}: {bodies:?}"
                );
            }
        }
    }
}

/// In this format, words between the tags of arguments are no arguments, and a name is in the header.
fn lost_words(json: &str, text: &str, bodies: &str) -> usize {
    let count = |it: &str| it.matches("word").count();
    if json == GLM && text.contains("<tool_call>") {
        count(text).saturating_sub(count(bodies))
    } else {
        0
    }
}

#[test]
fn a_match_grows_only_within_bounds() {
    let json =
        r#"{"fields": {"thinking": {"open_pattern": "a(?:.*b)?", "close": "c"}, "content": {}}}"#;
    let texts = |text: &str| -> Vec<String> {
        let messages = read(json, None, text).into_conversation().messages;
        messages.iter().map(|it| it.body.text().into_owned()).collect()
    };
    assert_eq!(texts("axbyc"), ["y"]);
    let far = format!("a{}byc", "x".repeat(300));
    assert_eq!(texts(&far), [format!("{}by", "x".repeat(300))]);
    for size in [1, 7] {
        let whole = streamed(json, far.as_bytes(), usize::MAX);
        assert_eq!(streamed(json, far.as_bytes(), size), whole);
    }
    assert_eq!(texts(&"ac".repeat(1_000)).len(), 0);
}

#[test]
fn events_say_how_the_response_ends() {
    let done = |text: &str| {
        let mut stream = ResponseStream::new(&template(THINK), None, &ReadOptions::default());
        let mut events: Vec<_> = stream.feed(text).collect();
        events.extend(stream.finish());
        events.into_iter().find_map(|event| match event {
            Event::Done { reason, .. } => Some(reason),
            _ => None,
        })
    };
    assert_eq!(done("Hi."), Some(Done::End));
    assert_eq!(done(r#"<tool_call>{"name": "f"}</tool_call>"#), Some(Done::Call));
    assert_eq!(done("<think>Hi"), None);
    assert_eq!(done(""), Some(Done::End));
    let mut stream = ResponseStream::new(&template(THINK), None, &ReadOptions::default());
    let names: Vec<_> = stream.feed("A\n\nB").map(|event| event.name()).collect();
    assert_eq!(
        names,
        ["message.start", "response.delta", "response.delta.flush", "response.delta"]
    );
    assert_eq!(stream.cancel().last().map(|event| event.name()), Some("response.cancel"));
}

#[test]
fn text_is_held_back_only_where_an_anchor_could_begin() {
    let mut stream = ResponseStream::new(&template(THINK), None, &ReadOptions::default());
    let mut deltas = |chunk: &str| -> String {
        let text = |event| match event {
            Event::Delta { text, .. } | Event::ReasoningDelta { text, .. } => text.into_owned(),
            _ => String::new(),
        };
        stream.feed(chunk).map(text).collect()
    };
    assert_eq!(deltas("a < b"), "a < b");
    assert_eq!(deltas("<thin"), "");
    assert_eq!(deltas("g"), "<thing");
    assert_eq!(deltas("<think>x"), "x");
    assert_eq!(deltas("</think>y"), "y");
}

#[test]
fn arbitrary_bytes_are_read() {
    let mut stream = ResponseStream::new(&template(THINK), None, &ReadOptions::default());
    let mut events: Vec<_> = stream.feed(b"a\xffb\xe2\x82").collect();
    events.extend(stream.feed(b"\xac\xf0\x9f"));
    events.extend(stream.finish());
    let bodies: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            Event::MessageDone { message, .. } => Some(message.body.text().into_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(bodies, ["a\u{fffd}b\u{20ac}\u{fffd}"]);
}
