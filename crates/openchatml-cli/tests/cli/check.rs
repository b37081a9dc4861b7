//! `check`: findings and their fixes.

use crate::support::{BAD, Folder, GOOD, json, ocml, ocml_with};

#[test]
fn a_valid_file_is_reported_as_valid() {
    let folder = Folder::new();
    folder.file("a.txt", GOOD);
    folder.file("b.txt", GOOD);
    let ran = folder.ocml(["check", "a.txt", "b.txt"]).exits(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", "2 files checked: no problems\n"));
    folder.ocml(["check", "-q", "a.txt"]).silent();
}

#[test]
fn all_findings_are_reported() {
    let ran = ocml_with(["check"], BAD).exits(1);
    assert_eq!(ran.stdout, "");
    for code in ["E-PARSE-FRAME", "E-PARSE-HEADER", "E-STREAM-TRUNCATED"] {
        assert!(ran.stderr.contains(&format!("error[{code}]")), "{}", ran.stderr);
    }
    ran.says("1 file checked: 3 errors");
}

#[test]
fn check_is_strict_unless_told_otherwise() {
    let text = "<|start|>assistant intent=status<|channel|>commentary<|message|>Hi.<|end|>\n";
    ocml_with(["check"], text).exits(1).says("error[E-PARSE-HEADER]");
    ocml_with(["check", "--lenient"], text).exits(0).says("warning[E-PARSE-HEADER]");
    ocml_with(["check", "--lenient", "--deny-warnings"], text).exits(1);
    ocml_with(["check", "--lenient", "-q"], text).silent();
}

#[test]
fn a_file_of_an_unknown_format_is_a_finding() {
    let folder = Folder::new();
    folder.file("package.json", r#"{"name":"web-app"}"#);
    let ran = folder.ocml(["check", "package.json"]).exits(1);
    ran.says("error[E-FORMAT-UNKNOWN]").says("1 file checked: 1 error\n");
    let ran = folder.ocml(["check", "--output-format", "json", "package.json"]).exits(1);
    let found = json(&ran.stdout);
    assert_eq!(
        (&found["code"], &found["file"]),
        (&"E-FORMAT-UNKNOWN".into(), &"package.json".into())
    );
    folder.ocml(["fmt", "package.json"]).exits(1).says("0 files changed, 1 refused\n");
}

#[test]
fn fixes_are_applied_until_none_remains() {
    let folder = Folder::new();
    let text =
        "<|start|>user<|message|>Hi.<|end|>\n<|start|>assistant<|channel|>final<|message|>Yo.";
    folder.file("a.txt", text);
    let ran = folder.ocml(["check", "--fix", "-f", "openchatml-2.2", "a.txt"]).exits(1);
    ran.says("1 error, 1 problem fixed; 1 suggestion can be fixed with --fix --unsafe-fixes");
    // It is unknown whether the message is complete.
    assert_eq!(folder.read("a.txt"), format!("version: 2.2\n\n{text}"));
    let ran = folder.ocml(["check", "--fix", "--unsafe-fixes", "a.txt"]).exits(0);
    ran.says("no problems, 1 problem fixed");
    assert_eq!(folder.read("a.txt"), format!("version: 2.2\n\n{text}<|end|>"));
    assert_eq!(folder.names(), ["a.txt"]);
    folder.ocml(["check", "a.txt"]).exits(0);
}

#[test]
fn unfixable_problems_are_reported_at_their_new_place() {
    let folder = Folder::new();
    folder.file("a.txt", "<|start|>usr<|message|>Hi.<|end|>\n");
    folder
        .ocml(["check", "--fix", "-f", "openchatml-2.2", "a.txt"])
        .exits(1)
        .says("--> a.txt:3:10")
        .says("1 problem fixed");
}

#[test]
fn fixed_standard_input_goes_to_standard_output() {
    let text = "<|start|>user<|message|>Hi.<|end|>\n";
    let ran = ocml_with(["check", "--fix", "-f", "openchatml-2.2"], text).exits(0);
    assert_eq!(ran.stdout, format!("version: 2.2\n\n{text}"));
    let ran = ocml_with(["check", "--fix"], GOOD).exits(0);
    assert_eq!(ran.stdout, GOOD);
    let line = ocml_with(["check", "--fix", "--output-format", "json"], text).says_one_line(2);
    assert!(line.contains("--output"), "{line}");
}

#[test]
fn a_file_without_fixes_is_not_touched() {
    let folder = Folder::new();
    let path = folder.file("a.txt", GOOD);
    let before = std::fs::metadata(&path).unwrap().modified().unwrap();
    folder.ocml(["check", "--fix", "a.txt"]).exits(0);
    assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), before);
}

#[test]
fn lines_of_jsonl_are_fixed_in_their_place() {
    let folder = Folder::new();
    let line = "{\"id\": 1, \"text\": \"<|start|>user<|message|>Hi <<|end|>.<|end|>\\n\", \"x\": \"\\u00e9\"}\r\n";
    let fine = "\"version: 2.2\\n\\n<|start|>user<|message|>\\u00e9<|end|>\\n\"\n";
    folder.file("a.jsonl", format!("{line}\n{fine}"));
    folder.ocml(["check", "--fix", "a.jsonl"]).exits(0).says("1 problem fixed");
    let mended = line.replace("\"<|start|>", "\"version: 2.2\\n\\n<|start|>").replace('\r', "");
    assert_eq!(folder.read("a.jsonl"), format!("{mended}\n{fine}"));
    let ran = folder.ocml_with(["check", "--fix", "--jsonl"], format!("{line}\n{fine}")).exits(0);
    assert_eq!(ran.stdout, format!("{mended}\n{fine}"));
}

#[test]
fn places_in_jsonl_refer_to_the_file() {
    let folder = Folder::new();
    let good = serde_json::to_string(GOOD).unwrap();
    let bad = r#"{"text": "version: 2.2\n\n<|start|>\u0075ser<|message|>Hi<|end|>é"}"#;
    let text = format!("{good}\n\n{bad}\n");
    folder.file("a.jsonl", &text);
    let ran = folder.ocml(["check", "--output-format", "json", "a.jsonl"]).exits(1);
    let found = json(&ran.stdout);
    assert_eq!(found["line"], 3);
    let at = usize::try_from(found["span"]["start"].as_u64().unwrap()).unwrap();
    let end = usize::try_from(found["span"]["end"].as_u64().unwrap()).unwrap();
    assert_eq!(&text[at..end], "é");
    assert_eq!(found["column"].as_u64().unwrap(), 1 + bad.find('é').unwrap() as u64);
}

#[test]
fn one_bad_file_does_not_hide_the_others() {
    let folder = Folder::new();
    folder.file("bad.txt", BAD);
    folder.file("words.txt", "just words");
    let ran = folder.ocml(["check", "none.txt", "words.txt", "bad.txt"]).exits(2);
    let ran = ran.says("cannot read `none.txt`").says("cannot detect the format of `words.txt`");
    let ran = ran.says("error[E-PARSE-FRAME]");
    ran.says("2 files checked: 4 errors; 1 file unreadable");
    folder.ocml(["check", "words.txt"]).exits(1);
}

#[test]
fn a_report_can_go_to_a_file() {
    let folder = Folder::new();
    folder.file("bad.txt", BAD);
    let args = ["check", "--color", "always", "-o", "report", "bad.txt"];
    let ran = folder.ocml(args).exits(1);
    assert!(!ran.stderr.contains("E-PARSE"), "{}", ran.stderr);
    let report = folder.read("report");
    assert!(report.contains("error[E-PARSE-FRAME]") && !report.contains('\u{1b}'), "{report}");
    assert_eq!(folder.names(), ["bad.txt", "report"]);
}

#[test]
fn the_format_can_be_named() {
    let text = "<|im_start|>user\nHi.<|im_end|>\n";
    ocml_with(["check", "-f", "chatml"], text).exits(0);
    ocml_with(["check", "--format", "chatml"], text).exits(0);
    ocml_with(["check", "-f", "openchatml-2.2"], text).exits(1);
    ocml(["check", "-f", "nonsense"]).exits(2).says("possible values");
}

#[test]
fn a_file_that_would_be_detected_as_another_format_is_not_fixed() {
    let folder = Folder::new();
    let text = "<|start|>assistant<|end_message|>A <<|start|>SECRET<|end_message|>";
    folder.file("a.txt", text);
    folder
        .ocml(["check", "--fix", "a.txt"])
        .exits(1)
        .says("if the format is right, use `--from chatml-wire:text`");
    // Only documents with an unambiguous format are fixed.
    assert!(
        folder.ocml(["detect", "a.txt"]).exits(0).stdout.starts_with("a.txt: chatml-wire:text ")
    );
    let mended = folder.read("a.txt");
    let named = ["check", "--fix", "-f", "chatml-wire:text", "a.txt"];
    folder.ocml(named);
    assert_ne!(folder.read("a.txt"), mended);
}

#[test]
fn an_uncertain_format_is_not_written_into_a_file() {
    let folder = Folder::new();
    let text = "<|start|>assistant intent=status<|channel|>commentary<|message|>Hi.<|end|>\n";
    folder.file("a.txt", text);
    let ran = folder.ocml(["check", "--fix", "a.txt"]).exits(1);
    ran.says("if the format is right, use `--from openchatml-2.2`");
    assert_eq!(folder.read("a.txt"), text);
    folder.ocml(["check", "--fix", "-f", "openchatml-2.2", "a.txt"]).exits(0);
    assert_eq!(folder.read("a.txt"), format!("version: 2.2\n\n{text}"));
    folder.file("a.txt", text);
    folder.ocml(["check", "--fix", "--unsafe-fixes", "a.txt"]).exits(0);
    assert_eq!(folder.read("a.txt"), format!("version: 2.2\n\n{text}"));
}

#[test]
fn a_fix_adds_no_token_after_stray_text() {
    let folder = Folder::new();
    let text = "hello\n<|user_start|>q<|user_end|><|assistant_start|>Hi<|assistant_end|>";
    folder.file("a.txt", text);
    folder.ocml(["check", "--fix", "-f", "apertus", "a.txt"]).exits(1);
    assert_eq!(folder.read("a.txt"), text);
}

#[test]
fn calls_and_replies_without_each_other_can_be_ignored() {
    let call = r#"{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let reply = r#"{"role":"tool","tool_call_id":"c","content":"1"}"#;
    let (user, answer) =
        (r#"{"role":"user","content":"Hi."}"#, r#"{"role":"assistant","content":"Hello."}"#);
    for (messages, code) in [
        ([user, call, user, answer], "E-CALL-UNANSWERED"),
        ([user, answer, reply, answer], "E-REPLY-UNMATCHED"),
    ] {
        let text = format!(r#"{{"messages":[{}]}}"#, messages.join(","));
        ocml_with(["check"], &text).exits(1).says(code);
        ocml_with(["check", "--ignore", code], &text).exits(0);
    }
    ocml_with(["check", "--ignore", "E-PARSE-FRAME"], "").exits(2).says("cannot be ignored");
}

const EMPTY_TWICE: &str = "{\"messages\":[{\"role\":\"user\",\"content\":\"\"},{\"role\":\"assistant\",\"content\":\"A\"}]}\n{\"messages\":[{\"role\":\"user\",\"content\":\"\"},{\"role\":\"assistant\",\"content\":\"B\"}]}\n{\"messages\":[]}\n";

#[test]
fn a_lint_that_is_selected_is_checked_among_ignored_ones() {
    let args = ["check", "--jsonl", "--ignore", "all", "--select", "W-EMPTY-MESSAGE"];
    ocml_with(args, EMPTY_TWICE).exits(0).says("3 warnings");
    ocml_with([&args[..], &["--ignore", "W-EMPTY-MESSAGE"]].concat(), EMPTY_TWICE)
        .exits(0)
        .says("no problems");
}

#[test]
fn findings_that_are_not_written_for_programs_are_counted_for_people() {
    for style in ["json", "sarif", "github"] {
        let args = ["check", "--jsonl", "--max-findings", "1", "--output-format", style];
        let ran = ocml_with(args, EMPTY_TWICE).exits(0);
        assert_eq!(ran.stdout.matches("the message of `user` is empty").count(), 1, "{style}");
        ran.says("1 more in line 2: the message of `user` is empty");
    }
    for style in ["sarif", "github"] {
        let args = ["check", "--statistics", "--output-format", style];
        ocml_with(args, EMPTY_TWICE).exits(2).says("output formats `text` and `json`");
    }
}
