//! What conformance cases cannot reach: the confidence of a detection, the wording of diagnostics,
//! changed documents, and completions without control tokens.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use openchatml::convert::convert;
use openchatml::harmony::{DeveloperContent, ResponseFormat};
use openchatml::{
    Body, Conversation, Format, Limits, ReadOptions, Recover, RenderOptions, detect, parse,
    recognize, render,
};

/// The formats that a text can be in, and the confidence of each.
fn found(text: &str) -> Vec<(String, u8)> {
    detect(text).iter().map(|found| (found.format.to_string(), found.confidence)).collect()
}

fn format(name: &str) -> Format {
    name.parse().unwrap()
}

// (openchatml_2_2/mod.rs)
#[test]
fn confidence_adds_up_the_evidence() {
    let cases = [
        ("<|user_start|>Q<|user_end|>", "apertus", 70),
        ("<|start|>user<|message|>Hi.<|end_message|>", "chatml-wire:text", 95),
        ("<|channel|>final<|message|>Hi.", "harmony", 55),
        ("version: 2.1\n\n<|start|>user<|message|>Hi.<|end|>\n", "openchatml-2.2", 100),
    ];
    for (text, name, confidence) in cases {
        assert_eq!(found(text).first(), Some(&(name.to_owned(), confidence)), "{text}");
    }
}

#[test]
fn a_version_excludes_the_other_version() {
    let with = |version: &str| {
        let text = format!("version: {version}\n\n<|start|>user<|message|>Hi.<|end|>\n");
        found(&text).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(with("2.2"), ["openchatml-2.2"]);
    assert_eq!(with("2.0"), ["openchatml-2.0"]);
    assert_eq!(with("1.0"), ["openchatml-2.2", "openchatml-2.0"]);
}
#[test]
fn evidence_of_text_on_its_own_line_has_a_place() {
    let text = "version: 2.0\n\n<|start|>user<|message|>\nHi.<|end|>\n";
    let best = &detect(text)[0];
    let is_it = |what: &str| what == "the text of a message begins a line";
    let line = best.evidence.iter().find(|it| is_it(&it.what)).unwrap();
    assert_eq!(&text[line.span.range()], "<|message|>\n");
}
#[test]
fn a_part_without_a_text_is_called_so() {
    let text = r#"[{"role":"user","content":{"parts":[{"type":"text"}]}}]"#;
    let parsed = parse(text, format("apertus:json"), &ReadOptions::default());
    assert_eq!(parsed.diagnostics[0].message, "a part must have a `text`");
}
#[test]
fn changed_text_replaces_the_content_that_was_read() {
    let text = r#"[{"role":"system","content":{"text":"S"}},{"role":"user","content":"Q"}]"#;
    let json = format("apertus:json");
    let mut conversation = parse(text, json, &ReadOptions::default()).into_conversation();
    let document = conversation.clone().into();
    assert_eq!(render(&document, json, &RenderOptions::default()).as_deref(), Ok(text));
    conversation.messages[0].body = Body::from("T");
    let written = render(&conversation.into(), json, &RenderOptions::default()).unwrap();
    assert!(written.contains(r#""content":"T""#), "{written}");
}
#[test]
fn reasoning_is_accepted_by_responses_with_the_id_of_its_item() {
    let losses = |fields: &str| {
        let text = format!(
            r#"{{"input":[{{"type":"message","role":"user","content":"Q"}},{{"type":"reasoning",
            {fields}"summary":[],"content":[{{"type":"reasoning_text","text":"Hm."}}]}}]}}"#
        );
        let read = parse(&text, format("responses"), &ReadOptions::default()).into_conversation();
        assert_eq!(read.messages.len(), 2);
        let again = Conversation::from_messages(read.messages);
        let converted = convert(&again.into(), format("responses"), &RenderOptions::default());
        converted.unwrap().losses.len()
    };
    assert_eq!(losses(r#""id":"rs_1","#), 0);
    assert_eq!(losses(r#""status":"completed","#), 1);
}

#[test]
fn a_completion_without_tokens_can_be_as_long_as_a_message() {
    let text = "analysisHm.assistantfinalHi.";
    let mut options = ReadOptions::completion();
    options.recover = Recover::Stripped;
    options.limits.message_bytes = text.len();
    let conversation = parse(text, Format::HARMONY, &options).into_conversation();
    let texts: Vec<_> = conversation.messages.iter().map(|it| it.body.text()).collect();
    assert_eq!(texts, ["Hm.", "Hi."]);
}
#[test]
fn only_reasoning_of_the_assistant_alone_is_recognized() {
    assert!(recognize(["assistantanalysisOnly a thought"]).is_some());
    assert_eq!(recognize(["assistantfinalHi."]), None);
    assert_eq!(recognize(["analysisHi."]), None);
}

/// The space in the header keeps the layout of the message.
#[test]
fn a_system_message_of_harmony_stays_one_in_another_conversation() {
    let text = "<|start|>system <|message|>Be brief.<|end|><|start|>user<|message|>Q<|end|>";
    let read = parse(text, Format::HARMONY, &ReadOptions::default()).into_conversation();
    let document = Conversation::from_messages(read.messages).into();
    let mut options = RenderOptions::default();
    options.date = Some("2026-01-31".into());
    let written = render(&document, Format::HARMONY, &options).unwrap();
    assert!(!written.contains("# Valid channels"), "{written}");
}
#[test]
fn response_formats_with_other_names_or_types_are_refused() {
    let limits = Limits::default();
    for json in [r#"{"name":"a\nb","schema":{}}"#, r#"{"type":"other","name":"a","schema":{}}"#] {
        assert!(ResponseFormat::from_json(json, &limits).is_err(), "{json}");
    }
    let json = r#"{"type":"json_schema","name":"a","schema":{}}"#;
    assert_eq!(ResponseFormat::from_json(json, &limits).unwrap()[0].name, "a");
}
#[test]
fn text_of_a_developer_without_headings_is_instructions() {
    let read = DeveloperContent::read("Be brief.", &Limits::default());
    assert_eq!(read.instructions.as_deref(), Some("Be brief."));
}
