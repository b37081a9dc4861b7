//! Arguments that are nested elements: what is read, and what is not run.

use openchatml::convert::convert;
use openchatml::{
    Channel, Code, Conversation, End, Format, Keep, Limits, Message, ReadOptions, RenderOptions,
    Severity, Tool, Value, parse,
};
use openchatml_testkit::property::stream;

const FORMAT: Format = Format::MINIMAX_M3;

/// Writes `{` as the token before each tag.
fn spelled(text: &str) -> String {
    text.replace('{', "]<]minimax[>[")
}

/// Writes elements as the only call of a completion.
fn call(elements: &str) -> String {
    spelled(&format!(
        "</mm:think>{{<tool_call>\n{{<invoke name=\"f\">{elements}{{</invoke>\n{{</tool_call>[e~["
    ))
}

fn options(schema: Option<&str>) -> ReadOptions {
    let mut options = ReadOptions::completion();
    if let Some(schema) = schema {
        let schema = Value::from_json(schema, &Limits::default()).expect("JSON").into_owned();
        options.tools = [Tool::new("f").with_parameters(schema)].into();
    }
    options
}

/// Reads a text whole and in all ways in two chunks, which must be equal.
fn read(text: &str, options: &ReadOptions) -> Vec<Message<'static>> {
    let whole = parse(text, FORMAT, options);
    let found = whole.diagnostics.clone();
    let whole = whole.into_conversation().into_owned().messages;
    for at in 0..=text.len() {
        let chunks = [&text.as_bytes()[..at], &text.as_bytes()[at..]];
        let told = stream(chunks, FORMAT, options, Keep::Bodies);
        assert_eq!(told.messages, whole, "{text:?} at {at}");
        assert_eq!(told.diagnostics, found, "{text:?} at {at}");
    }
    let told = stream(text.as_bytes().chunks(1), FORMAT, options, Keep::Bodies);
    assert_eq!(told.messages, whole, "{text:?} in bytes");
    whole
}

/// Returns the arguments of the calls that are run.
fn run(text: &str, options: &ReadOptions) -> Vec<String> {
    let all = read(text, options);
    let all = all.iter().filter(|message| message.end == End::Call && !message.recovered);
    all.map(|message| message.body.text().into_owned()).collect()
}

#[test]
fn elements_are_read_as_json() {
    for (elements, arguments) in [
        ("", "{}"),
        ("{<a>1{</a>", r#"{"a": 1}"#),
        ("{<a>x{</a>{<b>true{</b>", r#"{"a": "x", "b": true}"#),
        ("{<a>{</a>", r#"{"a": ""}"#),
        ("{<a> \n{</a>", r#"{"a": " \n"}"#),
        ("{<a>null{</a>", r#"{"a": null}"#),
        ("{<a>1.{</a>", r#"{"a": "1."}"#),
        ("{<a>1 2{</a>", r#"{"a": "1 2"}"#),
        ("{<a>\"x\"{</a>", r#"{"a": "\"x\""}"#),
        ("{<a> x\n{</a>", r#"{"a": " x\n"}"#),
        ("{<a><b>x</b>{</a>", r#"{"a": "<b>x</b>"}"#),
        ("{<a>[1, 2]{</a>", r#"{"a": [1, 2]}"#),
        ("{<a>{<b>1{</b>{<c>x{</c>{</a>", r#"{"a": {"b": 1, "c": "x"}}"#),
        ("{<a>{<item>1{</item>{<item>x{</item>{</a>", r#"{"a": [1, "x"]}"#),
        ("{<a>{<item>{<b>1{</b>{</item>{</a>", r#"{"a": [{"b": 1}]}"#),
        ("{<a>{<item>{<item>1{</item>{</item>{</a>", r#"{"a": [[1]]}"#),
        ("{<item>1{</item>", r#"{"item": 1}"#),
        ("\n {<a>\n{<b>1{</b>\n{</a>\n", r#"{"a": {"b": 1}}"#),
        ("{<a b>é{</a b>", r#"{"a b": "é"}"#),
        ("{<invoked>1{</invoked>", r#"{"invoked": 1}"#),
        ("{<a>1]{</a>", r#"{"a": "1]"}"#),
        ("{<a>]<]minimax[>{</a>", r#"{"a": "]<]minimax[>"}"#),
        ("{<a>x</mm:think>y{</a>", r#"{"a": "x</mm:think>y"}"#),
        ("{<a><mm:think>{</a>", r#"{"a": "<mm:think>"}"#),
    ] {
        assert_eq!(run(&call(elements), &options(None)), [arguments], "{elements:?}");
    }
}

#[test]
fn other_layout_and_spelling_is_told() {
    for (elements, is_told) in [
        ("{<a>1{</a>", false),
        ("{<a>{<item>null{</item>{</a>", false),
        ("{<a>{</a>", false),
        ("\n{<a>1{</a>", true),
        ("{<a>1{</a>\n", true),
        ("{<a>\n{<b>1{</b>{</a>", true),
        ("{<a>{<b>1{</b>\n{</a>", true),
        ("{<a> 1{</a>", true),
        ("{<a>null{</a>", true),
        ("{<a>[1]{</a>", true),
        ("{<a>{}{</a>", true),
    ] {
        // A brace of JSON is no token.
        let text = call(elements).replace("]<]minimax[>[}", "{}");
        assert_eq!(run(&text, &options(None)).len(), 1, "{elements:?}");
        let found = parse(&text, FORMAT, &options(None)).diagnostics;
        let found: Vec<_> = found.iter().filter_map(|it| it.help.as_deref()).collect();
        let form = spelled("{<invoke name=\"NAME\">{<KEY>VALUE{</KEY>");
        let help = format!("a call is written as `{form}`");
        assert_eq!(found, if is_told { vec![&*help] } else { vec![] }, "{elements:?}");
    }
}

/// Behind an error in the call, it ends the reasoning.
#[test]
fn an_end_of_reasoning_in_a_value_of_a_call_in_reasoning_is_text() {
    let text = call("{<a>x</mm:think>y{</a>").replacen("</mm:think>", "<mm:think>", 1);
    assert_eq!(run(&text, &options(None)), [r#"{"a": "x</mm:think>y"}"#]);
    let text = spelled("<mm:think>{<invoke name=\"f\">{<a>x{<b>y</mm:think>Hi.[e~[");
    let read = read(&text, &options(None));
    assert_eq!(read.last().map(|it| it.body.text().into_owned()).as_deref(), Some("Hi."));
}

#[test]
fn a_call_with_malformed_elements_is_not_run() {
    for elements in [
        // Text where an element must be.
        "x",
        "{<a>1{</a>x",
        "{<a>x{<b>1{</b>{</a>",
        "{<a>1{<b>2{</b>{</a>",
        "{<a>{<b>1{</b>x{</a>",
        // Closing tags that are missing, cut, or of another element.
        "{<a>1",
        "{<a>1{<b>2{</b>",
        "{<a>1</a>{<b>2{</b>",
        "{<a>1{</a{<b>2{</b>",
        "{<a>1{</b>",
        "{<a>{<b>1{</a>{</b>",
        "{<a>{<b>1{</a>",
        "{</a>",
        "{<a>1{</a>{</a>",
        "{<a>1{</",
        "{<a>1{</a",
        // Names.
        "{<>1{</>",
        "{<a>1{</a>{<a>2{</a>",
        "{<a>{<b>1{</b>{<b>2{</b>{</a>",
        "{<a>{<item>1{</item>{<b>2{</b>{</a>",
        "{<a",
        "{<a{<b>1{</b>",
        "{<invoke>1{</invoke>",
        // The token of a tag without its bracket.
        "{",
        "{ <a>1{</a>",
        "{<a>1{ {</a>",
        "{<a>1{a>",
        // Calls, and the ends of calls, inside.
        "{<a>{<tool_call>\n{<invoke name=\"g\">{</invoke>\n{</tool_call>{</a>",
        "{<a>x{<invoke name=\"g\">{<b>1{</b>{</invoke>{</a>",
        "{<a>{<invoke name=\"g\">{</invoke>{<invoke name=\"h\">{</invoke>{</a>",
        "{<a>x{</tool_call>y{</a>",
        "{<a>x{<tool_call>y{</a>",
    ] {
        let calls = run(&call(elements), &options(None));
        assert!(calls.is_empty(), "{elements:?}: {calls:?}");
        let found = parse(&call(elements), FORMAT, &options(None)).diagnostics;
        assert!(found.iter().any(|it| it.severity == Severity::Error), "{elements:?}");
    }
}

#[test]
fn what_follows_a_malformed_call_is_read_unless_a_value_has_no_end() {
    for (text, is_run) in [
        ("{<invoke name=\"f\">x{</invoke>\n{<invoke name=\"g\">{</invoke>\n", true),
        ("{<invoke name=\"f\">x{<a>1{</a>{</invoke>\n{<invoke name=\"g\">{</invoke>\n", true),
        ("{<invoke name=\"f\">x\n{<invoke name=\"g\">{</invoke>\n", true),
        ("{<invoke name=\"f\">{<invoke name=\"g\">{</invoke>\n", true),
        ("{<invoke name=\"f\">{<a>1{</a>{<invoke name=\"g\">{</invoke>\n", true),
        // The second call can be in a value of the first one.
        ("{<invoke name=\"f\">x{<a>1{</invoke>\n{<invoke name=\"g\">{</invoke>\n", false),
        ("{<invoke name=\"f\">x{<a>{<b>1{</b>{<invoke name=\"g\">{</invoke>\n", false),
        ("{<invoke name=\"f\">{<a>{<invoke name=\"g\">{</invoke>\n", false),
        ("{<invoke name=\"f\">{<a>{<invoke name=\"g\">{</invoke>\n{</invoke>\n", false),
        ("{<invoke name=\"f\">{<a>x{</invoke>\n{<invoke name=\"g\">{</invoke>\n", false),
        ("{<invoke name=\"f\">{<a>x{</b>{</invoke>\n{<invoke name=\"g\">{</invoke>\n", false),
        ("{<invoke name=\"f\">{<a{</invoke>\n{<invoke name=\"g\">{</invoke>\n", false),
        ("{<invoke name=\"f\">{<a>x{</tool_call>secret{<invoke name=\"g\">{</invoke>\n", false),
    ] {
        for before in ["</mm:think>{<tool_call>\n", "</mm:think>", "<mm:think>{<tool_call>\n"] {
            let text = spelled(&format!("{before}{text}{{</tool_call>[e~["));
            let read = read(&text, &options(None));
            let all = read.iter().filter(|it| it.end == End::Call && !it.recovered);
            let all: Vec<_> = all.filter_map(|it| it.recipient.as_deref()).collect();
            let expected = if is_run { vec!["functions.g"] } else { vec![] };
            assert_eq!(all, expected, "{text:?}");
            // None of it is shown.
            assert!(read.iter().all(|it| it.channel != Some(Channel::Final)), "{text:?}");
        }
    }
}

#[test]
fn values_have_the_types_that_their_tool_declares() {
    let schema = r#"{"properties": {
        "s": {"type": "string"}, "n": {"type": "integer"}, "l": {"type": "array", "items": {"type": "string"}},
        "o": {"type": "object", "properties": {"item": {"type": "string"}, "q": {"type": "number"}}},
        "m": {"type": ["string", "null"]}, "b": {"type": "boolean"}
    }}"#;
    for (elements, arguments, is_mistyped) in [
        ("{<s>1{</s>", r#"{"s": "1"}"#, false),
        ("{<s>{</s>", r#"{"s": ""}"#, false),
        ("{<n>1{</n>", r#"{"n": 1}"#, false),
        ("{<n>one{</n>", r#"{"n": "one"}"#, true),
        ("{<n>{</n>", r#"{"n": ""}"#, true),
        ("{<l>{</l>", r#"{"l": []}"#, false),
        ("{<l>\n{</l>", r#"{"l": []}"#, false),
        ("{<o>{</o>", r#"{"o": {}}"#, false),
        ("{<l>{<item>1{</item>{</l>", r#"{"l": ["1"]}"#, false),
        ("{<l>[\"1\"]{</l>", r#"{"l": ["1"]}"#, false),
        ("{<o>{<item>1{</item>{<q>2{</q>{</o>", r#"{"o": {"item": "1", "q": 2}}"#, false),
        ("{<m>null{</m>", r#"{"m": null}"#, false),
        ("{<b>True{</b>", r#"{"b": true}"#, false),
        ("{<x>1{</x>", r#"{"x": 1}"#, false),
    ] {
        let options = options(Some(schema));
        let text = call(elements);
        assert_eq!(run(&text, &options), [arguments], "{elements:?}");
        let found = parse(&text, FORMAT, &options).diagnostics;
        assert_eq!(found.iter().any(|it| it.code == Code::CallSchema), is_mistyped, "{elements:?}");
    }
    // An item of a declared list has the name of items.
    assert!(run(&call("{<l>{<x>1{</x>{</l>"), &options(Some(schema))).is_empty());
}

#[test]
fn a_limit_of_elements_is_an_error() {
    let nested = |depth: usize| {
        let open: String = (0..depth).map(|at| format!("{{<a{at}>")).collect();
        let close: String = (0..depth).rev().map(|at| format!("{{</a{at}>")).collect();
        call(&format!("{open}1{close}"))
    };
    let mut limited = options(None);
    limited.limits.json_depth = 3;
    assert_eq!(run(&nested(2), &limited).len(), 1);
    assert!(run(&nested(3), &limited).is_empty());
    let found = parse(&nested(3), FORMAT, &limited).diagnostics;
    assert!(found.iter().any(|it| it.code == Code::Limit));
    let mut limited = options(None);
    limited.limits.value_bytes = 4;
    assert_eq!(run(&call("{<abcd>1{</abcd>"), &limited).len(), 1);
    assert!(run(&call("{<abcdé>1{</abcdé>"), &limited).is_empty());
    let mut limited = options(None);
    limited.limits.message_bytes = 12;
    assert_eq!(run(&call("{<a>1234{</a>"), &limited), [r#"{"a": 1234}"#]);
    assert!(run(&call("{<a>1234567890123{</a>"), &limited).is_empty());
}

/// Arguments that would be read differently are not written.
#[test]
fn arguments_are_written_as_they_are_read() {
    for (arguments, elements) in [
        (r#"{"a": "x", "n": 1.5, "b": false}"#, Some("{<a>x{</a>{<n>1.5{</n>{<b>false{</b>")),
        (r#"{"a": null, "b": 1}"#, Some("{<b>1{</b>")),
        (r#"{"a": {"b": null}}"#, Some("{<a>{</a>")),
        (r#"{"a": [], "b": {}, "c": ""}"#, Some("{<a>{</a>{<b>{</b>{<c>{</c>")),
        (r#"{"a": [1, null]}"#, Some("{<a>{<item>1{</item>{<item>null{</item>{</a>")),
        (
            r#"{"a": [[1], {"b": "x"}]}"#,
            Some("{<a>{<item>{<item>1{</item>{</item>{<item>{<b>x{</b>{</item>{</a>"),
        ),
        (r#"{"item": 1}"#, Some("{<item>1{</item>")),
        (r#"{"a": {"item": 1}}"#, Some("{<a>{<item>1{</item>{</a>")),
        (r#"{"a": {"item": 1, "b": 2}}"#, None),
        (r#"{"a": {"b": 1, "item": 2}}"#, Some("{<a>{<b>1{</b>{<item>2{</item>{</a>")),
        (r#"{"a b": 1}"#, Some("{<a b>1{</a b>")),
        (r#"{"": 1}"#, None),
        (r#"{"a>": 1}"#, None),
        (r#"{"/a": 1}"#, None),
        (r#"{"invoke": 1}"#, None),
        (r#"{"tool_call": 1}"#, None),
        (r#"{"a": {"invoke": 1}}"#, None),
        (r#"{"tool_call>": 1}"#, None),
        (r#"{"invoke name=\"": 1}"#, None),
        (r#"{"a": "]<]minimax[>["}"#, None),
        (r#"{"a": "]<]minimax[>[</a>"}"#, None),
        (r#"{"a": "[e~["}"#, None),
        (r#"{"a": "</mm:think>"}"#, None),
        (r#"{"a": "<response>x</response>"}"#, Some("{<a><response>x</response>{</a>")),
        (r#"{"a]<]minimax[>[": 1}"#, None),
    ] {
        let call = Message::call("functions.f", arguments);
        let document = Conversation::from_messages([Message::user("Hi."), call]).into();
        let written = convert(&document, FORMAT, &RenderOptions::default());
        let written = written.map(|written| written.output);
        let body = elements.map(spelled);
        let found = written.as_ref().ok().and_then(|text| {
            let (_, rest) = text.split_once("name=\"f\">")?;
            Some(rest.split_once(&spelled("{</invoke>"))?.0.to_owned())
        });
        assert_eq!(found, body, "{arguments}: {written:?}");
    }
}

#[test]
fn an_error_says_that_a_key_cannot_be_written() {
    for key in ["", "a>", "/a", "invoke", "tool_call", "tool_call>", "invoke name=\""] {
        for arguments in [serde_json::json!({ key: 1 }), serde_json::json!({ "a": { key: 1 } })] {
            let call = Message::call("functions.f", arguments.to_string());
            let document = Conversation::from_messages([Message::user("Hi."), call]).into();
            let error = convert(&document, FORMAT, &RenderOptions::default()).expect_err(key);
            assert!(error.to_string().ends_with("whose keys can be written"), "{error}");
        }
    }
}
