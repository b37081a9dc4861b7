//! Templates with their expected output, from the tests of another project: the folder that
//! `OPENCHATML_THIRD_PARTY` names.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use openchatml::{Conversation, Format, Limits, Value, parse};
use openchatml_templates::{Options, Template};
use openchatml_testkit::external_files;

#[test]
fn templates_write_what_other_projects_expect() {
    let what = "12 cases of other projects";
    let Some(folder) = external_files::folder("OPENCHATML_THIRD_PARTY", None, what) else { return };
    let path = folder.join("hf_jinja_e2e_chatml.jsonl");
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
                    let messages = value.as_list().unwrap().iter().flat_map(canonical);
                    let messages = messages.collect::<Vec<_>>().join(",");
                    let json = format!("{{\"messages\": [{messages}]}}");
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
        // These messages have reasoning in the content, which is refused when only text is
        // rendered.
        let rendered = template.render_pieces(&conversation, &options).unwrap();
        let expected = at(&["expected", "text"]).and_then(Value::as_str).unwrap();
        // The expected output comes from JavaScript, where a list is printed as JSON. Python, and
        // this crate, print it with other quotes.
        let plain = |text: &str| match source.contains("tools|string") {
            true => text.replace('\'', "\"").replace('\\', ""),
            false => text.to_owned(),
        };
        assert_eq!(plain(&rendered.text), plain(expected), "{id}");
        count += 1;
    }
    assert_eq!(count, 12);
}

/// A message of OpenAI's chat completions as messages of canonical JSON.
fn canonical(message: &Value<'_>) -> Vec<String> {
    let text = |value: &Value<'_>, key: &str| value.get(key).map(Value::to_json);
    let field = |key: &str| text(message, key).unwrap_or("\"\"".to_owned());
    let mut all = Vec::new();
    let calls = message.get("tool_calls").and_then(Value::as_list).unwrap_or_default();
    let name = text(message, "name").map(|name| format!(",\"name\":{name}")).unwrap_or_default();
    if let Some(thought) = text(message, "thought") {
        all.push(format!(
            "{{\"role\":\"assistant\",\"channel\":\"analysis\",\"content\":{thought}}}"
        ));
    }
    if calls.is_empty() || field("content") != "\"\"" {
        let (role, content) = (field("role"), field("content"));
        all.push(format!("{{\"role\":{role},\"content\":{content}{name}}}"));
    }
    for call in calls {
        let function = call.get("function").unwrap();
        let name = text(function, "name").unwrap();
        let arguments = Value::from(text(function, "arguments").unwrap()).to_json();
        all.push(format!(
            "{{\"role\":\"assistant\",\"channel\":\"commentary\",\"recipient\":{name},\
             \"content\":{arguments},\"end\":\"call\"}}"
        ));
    }
    all
}
