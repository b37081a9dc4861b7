//! Detection of formats.

use openchatml::{TextFormat, detect};

#[test]
fn json_that_is_cut_off_is_detected_by_its_keys() {
    let cases = [
        (r#"{"messages":[{"role":"user","channel":"final","content":"<|im_start|>"#, "json"),
        (r#"{"role":"assistant","channel":"final","content":"<|im_start|>"#, "openchatml-2.2:json"),
        (r#"[{"role":"assistant","thinking":"<|im_start|>"#, "openchatml-2.0:json"),
        (r#"["#, ""),
        (r#"[{"token": "<|start|>"}, "user"#, "chatml-wire"),
        ("[NOTE] <|im_start|>user\nHi<|im_end|>", "chatml"),
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

#[test]
fn raw_completions_are_recognised_by_what_they_begin_with() {
    let cases = [
        ("<|channel|>final<|message|>Hi.<|return|>", "harmony", true),
        ("\n<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant", "harmony", true),
        (" to=functions.f<|channel|>commentary json<|message|>{}<|call|>", "harmony", true),
        ("<|start|>assistant<|channel|>final<|message|>Hi.<|return|>", "harmony", false),
        ("<|inner_prefix|>Hm.<|inner_suffix|>Hi.<|assistant_end|>", "apertus", true),
        (
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call><|im_end|>",
            "qwen3",
            true,
        ),
        ("<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>", "qwen3", true),
        (
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call><|end_of_text|>",
            "granite-4",
            true,
        ),
        ("</mm:think>Hi.[e~[", "minimax-m3", true),
        ("]~!b[]~b]user\nHi.[e~[\n]~b]ai\n</mm:think>Hi.[e~[\n", "minimax-m3", false),
        (
            "]~!b[]~b]user\nHi.[e~[\n]~b]ai\n<think>\nHm.\n</think>\n\nHi.[e~[\n",
            "minimax-m2",
            false,
        ),
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}", "deepseek-v3.1", true),
        ("<|im_start|>user\n<|channel|>final<|message|>Hi.<|im_end|>", "chatml", false),
    ];
    for (text, format, is_completion) in cases {
        let found = detect(text);
        let best = found.first().unwrap_or_else(|| panic!("{text}"));
        assert_eq!((best.format.to_string().as_str(), best.is_completion), (format, is_completion));
        let named: TextFormat = format.parse().unwrap();
        assert_eq!(named.is_completion(text), Some(is_completion), "{text}");
    }
    // Without a channel, nothing says who speaks.
    assert!(detect("<|message|>Hi.<|return|>").is_empty());
    // Several models write reasoning like this.
    let thinking = detect("<think>\nHm.\n</think>\n\nHi.");
    assert!(thinking.iter().all(|found| !found.is_certain()), "{thinking:?}");
}

#[test]
fn text_that_has_not_arrived_can_decide_whether_it_is_a_completion() {
    let is_completion = |text| TextFormat::HARMONY.is_completion(text);
    for open in ["", "\n ", "<", "<|chan", " to=functions.f", " t"] {
        assert_eq!(is_completion(open), None, "{open:?}");
    }
    for other in ["Hi", "to do\n", "to=a\nb", "<b>", "Hi <|channel|>"] {
        assert_eq!(is_completion(other), Some(false), "{other:?}");
    }
}
