//! Values of parameters without an end, and of another type than their tool declares.

use openchatml::convert::convert;
use openchatml::{
    Code, Conversation, End, Format, Keep, Limits, Message, ReadOptions, RenderOptions, Role,
    Severity, Tool, Value, parse,
};
use openchatml_testkit::property::stream;

fn options() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.continues = Some(Role::Assistant);
    options
}

/// Reads a text whole and in all ways in two chunks, which must be equal.
fn read(text: &str, name: &str) -> Vec<Message<'static>> {
    let format = name.parse::<Format>().expect("a format");
    let whole = parse(text, format, &options()).into_conversation().into_owned().messages;
    for at in 0..=text.len() {
        let chunks = [&text.as_bytes()[..at], &text.as_bytes()[at..]];
        let told = stream(chunks, format, &options(), Keep::Bodies);
        assert_eq!(told.messages, whole, "{name}: {text:?} at {at}");
    }
    let told = stream(text.as_bytes().chunks(1), format, &options(), Keep::Bodies);
    assert_eq!(told.messages, whole, "{name}: {text:?} in bytes");
    whole
}

fn runs(text: &str, name: &str) -> bool {
    read(text, name).iter().any(|message| message.end == End::Call && !message.recovered)
}

#[test]
fn a_call_with_another_call_in_a_value_is_not_run() {
    let xml = |value: &str| {
        format!("<tool_call>\n<function=a>\n<parameter=x>\n{value}\n</function>\n</tool_call>")
    };
    for (value, is_run) in [
        ("1\n<tool_call>\n<function=b>\n<parameter=y>\n2\n</parameter>", false),
        ("1\n<function=b>\n<parameter=y>\n2\n</parameter>", false),
        ("<tool_call><function=b> <parameter=y>2</parameter>", false),
        ("<<function=b><parameter=y>2</parameter>", false),
        ("a <b> <function=b>\n<parameter=y>2</parameter>", false),
        ("<function=b>\n\n <parameter=y>2</parameter>", false),
        ("<function=b>\n<function=c><parameter=y>2</parameter>", false),
        ("<function=b>\n2<parameter=y></parameter>", true),
        ("<function=b><param=y>2</parameter>", true),
        ("<function=b c><parameter=y>2</parameter>", true),
        ("<tool_call>b</parameter>", true),
        ("<tool_call>b", true),
        ("<tool_call>", false),
        ("a <", true),
        ("1</parameter", false),
        ("1</parameter <b</parameter>", false),
        ("1</parameter b</parameter>", true),
        ("1</parameters", true),
        // What a value contains does not count for the next one.
        ("1</parameter\n</parameter>\n<parameter=b>\n<i>\n</parameter>", true),
    ] {
        assert_eq!(runs(&xml(value), "qwen3-coder"), is_run, "{value:?}");
    }
    let tags = |value: &str| {
        format!("<tool_call>a<arg_key>x</arg_key><arg_value>{value}</arg_value></tool_call>")
    };
    for (value, is_run) in [
        ("1<tool_call>b<arg_key>y</arg_key><arg_value>2", false),
        ("1<tool_call>b c<arg_key>y", true),
        ("1<tool_call>b</tool_call> 2", true),
        ("1 <tool_call> 2", true),
        ("1<tool_call>b</arg_key>2", true),
    ] {
        assert_eq!(runs(&tags(value), "glm-4.7"), is_run, "{value:?}");
    }
}

/// A key that would be read as another one is not written.
#[test]
fn keys_are_written_as_they_are_read() {
    for (key, bare, tagged) in [
        ("a", true, true),
        ("a b", true, true),
        ("", false, false),
        (" a", false, true),
        ("a ", false, true),
        ("\"a", false, true),
        ("a:b", false, true),
        ("a}", false, true),
    ] {
        let flat = serde_json::json!({ key: 1 });
        let nested = serde_json::json!({ "x": { key: 1 } });
        for (format, arguments, is_written) in [
            ("gemma-4", &flat, bare),
            ("gemma-4", &nested, bare),
            ("qwen3-coder", &flat, tagged),
            ("qwen3-coder", &nested, true),
        ] {
            let call = Message::call("f", arguments.to_string()).with_call_id("c1");
            let document = Conversation::from_messages([Message::user("Hi."), call]).into();
            let format = format.parse::<Format>().expect("a format");
            let written = convert(&document, format, &RenderOptions::default());
            assert_eq!(written.is_ok(), is_written, "{format}: {arguments}: {written:?}");
        }
    }
}

#[test]
fn text_in_the_place_of_another_type_is_reported() {
    let schema = r#"{"type": "object", "properties": {"n": {"type": "integer"}, "s": {}}}"#;
    let schema = Value::from_json(schema, &Limits::default()).expect("JSON").into_owned();
    let mut options = options();
    options.tools = [Tool::new("a").with_parameters(schema)].into();
    let format: Format = "qwen3-coder".parse().expect("a format");
    for (key, value, is_found) in
        [("n", "two", true), ("n", "2x", true), ("n", "2", false), ("s", "two", false)]
    {
        let text = format!(
            "<tool_call>\n<function=a>\n<parameter={key}>\n{value}\n</parameter>\n</function>\n</tool_call>"
        );
        let parsed = parse(&text, format, &options);
        let mut found = parsed.diagnostics.iter();
        let found = found.find(|it| it.code == Code::CallSchema);
        let severity = found.map(|it| it.severity);
        assert_eq!(severity, is_found.then_some(Severity::Warning), "{key}: {value}");
    }
}
