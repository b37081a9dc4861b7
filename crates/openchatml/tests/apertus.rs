//! Messages are written as the text of the reference template of Apertus, as recorded by
//! `apertus/record.py`. Messages for which the template raises an error are refused or reported.
//!
//! `OPENCHATML_APERTUS` names a file with other recorded messages for a larger run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use openchatml::render::Profile;
use openchatml::{Code, Format, RenderOptions, Role, parse, render};
use serde_json::Value;

fn recorded() -> Vec<Value> {
    let lines = match std::env::var_os("OPENCHATML_APERTUS") {
        Some(file) => std::fs::read_to_string(file).unwrap(),
        None => include_str!("apertus/conversations.jsonl").to_owned(),
    };
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn options(case: &Value) -> RenderOptions {
    let mut options = RenderOptions::default();
    options.date = case["date"].as_str().map(|date| date.to_owned().into());
    options.thinking = case["thinking"].as_bool();
    options.generation_prompt = case["prompt"].as_bool().unwrap().then_some(Role::Assistant);
    options.profile = Profile::Reference;
    if case["engine"] == "transformers" {
        options.profile = Profile::HfTemplate;
    }
    options
}

#[test]
fn text_equals_that_of_the_template() {
    let apertus: Format = "apertus".parse().unwrap();
    let json: Format = "apertus:json".parse().unwrap();
    let (mut said, mut wrong, mut guarded) = (0, 0, 0);
    for (index, case) in recorded().iter().enumerate() {
        let input = case["input"].as_str().unwrap();
        let parsed = parse(input, json, &Default::default());
        let written = render(&parsed.document, apertus, &options(case));
        match (case["text"].as_str(), written) {
            (Some(text), Ok(written)) => {
                assert_eq!(written, text, "case {index}: {input}");
                let mut options = options(case);
                if options.profile == Profile::Reference {
                    options.profile = Profile::Documented;
                    assert_eq!(render(&parsed.document, apertus, &options).as_deref(), Ok(text));
                }
                said += 1;
            }
            (Some(text), Err(error)) => {
                // The template allows content to contain control tokens.
                let is_guard = matches!(error.code, Code::RenderControl | Code::ParseHeader)
                    || error.to_string().contains("does not escape");
                assert!(is_guard, "case {index}: {input}: {error}, and not {text:?}");
                guarded += 1;
            }
            (None, written) => {
                let is_found = parsed.has_errors() || written.is_err();
                assert!(is_found, "case {index}: {input}: {}", case["refused"]);
                wrong += 1;
            }
        }
    }
    assert!(said > 10 * guarded && wrong > 0, "{said} said, {guarded} guarded, {wrong} wrong");
}

#[test]
fn text_of_the_template_is_read_and_written_again() {
    let apertus: Format = "apertus".parse().unwrap();
    for (index, case) in recorded().iter().enumerate() {
        let Some(text) = case["text"].as_str() else { continue };
        let mut options = openchatml::ReadOptions::default();
        options.open_prompt = true;
        let parsed = parse(text, apertus, &options);
        if parsed.has_errors() {
            continue;
        }
        let again = render(&parsed.document, apertus, &RenderOptions::default());
        assert_eq!(again.as_deref(), Ok(text), "case {index}: {:#?}", parsed.document);
    }
}

/// Returns tools with this text at each place of a text in a schema.
fn tool(text: &str) -> Vec<Value> {
    let parameters = |spec: Value, name: &str| serde_json::json!({"type": "object", "properties": {name: spec}, "required": [name]});
    let tool = |description: &str, parameters: Value| {
        serde_json::json!({
            "messages": [{"role": "user", "content": "Hi."}],
            "tools": [{"name": "f", "description": description, "parameters": parameters}],
        })
    };
    let specs = [
        serde_json::json!({"type": "string", "description": text}),
        serde_json::json!({"type": "string", "enum": ["a", text]}),
        serde_json::json!({"type": "string", "enum": ["a"], "default": text}),
        serde_json::json!({"type": "string", "default": text}),
        serde_json::json!({"type": [text, "null"]}),
        serde_json::json!({"type": "object", "properties": {text: {"type": "string"}}}),
        serde_json::json!({"oneOf": [{"type": "string", "description": text}], "default": "a"}),
        serde_json::json!({"oneOf": [{"type": "string"}], "default": text}),
    ];
    let plain = serde_json::json!({"type": "string"});
    let mut all: Vec<_> = specs.into_iter().map(|spec| tool("A.", parameters(spec, "x"))).collect();
    all.push(tool(text, parameters(plain.clone(), "x")));
    all.push(tool("A.", parameters(plain, text)));
    all
}

/// No text of a schema starts another declaration or instruction.
#[test]
fn texts_of_schemas_cannot_leave_their_declaration() {
    let apertus: Format = "apertus".parse().unwrap();
    let json: Format = "apertus:json".parse().unwrap();
    let breaks = ["\n", "\r\n", "\u{85}", "\u{2028}", "\u{b}"];
    let texts = breaks.map(|it| format!("a\"{it}EVIL{it}{it}}}"));
    for text in texts.into_iter().chain(["EVIL\\".to_owned()]) {
        for input in tool(&text) {
            let input = input.to_string();
            let parsed = parse(&input, json, &Default::default());
            let mut options = RenderOptions::default();
            options.date = Some("2026-01-31".into());
            let written = render(&parsed.document, apertus, &options).unwrap();
            let is_break = |c: char| "\n\r\u{b}\u{c}\u{85}\u{2028}\u{2029}".contains(c);
            let evil = written.split(is_break).find(|line| line.starts_with("EVIL"));
            assert_eq!(evil, None, "{input}: {written}");
            for profile in [Profile::Reference, Profile::HfTemplate] {
                options.profile = profile;
                match render(&parsed.document, apertus, &options) {
                    Err(error) => assert!(error.to_string().contains("does not escape"), "{error}"),
                    // The template escapes it.
                    Ok(exact) => {
                        let evil = exact.split(is_break).find(|line| line.starts_with("EVIL"));
                        assert_eq!(evil, None, "{input}: {exact}");
                    }
                }
            }
        }
    }
}
