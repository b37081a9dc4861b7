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

/// Values of a call of Qwen3-Coder, and whether it runs.
const VALUES: &[(&str, bool)] = &[
    ("1\n<tool_call>\n<function=b>\n<parameter=y>\n2\n</parameter>", false),
    ("1\n<function=b>\n<parameter=y>\n2\n</parameter>", false),
    ("<tool_call><function=b> <parameter=y>2</parameter>", false),
    ("<<function=b><parameter=y>2</parameter>", false),
    ("a <b> <function=b>\n<parameter=y>2</parameter>", false),
    ("<function=b>\n\n <parameter=y>2</parameter>", false),
    ("<function=b>\n<function=c><parameter=y>2</parameter>", false),
    ("<function=b>\n2<parameter=y></parameter> 3</parameter>", true),
    ("1<parameter=y>\n2</parameter>", false),
    ("<function=b><param=y>2</parameter>", true),
    ("<function=b c><parameter=y>2</parameter> 3", true),
    ("<tool_call>b</parameter>", true),
    ("<tool_call>b", true),
    ("<tool_call>", false),
    ("a <", true),
    // Another parameter without the end of the one before it.
    ("1<parameter=y>\n2", false),
    ("1 <parameter=y>\n2", false),
    ("1</parameter> 2<parameter=y>\n3", false),
    ("1<parameter=y>\n2</parameter> <parameter=z>\n3", false),
    ("1<parameter=y>\n2</parameter> 3", true),
    ("1<parameter=a<parameter=y>\n2</parameter> 3", true),
    ("1<parameter=a\n>2", true),
    ("1<parameter=2", true),
    ("1 <parameter=y> 2", true),
    ("1 <parameter=y>\n</parameter>", true),
    ("1<parameter", true),
    ("1</parameter", false),
    ("1</parameter <b</parameter>", false),
    ("1</parameter b</parameter>", true),
    ("1</parameters", true),
    // A closing tag too much.
    ("1</parameter></parameter>", false),
    ("1\n</parameter>\n</parameter>", false),
    ("1</parameter>\n/function>", false),
    ("1</parameter> and </parameter>", true),
    ("<parameter>1</parameter></parameter>", true),
    ("<parameter name='a'>1</parameter>\n</parameter>", true),
    // What a value contains does not count for the next one.
    ("1</parameter\n</parameter>\n<parameter=b>\n<i>\n</parameter>", true),
];

#[test]
fn a_call_with_another_call_in_a_value_is_not_run() {
    let xml = |value: &str| {
        format!("<tool_call>\n<function=a>\n<parameter=x>\n{value}\n</function>\n</tool_call>")
    };
    for (value, is_run) in VALUES {
        assert_eq!(runs(&xml(value), "qwen3-coder"), *is_run, "{value:?}");
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
        ("1<arg_key>y</arg_key><arg_value>2", false),
        ("1<arg_key>y</arg_key>\n<arg_value>2</arg_value> 3", true),
        ("1<arg_key>y</arg_key>2", false),
        ("1<arg_key>2", true),
        ("1</arg_value>", false),
        ("<arg_value>1", false),
        ("<arg_value>1</arg_value> 2", true),
        ("1</arg_value></arg_value>", false),
    ] {
        assert_eq!(runs(&tags(value), "glm-4.7"), is_run, "{value:?}");
    }
}

/// A value that contains the beginning of another parameter has no end of its own. A text can mention
/// parameters that its tool does not have.
#[test]
fn a_call_with_another_parameter_in_a_value_is_not_run() {
    let formats = [
        (
            "minimax-m2",
            "<minimax:tool_call>\n<invoke name=\"a\">\n<parameter name=\"x\">1<parameter name=\"KEY\">2</parameter>\n</invoke>\n</minimax:tool_call>",
        ),
        (
            "seed-oss",
            "<seed:tool_call>\n<function=a>\n<parameter=x>1<parameter=KEY>2</parameter>\n</function>\n</seed:tool_call>",
        ),
        (
            "qwen3-coder",
            "<tool_call>\n<function=a>\n<parameter=x>\n1<parameter=KEY>\n2\n</parameter>\n</function>\n</tool_call>",
        ),
        (
            "nemotron-3",
            "<tool_call>\n<function=a>\n<parameter=x>\n1<parameter=KEY>\n2\n</parameter>\n</function>\n</tool_call>",
        ),
    ];
    let schema = r#"{"type": "object", "properties": {"x": {}, "y": {}}}"#;
    let schema = Value::from_json(schema, &Limits::default()).expect("JSON").into_owned();
    let mut declared = options();
    declared.tools = [Tool::new("a").with_parameters(schema)].into();
    for (name, text) in formats {
        for (key, is_run) in [("y", false), ("z", true)] {
            let format: Format = name.parse().expect("a format");
            let text = text.replace("KEY", key);
            let parsed = parse(&text, format, &declared);
            let call = &parsed.into_conversation().messages[0];
            assert_eq!(!call.recovered && call.end == End::Call, is_run, "{name}: {key}");
        }
    }
    // Their tags are tokens.
    for (name, close, text) in [
        (
            "glm-4.5",
            "</arg_value>",
            "<tool_call>a\n<arg_key>x</arg_key>\n<arg_value>1<arg_key>y</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
        ),
        (
            "hy-3",
            "</arg_value:opensource>",
            "<tool_calls:opensource>\n<tool_call:opensource>a<tool_sep:opensource>\n<arg_key:opensource>x</arg_key:opensource>\n<arg_value:opensource>1<arg_key:opensource>y</arg_key:opensource>\n<arg_value:opensource>2</arg_value:opensource>\n</tool_call:opensource>\n</tool_calls:opensource>",
        ),
        (
            "deepseek-v3.2",
            "</｜DSML｜parameter>",
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"a\">\n<｜DSML｜parameter name=\"x\" string=\"true\">1<｜DSML｜parameter name=\"y\" string=\"true\">2</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        ),
        (
            "kimi-k3",
            "<|close|>argument<|sep|>",
            "<|open|>tools<|sep|><|open|>call tool=\"a\" index=\"1\"<|sep|><|open|>argument key=\"x\" type=\"string\"<|sep|>1<|open|>argument key=\"y\" type=\"string\"<|sep|>2<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
        ),
    ] {
        assert!(!runs(text, name), "{name}");
        assert!(runs(&text.replace(">1<", &format!(">1{close}<")), name), "{name}");
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
