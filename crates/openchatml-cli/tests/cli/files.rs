//! Input that cannot be read.

use crate::support::{Folder, GOOD, json, ocml_with};

const READING: [&[&str]; 5] = [
    &["parse"],
    &["render", "-t", "chatml"],
    &["convert", "-t", "chatml"],
    &["show"],
    &["check", "-q"],
];

#[test]
fn a_missing_file_is_reported_on_one_line() {
    let folder = Folder::new();
    for args in READING {
        let line = folder.ocml(args.iter().chain(&["none.txt"])).says_one_line(2);
        assert_eq!(line, "error: cannot read `none.txt`: no such file or directory\n");
    }
    for args in [["fmt", "none.txt"], ["detect", "none.txt"]] {
        folder.ocml(args).exits(2).says("cannot read `none.txt`");
    }
}

#[test]
fn a_directory_is_reported_on_one_line() {
    let folder = Folder::new();
    for args in READING {
        let line = folder.ocml(args.iter().chain(&["."])).says_one_line(2);
        let is_one_file = matches!(args[0], "parse" | "render" | "show");
        let expected = match is_one_file {
            true => {
                "error: cannot read `.`: it is a folder, and this command reads one file; `check`, `convert`, `detect`, `fmt` and `tokens` read folders\n"
            }
            false => {
                "error: the folder `.` has no files named *.json, *.jsonl, *.ndjson, *.txt, *.ocml\n"
            }
        };
        assert_eq!(line, expected);
    }
    let line = folder.ocml(["parse", "--jsonl", "."]).says_one_line(2);
    assert!(line.starts_with("error: cannot read `.`: it is a folder"), "{line}");
}

#[test]
fn invalid_utf_8_is_reported_with_an_offset() {
    let mut input = GOOD.as_bytes().to_vec();
    let at = GOOD.find("Tokyo").unwrap();
    input[at] = 0xFF;
    let ran = ocml_with(["parse", "--allow-loss=invalid-value"], &input).exits(0);
    let message = format!("warning[E-PARSE-UTF8]: the byte at offset {at} is not UTF-8");
    let ran = ran.says(&message).says("--> <stdin>:6:47");
    let text = json(&ran.stdout)["messages"][2]["content"].as_str().unwrap().to_owned();
    assert_eq!(text, "What's the weather in \u{fffd}okyo?");
    let ran = ocml_with(["parse"], &input).exits(1).says("error[E-PARSE-UTF8]");
    assert_eq!(ran.stdout, "");
    let ran = ocml_with(["check", "--output-format", "json"], &input).exits(1);
    let found = json(&ran.stdout);
    assert_eq!(found["span"], serde_json::json!({"start": at, "end": at + 1}));
    assert_eq!((&found["line"], &found["column"]), (&6.into(), &47.into()));
}

#[test]
fn places_after_invalid_bytes_refer_to_the_file() {
    let input = b"version: 2.2\n\n<|start|>user<|message|>\xFF\xFF\xFF<|end|>\nstray";
    let ran = ocml_with(["check", "--output-format", "json"], input).exits(1);
    let found = json(ran.stdout.lines().last().unwrap());
    assert_eq!(found["code"], "E-PARSE-FRAME");
    assert_eq!(found["span"]["end"], input.len());
}

#[test]
fn binary_files_are_refused() {
    let ran = ocml_with(["parse"], b"\xFF\xFEh\0i\0").exits(2).says("UTF-16");
    assert_eq!(ran.stdout, "");
    let ran = ocml_with(["parse"], b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").exits(1);
    assert_eq!(ran.stderr.matches("error").count(), 1, "{}", ran.stderr);
    ran.says("the byte at offset 0 is not UTF-8");
}

#[test]
fn a_byte_order_mark_is_not_text() {
    let ran = ocml_with(["convert", "-t", "openchatml-2.2"], format!("\u{feff}{GOOD}"));
    assert_eq!(ran.silent().stdout, GOOD);
    let ran = ocml_with(
        ["check", "--output-format", "json"],
        "\u{feff}version: 2.2\n\n<|start|>usr<|message|>Hi.<|end|>",
    );
    let found = json(ran.exits(1).stdout.lines().next().unwrap());
    assert_eq!(found["span"], serde_json::json!({"start": 26, "end": 29}));
    assert_eq!((&found["line"], &found["column"]), (&3.into(), &10.into()));
}

#[test]
fn text_that_begins_with_a_byte_order_mark_keeps_it() {
    let folder = Folder::new();
    let twice = "\u{feff}\u{feff}abc\n";
    folder.file("a.txt", twice);
    folder.ocml(["fmt", "-f", "openchatml-0.1", "a.txt"]).exits(0);
    assert_eq!(folder.read("a.txt"), twice);
    let ran = ocml_with(
        ["convert", "-f", "json", "-t", "openchatml-0.1"],
        "{\"files\":[\"\u{feff}a\",\"b\"]}",
    );
    let text = ran.exits(0).stdout;
    let back = ocml_with(["parse", "-f", "openchatml-0.1"], &text).exits(0).stdout;
    assert!(back.contains("\u{feff}a"), "{back}");
}

#[test]
fn duplicate_keys_next_to_ids_are_reported() {
    let ids = r#"{"ids":[200006,1428,200008,3686,200007],"ids":[200006,1428,200008,53,200007]}"#;
    ocml_with(["parse", "-f", "harmony:tokens"], ids).exits(1).says("error[E-DUPLICATE-KEY]");
}

#[test]
fn unknown_keys_of_a_response_format_are_errors() {
    let folder = Folder::new();
    let args = ["render", "-t", "harmony", "--response-format", "format.json"];
    let question = r#"{"messages":[{"role":"user","content":"x"}]}"#;
    let of = |more: &str| {
        let schema = r#""name":"n","schema":{"type":"object"},"strict":true"#;
        format!(r#"{{"type":"json_schema","json_schema":{{{schema}{more}}}}}"#)
    };
    folder.file("format.json", of(""));
    folder.ocml_with(args, question).exits(0);
    folder.file("format.json", of(r#","zz":1"#));
    folder.ocml_with(args, question).exits(1).says("unknown key `zz` in a response format");
    folder.file("format.json", r#"{"type":"text"}"#);
    assert!(!folder.ocml_with(args, question).exits(0).stdout.contains("Response Formats"));
}

#[test]
fn text_after_a_stop_token_does_not_make_an_answer_incomplete() {
    let args = ["show", "-f", "openchatml-2.2", "--role", "assistant"];
    let answer = "<|channel|>final<|message|>Hi<|return|>";
    let alone = ocml_with(args, answer).exits(0).stdout;
    let followed = ocml_with(args, format!("{answer}<|start|>assistant")).exits(0);
    assert_eq!(followed.stdout, alone);
}
