//! Templates and what they write, from the tests of another project: the folder that
//! `OPENCHATML_THIRD_PARTY` names.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use openchatml::{Conversation, Format, Limits, Value, parse};
use openchatml_templates::{Options, Template};

#[test]
fn templates_write_what_others_expect() {
    let Some(folder) = std::env::var_os("OPENCHATML_THIRD_PARTY") else { return };
    let path = std::path::PathBuf::from(folder).join("hf_jinja_e2e_chatml.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let mut count = 0;
    for line in text.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        if case["kind"] != "chatml.template_golden" {
            continue;
        }
        let mut options = Options::default();
        let mut conversation = Conversation::default();
        for (name, value) in case["input"]["data"].as_object().unwrap() {
            match name.as_str() {
                "messages" => {
                    let json = serde_json::json!({ "messages": value }).to_string();
                    let parsed = parse(&json, Format::JSON, &Default::default());
                    assert!(parsed.diagnostics.is_empty(), "{}", case["id"]);
                    conversation = parsed.into_conversation().into_owned();
                }
                "add_generation_prompt" => options.generation_prompt = value == true,
                name if name.ends_with("_token") => {
                    let text = value.as_str().unwrap().to_owned();
                    options.special_tokens.push((name.to_owned().into(), text.into()));
                }
                name => {
                    let json = value.to_string();
                    let value = Value::from_json(&json, &Limits::default()).unwrap().into_owned();
                    options.variables.push((name.to_owned().into(), value));
                }
            }
        }
        let source = case["input"]["template"].as_str().unwrap();
        let template = Template::new(source, &Default::default()).unwrap();
        let rendered = template.render(&conversation, &options).unwrap();
        assert_eq!(case["expected"]["text"], rendered.text, "{}", case["id"]);
        count += 1;
    }
    assert_eq!(count, 12);
}
