//! Messages are written as the text that the reference template of Apertus makes of them, as
//! `apertus/record.py` recorded it, and refused or found wrong where it raises an error.
//!
//! `OPENCHATML_APERTUS` names a file of other recorded messages, for a larger run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use openchatml::harmony::SystemContent;
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
    let mut system = SystemContent::default();
    system.current_date = case["date"].as_str().map(|date| date.to_owned().into());
    options.system = Some(system);
    options.thinking = case["thinking"].as_bool().unwrap();
    options.generation_prompt = case["prompt"].as_bool().unwrap().then_some(Role::Assistant);
    if case["engine"] == "transformers" {
        options.harmony = Profile::HfTemplate;
    }
    options
}

#[test]
fn text_is_that_of_the_template() {
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
                said += 1;
            }
            (Some(text), Err(error)) => {
                // What the template lets content do.
                let is_guard = matches!(error.code, Code::RenderControl | Code::ParseHeader);
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
