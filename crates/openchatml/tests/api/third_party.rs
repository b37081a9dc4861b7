//! Cases from the tests of other projects, if the folder `OPENCHATML_THIRD_PARTY` is available.

mod apertus;
mod chat;
mod outputs;
mod prompts;
mod recorded;
mod score;
mod services;
mod streams;
mod tool_calls;

use openchatml::{Format, ReadOptions, RenderOptions, parse, render};
use openchatml_testkit::external_files;
use serde_json::Value;

/// Returns the lines of a file of cases. Without the folder, returns `None` and reports the number
/// of skipped cases.
pub(crate) fn lines(file: &str, count: usize) -> Option<Vec<String>> {
    let what = format!("{count} cases of other projects");
    let path = external_files::folder("OPENCHATML_THIRD_PARTY", None, &what)?.join(file);
    let text = std::fs::read_to_string(path).expect("the file of cases");
    Some(text.lines().map(str::to_owned).collect())
}

/// Returns the cases of a file. `None` without the folder.
pub(crate) fn cases(file: &str, count: usize) -> Option<Vec<Value>> {
    let case = |line: &String| serde_json::from_str(line).expect("a case");
    Some(lines(file, count)?.iter().map(case).collect())
}

/// Prompts from templates with the `<|im_start|>` framing are read as the original messages and
/// written back byte for byte.
#[test]
fn prompts_of_templates_are_read_and_written_back() {
    let Some(cases) = cases("hf_jinja_e2e_chatml.jsonl", 12) else { return };
    let format: Format = "chatml".parse().expect("a format");
    let mut read = 0;
    for case in &cases {
        let (id, text) = (&case["id"], case["expected"]["text"].as_str().expect("a text"));
        // The token at the beginning of a model's input is not part of the framing.
        let text = &text[text.find("<|im_start|>").expect("a message")..];
        let mut options = ReadOptions::default();
        options.open_prompt = true;
        let parsed = parse(text, format, &options);
        if parsed.has_errors() {
            // This template omits the end of a message.
            assert!(text.contains("/think\n"), "{id}: {:?}", parsed.diagnostics);
            continue;
        }
        let written = render(&parsed.document, format, &RenderOptions::default());
        assert_eq!(written.as_deref(), Ok(text), "{id}: {:?}", parsed.diagnostics);
        let given = case["input"]["data"]["messages"].as_array().expect("messages");
        let conversation = parsed.into_conversation();
        for message in given {
            let (role, content) = (&message["role"], message["content"].as_str());
            // Templates change the system message.
            let Some(content) = content.filter(|_| role != "system") else { continue };
            // Some write replies of tools as messages of the user, with additions.
            let is_there = conversation.messages.iter().any(|it| {
                let speaks = *role == it.role.as_str() || role == "tool";
                speaks && it.body.text().contains(content.trim())
            });
            assert!(is_there, "{id}: {message} is not in {conversation:?}");
            read += 1;
        }
    }
    assert!(cases.len() >= 12 && read >= cases.len(), "{read} messages of {} cases", cases.len());
}
