//! `detect`: formats and the evidence for them.

use crate::support::{Folder, GOOD, MESSAGES, json, ocml_with};

#[test]
fn formats_are_detected_with_places() {
    let folder = Folder::new();
    folder.file("a.txt", GOOD);
    folder.file("b.txt", "<|im_start|>user\nHi.<|im_end|>\n");
    let ran = folder.ocml(["detect", "a.txt", "b.txt"]).silent();
    assert!(ran.stdout.starts_with("a.txt: openchatml-2.2 (100 %)\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("  1:1: `version: 2.2` in the header\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\nb.txt: chatml ("), "{}", ran.stdout);
}

#[test]
fn json_has_one_object_per_file() {
    let folder = Folder::new();
    folder.file("a.txt", GOOD);
    folder.file("c.jsonl", format!("\n1\n{}\n", serde_json::to_string(GOOD).unwrap()));
    folder.file("words.txt", "just words");
    let args = ["detect", "--output-format", "json", "a.txt", "c.jsonl", "words.txt"];
    let ran = folder.ocml(args).exits(1);
    let seen: Vec<_> = ran.stdout.lines().map(json).collect();
    assert_eq!(seen[0]["format"], "openchatml-2.2");
    assert_eq!(seen[0]["confidence"], 100);
    assert_eq!(seen[0]["evidence"][0]["line"], 1);
    assert_eq!((&seen[1]["format"], &seen[1]["jsonl"]), (&"openchatml-2.2".into(), &true.into()));
    assert_eq!(seen[1]["evidence"][0]["line"], 3);
    assert_eq!(seen[1]["evidence"][0]["column"], 2);
    assert_eq!(seen[2]["format"], serde_json::Value::Null);
}

#[test]
fn undetected_formats_are_reported() {
    let ran = ocml_with(["detect"], "just words").exits(1);
    assert_eq!(ran.stdout, "<stdin>: no format detected\n");
    for (args, input) in
        [(&["detect"][..], ""), (&["detect"], " \n"), (&["detect", "--jsonl"], "\n")]
    {
        assert_eq!(ocml_with(args, input).exits(1).stdout, "<stdin>: the file is empty\n");
    }
    ocml_with(["check", "--jsonl"], "\n").exits(0).says("`<stdin>` is empty");
    ocml_with(["detect", "none.txt", "-"], MESSAGES).exits(2).says("cannot read `none.txt`");
    let ran = ocml_with(["detect", "--jsonl"], MESSAGES).silent();
    assert!(ran.stdout.starts_with("<stdin>: json, one document per line"), "{}", ran.stdout);
}

#[test]
fn a_list_of_records_is_recognized() {
    let records =
        r#"[{"conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"}]}]"#;
    let ran = ocml_with(["convert", "-t", "openai"], records).silent();
    assert_eq!(ran.stdout.lines().count(), 1);
    let ran = ocml_with(["detect"], records).silent();
    assert!(ran.stdout.contains("sharegpt, one document per line"), "{}", ran.stdout);
}

#[test]
fn mixed_lines_have_no_common_format() {
    let lines = [
        r#"{"conversations":[{"from":"human","value":"Hi."}]}"#,
        r#"{"instruction":"Say hi.","output":"Hi."}"#,
        r#"{"contents":[{"role":"user","parts":[{"text":"Hi."}]}]}"#,
        r#"{"weather":"sunny"}"#,
    ];
    let ran = ocml_with(["detect", "--jsonl"], lines.join("\n")).silent();
    let first = ran.stdout.lines().next();
    assert_eq!(first, Some("<stdin>: mixed formats, one document per line"));
    assert!(ran.stdout.contains("\n  1 line: no format\n"), "{}", ran.stdout);
    // Each line is read in its own format, and the last one in none.
    let ran = ocml_with(["convert", "-t", "openai", "--jsonl"], lines.join("\n")).exits(1);
    assert_eq!(ran.stdout.lines().count(), 3);
    ran.says("the format of the line is not certain, and the file mixes formats");
}

#[test]
fn similar_formats_are_compared_by_their_findings() {
    let call = r#"{"messages":[{"role":"user","content":"Hi."},{"role":"assistant","channel":"commentary","recipient":"functions.f","content_type":"json","content":"{}"}]}"#;
    let ran = ocml_with(["detect"], call).silent();
    assert!(ran.stdout.starts_with("<stdin>: harmony:json (100 %)\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("`json` would report: the call does not end"), "{}", ran.stdout);
}

#[test]
fn a_line_break_after_a_completion_is_no_evidence() {
    for end in ["", "\n"] {
        let text = format!("<|channel|>final<|message|>Hi.<|return|>{end}");
        let ran = ocml_with(["detect"], &text).silent();
        assert!(ran.stdout.starts_with("<stdin>: harmony, a completion"), "{}", ran.stdout);
    }
}

#[test]
fn usual_keys_of_records_are_known() {
    let chat = r#"[{"role":"user","content":"Q"},{"role":"assistant","content":"A"}]"#;
    let other = r#"[{"role":"user","content":"Q"},{"role":"assistant","content":"B"}]"#;
    for (record, format) in [
        (format!(r#"{{"id":"1","messages":{chat},"source":"s"}}"#), "openai"),
        (format!(r#"{{"prompt":"Q","prompt_id":"1","messages":{chat},"category":"c"}}"#), "openai"),
        (
            format!(
                r#"{{"prompt":"Q","prompt_id":"1","chosen":{chat},"rejected":{other},"messages":{chat},"score_chosen":1}}"#
            ),
            "records",
        ),
    ] {
        let ran = ocml_with(["detect"], &record).silent();
        assert!(ran.stdout.starts_with(&format!("<stdin>: {format} ")), "{}", ran.stdout);
        ocml_with(["convert", "-t", "openai"], &record).exits(0);
    }
}

#[test]
fn stripped_completions_are_named_in_a_named_format() {
    let text = "analysisThe user greets.assistantfinalHello!";
    ocml_with(["check", "-f", "harmony"], text).exits(1).says("skip_special_tokens=False");
}
