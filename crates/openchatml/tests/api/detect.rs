//! Which format a text is in.

use openchatml::detect;

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
