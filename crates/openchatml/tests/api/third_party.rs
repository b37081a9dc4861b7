//! Cases that other projects wrote in their own tests, where they are at hand: the folder that
//! `OPENCHATML_THIRD_PARTY` names.

mod apertus;
mod chat;
mod outputs;
mod prompts;
mod score;
mod services;
mod streams;

use openchatml::{Format, ReadOptions, RenderOptions, parse, render};
use openchatml_testkit::external_files;
use serde_json::Value;

/// The lines of a file of cases. `None` without the folder: the test says that it is skipped, and
/// of how many cases that is.
pub(crate) fn lines(file: &str, count: usize) -> Option<Vec<String>> {
    let what = format!("{count} cases of other projects");
    let path = external_files::folder("OPENCHATML_THIRD_PARTY", None, &what)?.join(file);
    let text = std::fs::read_to_string(path).expect("the file of cases");
    Some(text.lines().map(str::to_owned).collect())
}

/// The cases of a file. `None` without the folder.
pub(crate) fn cases(file: &str, count: usize) -> Option<Vec<Value>> {
    let case = |line: &String| serde_json::from_str(line).expect("a case");
    Some(lines(file, count)?.iter().map(case).collect())
}

/// What templates of the `<|im_start|>` framing write is read as the messages that they were given,
/// and written again byte for byte.
#[test]
fn prompts_of_templates_are_read_and_written_back() {
    let Some(cases) = cases("hf_jinja_e2e_chatml.jsonl", 12) else { return };
    let format: Format = "im".parse().expect("a format");
    let mut read = 0;
    for case in &cases {
        let (id, text) = (&case["id"], case["expected"]["text"].as_str().expect("a text"));
        // The token that a model's input begins with is no part of the framing.
        let text = &text[text.find("<|im_start|>").expect("a message")..];
        let mut options = ReadOptions::default();
        options.open_prompt = true;
        let parsed = parse(text, format, &options);
        if parsed.has_errors() {
            // A template that forgets the end of a message.
            assert!(text.contains("/think\n"), "{id}: {:?}", parsed.diagnostics);
            continue;
        }
        let written = render(&parsed.document, format, &RenderOptions::default());
        assert_eq!(written.as_deref(), Ok(text), "{id}: {:?}", parsed.diagnostics);
        let given = case["input"]["data"]["messages"].as_array().expect("messages");
        let conversation = parsed.into_conversation();
        for message in given {
            let (role, content) = (&message["role"], message["content"].as_str());
            // Templates change the system message as they like.
            let Some(content) = content.filter(|_| role != "system") else { continue };
            // Some let tools speak as the user, and add to what is said.
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
