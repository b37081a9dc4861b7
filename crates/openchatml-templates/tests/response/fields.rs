//! What fields become, and what malformed output becomes.

use openchatml::{Code, ReadOptions, Recover, Tool, Value};
use openchatml_templates::ResponseTemplate;

use crate::{GLM, HARMONY, PLAIN, THINK, check, read, template, written};

#[test]
fn fields_become_messages() {
    check(
        THINK,
        None,
        "<think>\nHm.\n</think>\n\nHello!\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1.0}}\n</tool_call><|im_end|>\n",
        &["analysis end: Hm.", "final end: Hello!", r#"commentary to=functions.f call: {"a":1.0}"#],
        &[],
    );
    check(
        HARMONY,
        Some("<|start|>user<|message|>Hi<|end|><|start|>assistant"),
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
        &["analysis end: Hm.", "commentary to=functions.f call: {}"],
        &[],
    );
    check(
        GLM,
        None,
        "<tool_call>get\n<arg_key>a</arg_key>\n<arg_value>1 < 2</arg_value><arg_key>b</arg_key><arg_value></arg_value></tool_call>",
        &[r#"commentary to=functions.get call: {"a":"1 < 2","b":""}"#],
        &[],
    );
}

#[test]
fn the_prompt_is_read_from_its_last_anchor() {
    let prompt = "<|im_start|>assistant\nOld.<|im_end|>\n<|im_start|>assistant\n<think>\n";
    check(THINK, Some(prompt), "Hm.</think>Yes.", &["analysis end: Hm.", "final end: Yes."], &[]);
    let read = read(THINK, Some(prompt), "Hm.</think>Yes.");
    let spans: Vec<_> =
        read.into_conversation().messages.iter().map(|it| it.span.range()).collect();
    assert_eq!(spans, [0..11, 11..15]);
    // A prompt of another format is not read.
    check(THINK, Some("user: secret"), "Yes.", &["final end: Yes."], &[Code::ParseFrame]);
    // What the prompt began is a part of the message.
    check(THINK, Some("<|im_start|>assistant\nSure, "), "yes.", &["final end: Sure, yes."], &[]);
    let mut options = ReadOptions::default();
    options.in_reasoning = true;
    let read = template(THINK).read(None, "Hm.</think>Yes.", &options);
    let messages = read.into_conversation().messages;
    assert_eq!(written(&messages), ["analysis end: Hm.", "final end: Yes."]);
}

#[test]
fn broken_fields_are_kept_and_hidden() {
    let broken = Code::BodyConstraintViolation;
    check(
        THINK,
        None,
        "<tool_call>{\"name\":</tool_call>",
        &["analysis recovered end: {\"name\":"],
        &[broken],
    );
    check(THINK, None, "<tool_call></tool_call>", &[], &[broken]);
    check(
        THINK,
        None,
        "<tool_call>[1]</tool_call>",
        &["analysis recovered end: {\"type\":\"function\",\"function\":[1]}"],
        &[broken],
    );
    check(
        THINK,
        None,
        r#"<tool_call>{"name": "f", "arguments": [1]}</tool_call>"#,
        &["commentary to=functions.f recovered end: [1]"],
        &[broken],
    );
    check(
        THINK,
        None,
        r#"<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>"#,
        &[r#"commentary to=functions.f call: {"a": 1}"#],
        &[],
    );
    check(
        THINK,
        None,
        r#"<tool_call>{"name": "f"}</tool_call>"#,
        &["commentary to=functions.f call: {}"],
        &[],
    );
    check(
        HARMONY,
        None,
        "<|channel|>commentary to=functions.f<|message|>{\"a\"<|call|>",
        &["commentary to=functions.f recovered end: {\"a\""],
        &[broken],
    );
    check(GLM, None, "<mood>5</mood>", &["analysis recovered end: 5"], &[Code::UnknownKey]);
    check(GLM, None, "<mood>five</mood>", &["analysis recovered end: five"], &[broken]);
    check(PLAIN, None, "x", &["analysis recovered end: x"], &[Code::ParseFrame, Code::ParseFrame]);
}

#[test]
fn a_region_without_an_end_is_open() {
    let cut = Code::StreamTruncated;
    check(THINK, None, "<think>Hm", &["analysis open: Hm"], &[cut]);
    check(THINK, None, "<think>Hm</think", &["analysis open: Hm</think"], &[cut]);
    check(THINK, None, "<think>", &["analysis open: "], &[cut]);
    check(THINK, None, "Hi", &["final end: Hi"], &[]);
    check(THINK, None, "Hi <thi", &["final end: Hi <thi"], &[]);
    check(
        THINK,
        None,
        r#"<tool_call>{"name":"f","arguments":{}}"#,
        &["commentary to=functions.f open: {}"],
        &[cut],
    );
    check(
        THINK,
        None,
        r#"<tool_call>{"na"#,
        &[r#"analysis recovered open: {"na"#],
        &[cut, Code::BodyConstraintViolation],
    );
    // The end of the text closes this region.
    check(PLAIN, None, "<aa> x ", &["final end:  x "], &[]);
    check(HARMONY, None, "", &[], &[]);
    check(PLAIN, None, "", &[], &[Code::ParseFrame]);
}

#[test]
fn anchors_are_found_where_they_count() {
    // Inside of a region, only its own close counts.
    check(
        THINK,
        None,
        "<think>a<tool_call>b<|im_end|></think>c",
        &["analysis end: a<tool_call>b<|im_end|>", "final end: c"],
        &[],
    );
    // Outside, a close of another region is text.
    check(THINK, None, "a</think>b", &["final end: a</think>b"], &[]);
    check(THINK, None, "a<|im_end|>b", &["final end: a", "final end: b"], &[]);
    check(THINK, None, "<think></think><think> \n</think>", &[], &[]);
    check(THINK, None, "<<think>x</</think>", &["final end: <", "analysis end: x</"], &[]);
    let overlapping = r#"{"fields": {
        "thinking": {"open": "<a", "close": ["x", "xy"]},
        "content": {"open": ["<ab", "<abcd"], "close_pattern": "y+"}
    }}"#;
    check(
        overlapping,
        None,
        "<abcd1y<abc2yy<ac3xy4",
        &["final end: 1", "final end: c2", "analysis end: c3", "analysis recovered end: 4"],
        &[Code::ParseFrame],
    );
}

#[test]
fn invalid_templates_name_field_and_key() {
    let field = |body: &str| format!(r#"{{"fields": {{"x": {body}}}}}"#);
    let cases = [
        ("[]".to_owned(), "", "", "an object is required"),
        ("{".to_owned(), "", "", "invalid JSON"),
        (r#"{"fields": {}}"#.to_owned(), "", "fields", "at least one"),
        (r#"{"version": 2, "fields": {"x": {}}}"#.to_owned(), "", "version", "version 1"),
        (r#"{"field": {}}"#.to_owned(), "", "field", "unknown key"),
        (r#"{"defaults": 1, "fields": {"x": {}}}"#.to_owned(), "", "defaults", "object"),
        (
            r#"{"start_anchor_pattern": "a*", "fields": {"x": {}}}"#.to_owned(),
            "",
            "start_anchor_pattern",
            "empty",
        ),
        (
            r#"{"start_anchor": "eos", "fields": {"x": {}}}"#.to_owned(),
            "",
            "start_anchor",
            "end of the text",
        ),
        (r#"{"fields": {"y": {}, "x": {}}}"#.to_owned(), "x", "open", "`y`"),
        (field("1"), "x", "", "object"),
        (field(r#"{"opens": "a"}"#), "x", "opens", "unknown key"),
        (field(r#"{"open": "a", "open_pattern": "a"}"#), "x", "open", "excludes"),
        (field(r#"{"open": ""}"#), "x", "open", "not empty"),
        (field(r#"{"open": []}"#), "x", "open", "not empty"),
        (field(r#"{"open": ["a", 1]}"#), "x", "open", "not empty"),
        (field(r#"{"open": "eos"}"#), "x", "open", "without text"),
        (field(r#"{"open_pattern": "a?"}"#), "x", "open_pattern", "without text"),
        (field(r#"{"close_pattern": "a?"}"#), "x", "close_pattern", "empty"),
        (field(r#"{"close_pattern": "("}"#), "x", "close_pattern", "invalid pattern"),
        (field(r#"{"close_pattern": "(?=a)b"}"#), "x", "close_pattern", "look-around"),
        (field(r#"{"open_pattern": "(?P<n>a)"}"#), "x", "open_pattern", "`n`"),
        (field(r#"{"content": "yaml"}"#), "x", "content", "unknown parser"),
        (field(r#"{"content": "xml-inline"}"#), "x", "content_args", "tag_pattern"),
        (field(r#"{"content_args": {"strip": 1}}"#), "x", "content_args", "strip"),
        (
            field(r#"{"content": "kv-lines", "content_args": {"kv_sep": ""}}"#),
            "x",
            "content_args",
            "kv_sep",
        ),
        (field(r#"{"repeats": 1}"#), "x", "repeats", "true"),
        (field(r#"{"join": ","}"#), "x", "join", "repeats"),
        (field(r#"{"transform_each": true}"#), "x", "transform_each", "transform"),
        (field(r#"{"transform": "a {content}"}"#), "x", "transform", "mixes"),
    ];
    for (json, field, key, words) in cases {
        let error = ResponseTemplate::from_json(&json).expect_err(&json);
        let found = (error.field.as_deref().unwrap_or(""), error.key.as_deref().unwrap_or(""));
        assert_eq!(found, (field, key), "{json}: {error}");
        assert!(error.message.contains(words), "{json}: {error}");
    }
    let file = format!(r#"{{"chat_template": "", "response_template": {THINK}}}"#);
    assert!(ResponseTemplate::from_json(&file).is_ok());
}

#[test]
fn tools_type_arguments() {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "integer"}}}"#;
    let mut options = ReadOptions::default();
    let tool = Tool::new("get").with_parameters(Value::from_json(schema, &options.limits).unwrap());
    options.tools = vec![tool.into_owned()].into();
    let text = "<tool_call>get<arg_key>a</arg_key><arg_value>07</arg_value></tool_call>";
    let messages = template(GLM).read(None, text, &options).into_conversation().messages;
    assert_eq!(messages[0].body.text(), r#"{"a":7}"#);
}

#[test]
fn policies_decide_about_text_outside_of_fields() {
    let policies = [Recover::Keep, Recover::Drop, Recover::Error].map(|recover| {
        let mut options = ReadOptions::default();
        options.recover = recover;
        let read = template(PLAIN).read(None, "x<a>y</a>", &options);
        (read.dropped_input(), written(&read.into_conversation().messages))
    });
    let messages = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    assert_eq!(policies[0], (false, messages(&["analysis recovered end: x", "final end: y"])));
    assert_eq!(policies[1], (true, messages(&["final end: y"])));
    assert_eq!(policies[2], (true, messages(&[])));
}

#[test]
fn limits_bound_everything() {
    let mut options = ReadOptions::default();
    options.limits.message_bytes = 4;
    options.limits.messages = 2;
    options.limits.header_bytes = 50;
    let read = |text: &str| {
        let read = template(HARMONY).read(None, text, &options);
        assert!(read.diagnostics.iter().any(|it| it.code == Code::Limit), "{:?}", read.diagnostics);
        written(&read.into_conversation().messages)
    };
    assert_eq!(read("<|channel|>final<|message|>12é456<|end|>"), ["final end: 12é"]);
    assert_eq!(
        read("<|channel|>commentary to=functions.f<|message|>{\"a\":1}<|call|>"),
        ["commentary to=functions.f recovered end: {\"a\""]
    );
    let one = "<|channel|>final<|message|>1<|end|>";
    assert_eq!(read(&one.repeat(4)).len(), 2);
    assert_eq!(
        read(&format!("<|channel|>final{}<|message|>1<|end|>", " 12345".repeat(9))),
        ["analysis recovered end: <|ch"]
    );
    options.limits.diagnostics = 1;
    let read = template(PLAIN).read(None, &"x<a>y</a>".repeat(9), &options);
    assert!(read.diagnostics.len() <= 2);
}

#[test]
fn tokens_outside_of_fields_are_no_messages() {
    let notes = [Code::ParseFrame];
    check(PLAIN, None, "<a>x</a><|END|>\n </s>", &["final end: x"], &notes);
    check(
        PLAIN,
        None,
        "<a>x</a><|END|>y",
        &["final end: x", "analysis recovered end: <|END|>y"],
        &notes,
    );
    let read = read(PLAIN, None, "<a>x</a><|END|>");
    assert!(!read.has_errors() && !read.dropped_input());
    assert_eq!(read.diagnostics[0].span.range(), 8..15);
}

#[test]
fn large_patterns_load() {
    let mut list = r"\\w+".to_owned();
    for _ in 0..4 {
        list = format!(r"\\[(?:{list}|[,\\s\\d])*\\]");
    }
    let json = format!(
        r#"{{"fields": {{"tool_calls": {{
            "open_pattern": "(?:<calls>|;\\s*)(?P<name>\\w+)\\s*:", "close_pattern": "\\.(?:</calls>)?",
            "content": "xml-inline", "content_args": {{"tag_pattern": "(?P<key>\\w+)=(?P<value>{list}|\\w*)",
                "value_parser": {{"name": "json", "args": {{"allow_non_json": true}}}}}},
            "transform": {{"name": "{{name}}", "arguments": "{{content}}"}}}}, "content": {{}}}}}}"#
    );
    check(
        &json,
        None,
        "<calls>get: city=Rome list=[[[[1], 2]]].; now:.</calls>Yes.",
        &[
            r#"commentary to=functions.get call: {"city":"Rome","list":[[[[1],2]]]}"#,
            "commentary to=functions.now call: {}",
            "final end: Yes.",
        ],
        &[],
    );
}
