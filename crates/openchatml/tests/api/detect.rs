//! Which format a text is in.

use openchatml::detect;

#[test]
fn json_that_is_cut_off_is_detected_by_its_keys() {
    let cases = [
        (r#"{"messages":[{"role":"user","channel":"final","content":"<|im_start|>"#, "json"),
        (r#"{"role":"assistant","channel":"final","content":"<|im_start|>"#, "openchatml-2.2:json"),
        (r#"[{"role":"assistant","thinking":"<|im_start|>"#, "openchatml-2.0:json"),
        (r#"["#, ""),
        (r#"[{"token": "<|start|>"}, "user"#, "chatml-wire"),
        ("[INST] <|im_start|>user\nHi<|im_end|>", "chatml"),
    ];
    for (text, format) in cases {
        let found = detect(text).first().map(|found| found.format.to_string());
        assert_eq!(found.unwrap_or_default(), format, "{text}");
    }
}

#[test]
fn a_tool_is_of_another_service_only_if_nothing_says_that_it_is_of_this_one() {
    let cases = [
        (r#"{"name":"f","input_schema":{}}"#, "anthropic"),
        (r#"{"input_schema":{},"type":"custom","name":"f"}"#, "anthropic"),
        (r#"{"type":"function","name":"f","parameters":{},"input_schema":{}}"#, "openai"),
        (r#"{"type":"function","name":"f","input_schema":{},"parameters":{}}"#, "openai"),
        (r#"{"type":"function","function":{"name":"f"},"input_schema":{}}"#, "openai"),
        // One of another service is enough.
        (r#"{"name":"f","parameters":{}},{"name":"g","input_schema":{}}"#, "anthropic"),
    ];
    for (tools, name) in cases {
        let text =
            format!(r#"{{"messages":[{{"role":"user","content":"Hi."}}],"tools":[{tools}]}}"#);
        let format = detect(&text).first().map(|found| found.format.to_string());
        assert_eq!(format.as_deref(), Some(name), "{tools}");
    }
}
