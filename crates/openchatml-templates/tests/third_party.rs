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
        let case = Value::from_json(line, &Limits::default()).unwrap();
        let at = |path: &[&str]| path.iter().try_fold(&case, |value, key| value.get(key));
        let id = at(&["id"]).and_then(Value::as_str).unwrap();
        let mut options = Options::default();
        let mut conversation = Conversation::default();
        for (name, value) in at(&["input", "data"]).and_then(Value::as_map).unwrap() {
            match name.as_ref() {
                "messages" => {
                    let json = format!("{{\"messages\": {}}}", value.to_json());
                    let parsed = parse(&json, Format::JSON, &Default::default());
                    assert!(parsed.diagnostics.is_empty(), "{id}");
                    conversation = parsed.into_conversation().into_owned();
                }
                "add_generation_prompt" => options.generation_prompt = *value == Value::from(true),
                name if name.ends_with("_token") && value.as_str().is_some() => {
                    let text = value.as_str().unwrap().to_owned();
                    options.special_tokens.push((name.to_owned().into(), text.into()));
                }
                name => options.variables.push((name.to_owned().into(), value.clone())),
            }
        }
        options.date = Some("2025-07-10".parse().unwrap());
        let source = at(&["input", "template"]).and_then(Value::as_str).unwrap();
        let template = Template::new(source, &Default::default()).unwrap();
        // Their messages have reasoning in the content, which text alone would refuse.
        let rendered = template.render_pieces(&conversation, &options).unwrap();
        let expected = at(&["expected", "text"]).and_then(Value::as_str).unwrap();
        // A list as text is JSON in JavaScript, whose expectations these are. Python shows it with
        // other quotes, and so do we.
        let plain = |text: &str| match source.contains("tools|string") {
            true => text.replace('\'', "\"").replace('\\', ""),
            false => text.to_owned(),
        };
        assert_eq!(plain(&rendered.text), plain(expected), "{id}");
        count += 1;
    }
    assert_eq!(count, 12);
}
