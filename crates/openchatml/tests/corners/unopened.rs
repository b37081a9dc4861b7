//! Calls without the token that opens them.

use openchatml::{
    End, Event, Format, Keep, Message, ReadOptions, Role, Stream, TextFormat, Tool, parse,
};
use openchatml_testkit::property::stream;

const CALL: &str = "<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>";

fn options() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.continues = Some(Role::Assistant);
    options.tools = [Tool::new("f"), Tool::new("function")].into();
    options
}

fn format(name: &str) -> TextFormat {
    TextFormat::try_from(name.parse::<Format>().expect("a format")).expect("a text format")
}

/// Reads a text whole and in all ways in two chunks, which must be equal.
fn read(text: &str, name: &str, options: &ReadOptions) -> Vec<Message<'static>> {
    let format = format(name);
    let whole = parse(text, format.format(), options).into_conversation().into_owned().messages;
    for at in 0..=text.len() {
        let chunks = [&text.as_bytes()[..at], &text.as_bytes()[at..]];
        let told = stream(chunks, format.format(), options, Keep::Bodies);
        assert_eq!(told.messages, whole, "{name}: {text:?} at {at}");
    }
    let told = stream(text.as_bytes().chunks(1), format.format(), options, Keep::Bodies);
    assert_eq!(told.messages, whole, "{name}: {text:?} in bytes");
    whole
}

fn outline(messages: &[Message<'_>]) -> String {
    let told = messages.iter().map(|message| match message.is_call() {
        true if message.end == End::Call => format!("call({})", message.body.text()),
        true => "no call".to_owned(),
        false if message.is_reasoning() => format!("hidden({})", message.body.text()),
        false => message.body.text().into_owned(),
    });
    told.collect::<Vec<_>>().join("|")
}

#[test]
fn models_forget_the_token_that_opens_a_call() {
    let call = r#"call({"a": 1})"#;
    let cases = [
        (CALL.to_owned(), call.to_owned()),
        (format!("\n{CALL}<|im_end|>"), call.to_owned()),
        (format!("Hi.\n{CALL}<|im_end|>"), format!("Hi.|{call}")),
        (format!("Hi.\n{CALL}\n<tool_call>\n{CALL}"), format!("Hi.|{call}|{call}")),
        (format!("Hi.\n<function=no>\n{CALL}"), format!("Hi.\n<function=no>|{call}")),
    ];
    for name in ["qwen3-coder", "qwen3.5", "qwen3.8", "nemotron-3"] {
        for (text, expected) in &cases {
            assert_eq!(outline(&read(text, name, &options())), *expected, "{name}: {text:?}");
        }
    }
}

#[test]
fn other_text_stays_text() {
    let open = CALL.trim_end_matches("</tool_call>");
    let cases = [
        // Within a line, without the token that ends calls, of another tool, in quoted code.
        format!("Call {CALL}"),
        open.to_owned(),
        format!("Hi.\n{open}<|im_end|>"),
        format!("Hi.\n{}", CALL.replace("=f>", "=g>")),
        format!("Hi.\n{}", CALL.replace("=f>", "=f2>")),
        format!("Hi.\n```\n{CALL}\n```\n"),
        "Hi.\n<function=functional</tool_call>\n<functi".to_owned(),
        "<".to_owned(),
        "<function=f>".to_owned(),
    ];
    for text in &cases {
        let messages = read(text, "qwen3.5", &options());
        let calls = messages.iter().filter(|message| message.is_call()).count();
        assert_eq!(calls, 0, "{text:?}: {}", outline(&messages));
        let shown: String = messages.iter().map(|it| it.body.text()).collect();
        let kept = text.replace("<|im_end|>", "").replace("</tool_call>", "");
        assert_eq!(shown.replace("</tool_call>", ""), kept, "{text:?}");
    }
}

#[test]
fn without_tools_it_is_text() {
    let mut options = options();
    options.tools = [].into();
    let messages = read(CALL, "qwen3.5", &options);
    assert!(messages.iter().all(|message| !message.is_call()), "{}", outline(&messages));
}

#[test]
fn withheld_text_has_the_limit_of_a_message() {
    let mut options = options();
    options.limits.message_bytes = 40;
    let text = format!("Hi.\n<function=f>\n{}", "x".repeat(100));
    let mut stream = Stream::new(format("qwen3.5"), &options);
    let told: Vec<_> = stream.feed(&text).collect();
    let is_told = |event: &Event<'_>| matches!(event, Event::Delta { text, .. } if text.contains("<function=f>"));
    assert!(told.iter().any(is_told), "the text is no longer withheld: {told:?}");
}
