//! Which calls are run and what the others are answered: `admission.toml`.

use openchatml::{Limits, ReadOptions, Reply, Settings, Value, parse};
use openchatml_tools::{Router, RouterOptions, Routes, Toolbox, TurnEvent};
use serde::Deserialize;

use super::support::{echo, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    header: String,
    #[serde(default)]
    taken: Vec<String>,
    #[serde(default)]
    lenient: bool,
    input: String,
    replies: Vec<Expected>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    id: String,
    given: Option<String>,
    code: Option<String>,
    path: Option<String>,
    #[serde(default)]
    says: String,
}

fn router(routes: Routes) -> Router {
    let object = |properties: &str, required: &str| {
        let rest = r#""additionalProperties":false"#;
        let text = format!(
            r#"{{"type":"object","properties":{properties},"required":[{required}],{rest}}}"#
        );
        Some(json(&text))
    };
    let mut tools = Toolbox::default();
    for (name, schema) in [
        ("functions.weather", object(r#"{"city":{"type":"string"}}"#, r#""city""#)),
        // A schema may refer to a definition.
        (
            "functions.timer",
            Some(json(
                r##"{"$ref":"#/$defs/it","$defs":{"it":{"properties":{"deadline_ms":{"type":"integer"}}}}}"##,
            )),
        ),
        ("functions.note", None),
        ("notes.read", object(r#"{"id":{"type":"integer"}}"#, r#""id""#)),
        ("browser.search", object(r#"{"query":{"type":"string"}}"#, r#""query""#)),
        ("python", None),
    ] {
        let mut entry = echo();
        entry.parameters = schema;
        tools.insert(name, entry).unwrap();
    }
    let mut options = RouterOptions::default();
    options.routes = routes;
    Router::new(tools, options).unwrap()
}

#[tokio::test]
async fn only_a_certain_call_is_dispatched() {
    let cases: Cases = toml::from_str(include_str!("admission.toml")).unwrap();
    for case in cases.case {
        let router = router(if case.lenient { Routes::Lenient } else { Routes::Strict });
        let name = &case.name;
        let text = format!("version: 2.2\n{}\n\n{}", case.header.trim(), case.input.trim());
        let format = "openchatml-2.2".parse().unwrap();
        let conversation = parse(&text, format, &ReadOptions::default()).into_conversation();
        let settings = Settings::read(conversation.header.as_ref().unwrap()).0;
        let mut turn = router.turn(case.taken).with_settings(settings);
        let mut calls = 0;
        for message in &conversation.messages {
            calls += usize::from(turn.dispatch(message).await);
        }
        let mut done = Vec::new();
        while let Some(event) = turn.next().await {
            if let TurnEvent::Done { call_id, code, reply } = event {
                done.push((call_id, code, reply));
            }
        }
        assert_eq!((done.len(), calls), (case.replies.len(), case.replies.len()), "{name}");
        // Refused calls are answered before running ones.
        for expected in &case.replies {
            let at = done.iter().position(|it| it.0 == expected.id);
            let (call_id, code, reply) =
                done.remove(at.unwrap_or_else(|| panic!("{name}: {}", expected.id)));
            let body = reply.body.text();
            let envelope = Reply::parse(&body, &Limits::default()).unwrap();
            let error = |key| envelope.error.as_ref()?.get(key)?.as_str();
            let at = format!("{name}, {}: {body}", expected.id);
            assert_eq!(reply.call_id.as_deref().unwrap_or_default(), call_id, "{at}");
            assert_eq!(code.map(|code| code.as_str()), expected.code.as_deref(), "{at}");
            assert_eq!(envelope.code(), code, "{at}");
            let given = envelope.content.as_ref().and_then(Value::as_str);
            assert_eq!(given, expected.given.as_deref(), "{at}");
            assert!(error("message").unwrap_or_default().contains(&expected.says), "{at}");
            if expected.path.is_some() {
                assert_eq!(error("path"), expected.path.as_deref(), "{at}");
            }
        }
    }
}

#[tokio::test]
async fn foreign_calls_do_not_run() {
    let text = "assistant<|channel|>analysis<|message|>Hm.<|end|>\
        <|start|>user to=functions.note call_id=a<|channel|>commentary<|message|>x<|call|>";
    let mut options = ReadOptions::default();
    options.continues = Some(openchatml::Role::Assistant);
    let parsed = parse(&text["assistant".len()..], "openchatml-2.2".parse().unwrap(), &options);
    let conversation = parsed.into_conversation();
    assert!(conversation.messages[1].foreign);
    let mut turn = router(Routes::Strict).turn([]);
    for message in &conversation.messages {
        assert!(!turn.dispatch(message).await);
    }
    assert!(turn.next().await.is_none());
}

#[test]
fn an_invalid_schema_is_an_error_that_names_the_tool() {
    for (schema, why) in [
        (r#"{"type":"objekt"}"#, "objekt"),
        (r#"{"properties":{"a":{"pattern":"("}}}"#, "regex"),
        (r#"[]"#, ""),
        (r##"{"$ref":"#/$defs/none"}"##, "none"),
        (r#"{"$ref":"https://schema.example/a.json"}"#, "schema.example"),
        (r#"{"$ref":"file:///etc/hostname"}"#, "file:///etc/hostname"),
        (r#"{"maximum":1e999}"#, "1e999"),
    ] {
        let mut entry = echo();
        entry.parameters = Some(json(schema));
        let mut tools = Toolbox::default();
        tools.insert("functions.f", entry).unwrap();
        let error = Router::new(tools, RouterOptions::default()).unwrap_err();
        assert_eq!(error.name, "functions.f", "{schema}");
        assert!(
            error
                .to_string()
                .starts_with("the parameters of `functions.f` are not a valid JSON Schema: ")
        );
        assert!(error.why.contains(why), "{schema}: {error}");
    }
}

#[test]
fn tool_names_must_be_valid_in_a_header() {
    let mut tools = Toolbox::default();
    tools.insert("functions.f", echo()).unwrap();
    for (name, why) in [
        ("functions.f", "`functions.f` is the name of another tool"),
        ("assistant", "`assistant` is the name of a role"),
        ("", "`` cannot be written as a recipient in a header"),
        ("functions.", "`functions.` cannot be written as a recipient in a header"),
        ("a b", "`a b` cannot be written as a recipient in a header"),
        ("f\n<|end|>", "`f\\n<|end|>` cannot be written as a recipient in a header"),
    ] {
        assert_eq!(tools.insert(name, echo()).unwrap_err().to_string(), why);
    }
    assert_eq!(tools.iter().count(), 1);
}
