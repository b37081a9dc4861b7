//! Conversations are written as the text of the chat template of the gpt-oss checkpoints, as
//! recorded by `template/record.py`. Conversations for which it raises an error are refused.
//!
//! `OPENCHATML_HF_TEMPLATE` names a file with other recorded conversations for a larger run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use openchatml::harmony::{Effort, Namespace, PromptOptions, SystemContent};
use openchatml::render::Profile;
use openchatml::{Code, Format, RenderError, RenderOptions, Role, convert, parse, render};
use serde_json::Value;

#[test]
fn text_equals_that_of_the_template() {
    let recorded = match std::env::var_os("OPENCHATML_HF_TEMPLATE") {
        Some(file) => std::fs::read_to_string(file).unwrap(),
        None => include_str!("template/conversations.jsonl").to_owned(),
    };
    let (mut said, mut refused) = (0, 0);
    for (index, line) in recorded.lines().enumerate() {
        let case: Value = serde_json::from_str(line).unwrap();
        let document = parse(case["document"].as_str().unwrap(), Format::JSON, &Default::default());
        let harmony: Format = "harmony".parse().unwrap();
        let options = options(&case);
        let converted = convert::convert(&document.document, harmony, &options);
        match case["text"].as_str() {
            Some(text) => {
                assert_eq!(converted.unwrap().output, text, "case {index}");
                assert_eq!(render(&document.document, harmony, &options).unwrap(), text);
                said += 1;
            }
            None => {
                assert_refused(&converted.unwrap_err(), &case["refused"], index);
                refused += 1;
            }
        }
    }
    assert!(said > refused && refused > 0, "{said} said, {refused} refused");
}

fn assert_refused(error: &RenderError, places: &Value, index: usize) {
    assert_eq!(error.code, Code::RenderUnsupported, "case {index}: {error}");
    let message = error.message.map(|message| message as u64);
    match places.as_array() {
        Some(places) => {
            let places = places[0].as_u64().unwrap()..places[1].as_u64().unwrap();
            assert!(message.is_some_and(|it| places.contains(&it)), "case {index}: {error}");
        }
        None => assert_eq!(message, None, "case {index}: {error}"),
    }
}

fn options(case: &Value) -> RenderOptions {
    let mut system = SystemContent::default();
    system.current_date = case["date"].as_str().map(|date| date.to_owned().into());
    if let Some(identity) = case["identity"].as_str() {
        system.model_identity = Some(identity.to_owned().into());
    }
    if let Some(effort) = case["effort"].as_str() {
        system.reasoning_effort = Effort::from_word(effort);
    }
    for name in case["builtin"].as_array().unwrap_or(&Vec::new()) {
        system.tools.push(match name.as_str() {
            Some("browser") => Namespace::browser(),
            _ => Namespace::python(),
        });
    }
    let mut options = RenderOptions::default();
    let mut prompt = PromptOptions::default();
    prompt.system = Some(system);
    options.set(prompt);
    options.generation_prompt = (case["prompt"] == true).then_some(Role::Assistant);
    options.profile = match case["strings"] == true {
        true => Profile::HfTemplateStrings,
        false => Profile::HfTemplate,
    };
    options
}
