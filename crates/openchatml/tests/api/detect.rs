//! Detection of formats.

use openchatml::{detect, recognize};

#[test]
fn json_that_is_cut_off_is_detected_by_its_keys() {
    let cases = [
        (r#"{"messages":[{"role":"user","channel":"final","content":"<|im_start|>"#, "json"),
        (r#"{"role":"assistant","channel":"final","content":"<|im_start|>"#, "openchatml-2.2:json"),
        (r#"[{"role":"assistant","thinking":"<|im_start|>"#, "openchatml-2.0:json"),
        (r#"["#, ""),
        (r#"[{"token": "<|start|>"}, "user"#, "chatml:json"),
        ("[INST] <|im_start|>user\nHi<|im_end|>", "im"),
    ];
    for (text, format) in cases {
        let found = detect(text).first().map(|found| found.format.to_string());
        assert_eq!(found.unwrap_or_default(), format, "{text}");
    }
}

#[test]
fn a_tool_is_of_another_service_only_if_nothing_says_that_it_is_of_this_one() {
    let cases = [
        (r#"{"name":"f","input_schema":{}}"#, Some("Anthropic Messages")),
        (r#"{"input_schema":{},"type":"custom","name":"f"}"#, Some("Anthropic Messages")),
        (r#"{"type":"function","name":"f","parameters":{},"input_schema":{}}"#, None),
        (r#"{"type":"function","name":"f","input_schema":{},"parameters":{}}"#, None),
        (r#"{"type":"function","function":{"name":"f"},"input_schema":{}}"#, None),
        // One foreign tool is sufficient.
        (
            r#"{"name":"f","parameters":{}},{"name":"g","input_schema":{}}"#,
            Some("Anthropic Messages"),
        ),
    ];
    for (tools, name) in cases {
        let text =
            format!(r#"{{"messages":[{{"role":"user","content":"Hi."}}],"tools":[{tools}]}}"#);
        assert_eq!(recognize([text.as_str()]).map(|it| it.name), name, "{tools}");
        let format = detect(&text).first().map(|found| found.format.to_string());
        assert_eq!(format.as_deref(), name.is_none().then_some("openai"), "{tools}");
    }
}
