//! Calls whose arguments are almost JSON.

use openchatml::convert::convert;
use openchatml::{
    Code, End, Format, Limits, Message, ReadOptions, RenderOptions, Repair, parse, repair_call,
};

fn read(text: &str, name: &str, repair: Option<Repair>) -> (Vec<Message<'static>>, Vec<Code>) {
    let format = name.parse::<Format>().expect("a format");
    let mut options = ReadOptions::completion();
    options.repair = repair;
    let parsed = parse(text, format, &options);
    let codes = parsed.diagnostics.iter().map(|found| found.code).collect();
    (parsed.into_conversation().into_owned().messages, codes)
}

/// Outputs of several families, and their arguments if they can be repaired.
const OUTPUTS: &[(&str, &str, Option<&str>)] = &[
    (
        "qwen3",
        "<tool_call>\n{\"name\": \"f\", \"arguments\": {'x': 1}}\n</tool_call>",
        Some(r#"{"x": 1}"#),
    ),
    (
        "qwen3",
        "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}\n</tool_call>",
        Some(r#"{"x": 1}"#),
    ),
    (
        "qwen3",
        "<tool_call>\n{\"name\": \"f\", \"arguments\": \"{\\\"x\\\": 1}\"}\n</tool_call>",
        Some(r#"{"x": 1}"#),
    ),
    ("mistral-v11", "[TOOL_CALLS]f[ARGS]{'x': True,}</s>", Some(r#"{"x": true}"#)),
    ("mistral-v11", "[TOOL_CALLS]f[ARGS]{'x': 'It's'}</s>", None),
    (
        "deepseek-v3.1",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{x: 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        Some(r#"{"x": 1}"#),
    ),
    (
        "kimi-k2",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"x\": [1<|tool_call_end|><|tool_calls_section_end|>",
        None,
    ),
    (
        "kimi-k2",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"x\": [true<|tool_call_end|><|tool_calls_section_end|>",
        Some(r#"{"x": [true]}"#),
    ),
    (
        "harmony",
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"x\": 1,}<|call|>",
        Some(r#"{"x": 1}"#),
    ),
    (
        "harmony",
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"x\": \"1<|call|>",
        None,
    ),
    // It is no function of JSON.
    ("harmony", "<|channel|>analysis to=python code<|message|>{'x': 1}<|call|>", None),
    // A value that contains another parameter is not what the model meant.
    (
        "glm-4.7",
        "<tool_call>f<arg_key>x</arg_key><arg_value>1<arg_key>y</arg_key><arg_value>2</arg_value></tool_call>",
        None,
    ),
];

#[test]
fn arguments_that_are_almost_json_are_repaired_on_request() {
    for (name, text, wanted) in OUTPUTS {
        let (plain, codes) = read(text, name, None);
        assert!(!codes.contains(&Code::CallRepaired), "{name}: {text}");
        for repair in Repair::ALL {
            let (messages, found) = read(text, name, Some(*repair));
            let Some(wanted) = wanted else {
                assert_eq!((&messages, &found), (&plain, &codes), "{name}: {text}");
                continue;
            };
            let call = &messages[0];
            assert_eq!(
                (call.body.text(), call.end),
                ((*wanted).into(), End::Call),
                "{name}: {text}"
            );
            assert_eq!(call.recovered, *repair == Repair::Mark, "{name}: {text}");
            // What the model wrote is still reported.
            assert_eq!(found, [&*codes, &[Code::CallRepaired]].concat(), "{name}: {text}");
        }
    }
}

/// A repaired call is written like any other one if it was accepted, and otherwise not as one that a
/// program runs.
#[test]
fn only_accepted_calls_are_written_as_calls() {
    let text = "[TOOL_CALLS]f[ARGS]{'x': 1}</s>";
    for (repair, is_call) in [(Repair::Mark, false), (Repair::Accept, true)] {
        let mut options = ReadOptions::completion();
        options.repair = Some(repair);
        let document = parse(text, Format::MISTRAL_V11, &options).document;
        let call = document.clone().into_conversation().messages.remove(0);
        let mut render = RenderOptions::default();
        render.date = Some("2026-01-31".into());
        for format in Format::all().filter(|format| format.carries().recipients) {
            let Ok(converted) = convert(&document, format, &render) else {
                assert!(!is_call, "{format}");
                continue;
            };
            let read = parse(&converted.output, format, &ReadOptions::default());
            let messages = read.into_conversation().messages;
            let mut calls = messages.iter().filter(|message| message.is_call());
            let runs = calls.any(|it| it.end == End::Call && !it.recovered && it.body == call.body);
            assert_eq!(runs, is_call, "{format}: {}", converted.output);
        }
    }
}

#[test]
fn a_repaired_call_needs_no_repair() {
    let text = "[TOOL_CALLS]f[ARGS]{'x': [1, 2,]}</s>";
    let mut call = read(text, "mistral-v11", None).0.remove(0);
    let limits = Limits::default();
    assert!(repair_call(&mut call, Repair::Accept, &limits).is_some());
    let repaired = call.clone();
    assert!(repair_call(&mut call, Repair::Accept, &limits).is_none());
    assert_eq!(call, repaired);
    // Other messages are not touched.
    let mut said = Message::answer("{'x': 1}");
    assert!(repair_call(&mut said, Repair::Accept, &limits).is_none());
}
