//! Reads outputs of models with response templates.

use std::cell::RefCell;
use std::collections::HashMap;

use openchatml::{Channel, Code, Done, Event, Message, Parsed, ReadOptions, Recover, Tool, Value};
use openchatml_templates::{ResponseStream, ResponseTemplate};

const THINK: &str = r#"{
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "tool_calls": {"open": "<tool_call>", "close": "</tool_call>", "repeats": true, "content": "json",
            "transform": {"type": "function", "function": "{content}"}},
        "content": {"close": "<|im_end|>"}
    }
}"#;

const HARMONY: &str = r#"{
    "start_anchor": "<|start|>assistant",
    "fields": {
        "thinking": {"open_pattern": "<\\|channel\\|>analysis.*?<\\|message\\|>", "close": ["<|end|>", "<|return|>"],
            "repeats": true, "join": "\n"},
        "tool_calls": {"open_pattern": "<\\|channel\\|>commentary to=functions\\.(?P<name>\\w+).*?<\\|message\\|>",
            "close": "<|call|>", "repeats": true, "content": "json",
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}},
        "content": {"open_pattern": "<\\|channel\\|>final.*?<\\|message\\|>", "close": ["<|return|>", "<|end|>"]}
    }
}"#;

const GLM: &str = r#"{
    "start_anchor": "<|assistant|>",
    "fields": {
        "reasoning_content": {"open": "<think>", "close": "</think>"},
        "tool_calls": {"open_pattern": "<tool_call>(?P<name>\\w+)\\s*", "close_pattern": "</tool_call>", "repeats": true,
            "content": "xml-inline", "content_args": {
                "tag_pattern": "<arg_key>(?P<key>.*?)</arg_key>\\s*<arg_value>(?P<value>.*?)</arg_value>"},
            "transform": {"function": {"name": "{name}", "arguments": "{content}"}}},
        "mood": {"open": "<mood>", "close": "</mood>", "content": "int"},
        "content": {"close": "eos"}
    }
}"#;

const PLAIN: &str = r#"{
    "start_anchor": "A:",
    "fields": {"content": {"open_pattern": "<a+>", "close_pattern": "</a+>|\\Z", "content_args": {"strip": false}, "optional": false}}
}"#;

/// Text at the beginning is reasoning.
const BEGINNING: &str = r#"{
    "start_anchor": "A:",
    "fields": {
        "thinking": {"open_pattern": "(?:^|<think>\\s*)", "close_pattern": "</think>\\s*|<mood>\\Z"},
        "content": {"open": ["<a>", "<aaa>"], "close_pattern": "\\n*</a>"}
    }
}"#;

/// Any text can be a part of an anchor.
const AUTHOR: &str = r#"{
    "start_anchor": "<|end|>",
    "fields": {
        "thinking": {"open_pattern": "(?:<\\|message\\|>)?[^<]*<think>", "close": ["<|end|>", "</think>"]},
        "content": {"open_pattern": "(?:<\\|message\\|>)?[^<]*<a+>", "close": "</a>", "content_args": {"strip": false}}
    }
}"#;

const ALL: [&str; 6] = [THINK, HARMONY, GLM, PLAIN, BEGINNING, AUTHOR];

/// Loads a template, once in each thread.
fn template(json: &str) -> ResponseTemplate {
    thread_local! {
        static KNOWN: RefCell<HashMap<String, ResponseTemplate>> = RefCell::default();
    }
    let load = || ResponseTemplate::from_json(json).unwrap_or_else(|error| panic!("{error}"));
    KNOWN.with_borrow_mut(|known| known.entry(json.to_owned()).or_insert_with(load).clone())
}

fn read(json: &str, prompt: Option<&str>, text: &str) -> Parsed<'static> {
    template(json).read(prompt, text, &ReadOptions::default())
}

/// Writes messages on one line each.
fn written(messages: &[Message<'_>]) -> Vec<String> {
    let line = |it: &Message<'_>| {
        let channel = it.channel.map_or("-", Channel::as_str);
        let to = it.recipient.as_deref().map(|to| format!(" to={to}")).unwrap_or_default();
        let recovered = if it.recovered { " recovered" } else { "" };
        format!("{channel}{to}{recovered} {}: {}", it.end, it.body.text())
    };
    messages.iter().map(line).collect()
}

#[track_caller]
fn check(json: &str, prompt: Option<&str>, text: &str, messages: &[&str], codes: &[Code]) {
    let read = read(json, prompt, text);
    let found: Vec<Code> = read.diagnostics.iter().map(|it| it.code).collect();
    assert_eq!(found, codes, "{text}: {:?}", read.diagnostics);
    assert_eq!(written(&read.into_conversation().messages), messages, "{text}");
}

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
                deltas.last_mut().unwrap().push_str(&text);
            }
            Event::MessageDone { message, .. } => {
                let message = message.into_value();
                let is_told = message.is_call() || message.is_reasoning() || message.is_answer();
                assert_eq!(
                    deltas.last().unwrap().as_str(),
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
fn hostile_texts_are_read_in_linear_time() {
    let time = |text: &str, json: &str| {
        let start = std::time::Instant::now();
        let read = read(json, None, text);
        let bytes: usize = read.into_conversation().messages.iter().map(|it| it.body.len()).sum();
        assert!(bytes <= text.len() * 4);
        start.elapsed()
    };
    let units = [
        "<",
        "<think",
        "<think></think>",
        "<|channel|>final",
        "<|channel|>commentary to=functions.x<a></a>",
        "<tool_call>x<arg_key>",
        "<tool_call>",
        "\n",
        " x",
        "<|channel|>analysis<|message|>",
        "é<",
        "<aaaa",
    ];
    for unit in units {
        for json in ALL {
            let short = time(&unit.repeat((128 << 10) / unit.len()), json);
            let long = time(&unit.repeat((1 << 20) / unit.len()), json);
            let most = short.max(std::time::Duration::from_millis(20)) * 40;
            assert!(long < most, "{unit:?}: {short:?}, {long:?}");
        }
    }
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
fn patterns_of_published_templates_load() {
    let atom = r#"[^\[\]{}'\"]|'[^']*'|\"[^\"]*\""#;
    let mut nested = atom.to_owned();
    for _ in 0..3 {
        nested = format!(r"{atom}|[\[{{](?:{nested})*[\]}}]");
    }
    let tag = format!(r"(?P<key>\w+)=(?P<value>'[^']*'|[\[{{](?:{nested})*[\]}}]|[^,)]*)");
    let tag = Value::from(tag.replace("\\\"", "\"").as_str()).to_json();
    let json = format!(
        r#"{{"fields": {{"tool_calls": {{
            "open_pattern": "(?:<\\|tool_call_start\\|>\\[|,\\s*)(?P<name>\\w+)\\(",
            "close_pattern": "\\)(?:\\]<\\|tool_call_end\\|>)?\\s*", "content": "xml-inline",
            "content_args": {{"tag_pattern": {tag}, "value_parser": {{"name": "json",
                "args": {{"string_delims": [["'", "'"]], "allow_non_json": true}}}}}},
            "transform": {{"name": "{{name}}", "arguments": "{{content}}"}}}}, "content": {{}}}}}}"#
    );
    check(
        &json,
        None,
        "<|tool_call_start|>[get(city='Rome', l=[1, {\"a\": 2}]), now()]<|tool_call_end|>Yes.",
        &[
            r#"commentary to=functions.get call: {"city":"Rome","l":[1,{"a":2}]}"#,
            "commentary to=functions.now call: {}",
            "final end: Yes.",
        ],
        &[],
    );
}
