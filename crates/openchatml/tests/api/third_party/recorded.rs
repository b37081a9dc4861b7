//! Prompts that the official chat templates of models write, if the folder `OPENCHATML_RECORDED` is
//! available. It has a file `DIALECT.jsonl` for each dialect. A line has `input`, a request
//! in JSON; `prompt`, whether the text ends in a generation prompt; `thinking`, or
//! `null`; and `text`, the output of the template, or `null` if it refuses the input.

use openchatml::prompt::Prompt;
use openchatml::{Format, RenderOptions, Role, convert, parse};
use openchatml_testkit::external_files;
use serde_json::Value;

#[test]
fn prompts_equal_those_of_the_templates() {
    let what = "prompts of chat templates";
    let Some(folder) = external_files::folder("OPENCHATML_RECORDED", None, what) else { return };
    let files = std::fs::read_dir(folder).expect("a folder").map(|it| it.expect("a file").path());
    let mut different = 0;
    for file in files.filter(|it| it.extension().is_some_and(|it| it == "jsonl")) {
        let name = file.file_stem().and_then(|it| it.to_str()).expect("the name of a dialect");
        let Ok(format) = name.parse::<Format>() else { continue };
        let text = std::fs::read_to_string(&file).expect("a file");
        let mut same = 0;
        for (index, line) in text.lines().enumerate() {
            let case: Value = serde_json::from_str(line).expect("a case");
            let Some(expected) = case["text"].as_str() else { continue };
            let input = case["input"].as_str().expect("a request");
            let document = parse(input, Format::OPENAI, &Default::default()).document;
            let mut options = RenderOptions::default();
            options.generation_prompt = (case["prompt"] == true).then_some(Role::Assistant);
            options.thinking = case["thinking"].as_bool();
            let prompt = match case["prompt"] == true {
                true => {
                    Prompt::new(document.as_conversation().expect("messages"), format, &options)
                        .convert(&options)
                        .map(|it| it.output)
                }
                false => convert::convert(&document, format, &options).map(|it| it.output),
            };
            match prompt {
                Ok(prompt) if prompt == expected => same += 1,
                other => {
                    different += 1;
                    println!("{name} {}: {other:?}\n  not {expected:?}", index + 1);
                }
            }
        }
        println!("{name}: {same} prompts are the same");
    }
    assert_eq!(different, 0, "prompts differ");
}
