//! JSONL: in order, aligned, on all cores.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use crate::support::{Folder, GOOD, MESSAGES, command, finish, json, ocml_with};

/// Many lines of which some are long, some are empty and some are wrong, and what comes of each.
fn many_lines() -> (String, Vec<String>) {
    let (mut input, mut expected) = (String::new(), Vec::new());
    for number in 0..20_000 {
        let (line, result) = match number % 100 {
            7 => ("{\"messages\": [".to_owned(), "null".to_owned()),
            13 => (String::new(), String::new()),
            99 => {
                let text = "long ".repeat(number % 7000);
                (messages(&text), rendered(&text))
            }
            _ => (messages(&format!("line {number}")), rendered(&format!("line {number}"))),
        };
        writeln!(input, "{line}").unwrap();
        expected.push(result);
    }
    (input, expected)
}

fn messages(text: &str) -> String {
    format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}]}}"#)
}

fn rendered(text: &str) -> String {
    format!(r#"{{"text":"<|im_start|>user\n{text}<|im_end|>\n"}}"#)
}

#[test]
fn lines_stay_in_order_on_all_cores() {
    let (input, expected) = many_lines();
    let folder = Folder::new();
    folder.file("a.jsonl", &input);
    for jobs in ["1", "2", "7"] {
        let args = ["convert", "-t", "im", "-j", jobs, "a.jsonl", "-o", "b.jsonl"];
        let ran = folder.ocml(args).exits(1).says("a.jsonl: 200 lines refused");
        let output = folder.read("b.jsonl");
        assert!(output.lines().eq(&expected), "with {jobs} jobs");
        // Findings are in order, too.
        let places =
            ran.stderr.lines().filter_map(|line| line.split_once("a.jsonl:")?.1.split_once(':'));
        let lines: Vec<usize> = places.filter_map(|(line, _)| line.parse().ok()).collect();
        assert_eq!(lines.len(), 200);
        assert!(lines.is_sorted());
    }
    let ran = folder.ocml_with(["convert", "-q", "-t", "im", "--jsonl"], &input).exits(1);
    assert!(ran.stdout.lines().eq(&expected));
    folder.ocml(["convert", "-t", "im", "-j", "0", "a.jsonl"]).exits(2);
}

#[test]
fn a_line_holds_a_text_or_an_object_with_one() {
    let text = serde_json::to_string(GOOD).unwrap();
    let input = format!("{text}\n{{\"id\":7,\"text\":{text}}}");
    let ran = ocml_with(["convert", "-q", "--jsonl", "-t", "openchatml-2.2"], &input).exits(0);
    let lines: Vec<_> = ran.stdout.lines().map(json).collect();
    assert_eq!(lines[0], serde_json::json!({"text": GOOD}));
    assert_eq!(lines[1], serde_json::json!({"id": 7, "text": GOOD}));
}

#[test]
fn fields_that_get_lost_are_losses() {
    let input = format!("{{\"id\":7,\"text\":{}}}\n", serde_json::to_string(GOOD).unwrap());
    let ran = ocml_with(["parse", "--jsonl"], &input).exits(0);
    ran.says("warning[W-LOSS]: <stdin>: field `id`");
    let ran = ocml_with(["parse", "--jsonl", "--no-loss"], &input).exits(1);
    assert_eq!(ran.stdout, "null\n");
}

#[test]
fn losses_are_counted_over_all_lines() {
    let line = MESSAGES;
    let input = format!("{line}\n{line}\n{line}\n");
    let ran = ocml_with(["convert", "--jsonl", "-t", "im"], &input).exits(0);
    assert_eq!(
        ran.stderr,
        "warning[W-LOSS]: <stdin>: analysis dropped (3 documents, 3 messages, first at 1:57)\n",
    );
    let ran = ocml_with(["convert", "--jsonl", "-t", "im", "--no-loss"], &input).exits(1);
    assert_eq!(ran.stdout, "null\nnull\nnull\n");
}

#[test]
fn strict_refuses_lines_not_files() {
    let bad = serde_json::to_string("<|im_start|>user\nnever ends").unwrap();
    let good = serde_json::to_string("<|im_start|>user\nHi.<|im_end|>\n").unwrap();
    let input = format!("{good}\n{bad}\n{good}\n");
    let lines = |flags: &[&str]| {
        let args = ["parse", "--jsonl", "-f", "im"].iter().chain(flags);
        let ran = ocml_with(args, &input).exits(1);
        ran.stdout.lines().map(|line| line != "null").collect::<Vec<_>>()
    };
    assert_eq!(lines(&["--strict"]), [true, false, true]);
    assert_eq!(lines(&[]), [true, true, true]);
}

#[test]
fn an_empty_file_has_no_lines() {
    let folder = Folder::new();
    folder.file("empty.jsonl", "");
    assert_eq!(folder.ocml(["parse", "empty.jsonl"]).silent().stdout, "");
    folder.ocml(["parse", "empty.jsonl", "-o", "out.jsonl"]).silent();
    assert_eq!(folder.read("out.jsonl"), "");
    folder.ocml(["check", "empty.jsonl"]).exits(0);
    folder.ocml(["fmt", "empty.jsonl"]).exits(0);
    folder.file("words.jsonl", "words\n");
    folder.ocml(["parse", "words.jsonl"]).says_one_line(1);
}

#[test]
fn lines_with_bytes_that_are_not_text_are_mended() {
    let mut input = b"{\"messages\":[{\"role\":\"user\",\"content\":\"a".to_vec();
    input.extend(b"\xFFb\"}]}\n");
    input.extend(MESSAGES.as_bytes());
    let ran = ocml_with(["parse", "--jsonl"], &input).exits(1);
    let ran = ran.says("error[E-PARSE-UTF8]: the byte at offset 40 is not UTF-8");
    assert_eq!(json(ran.stdout.lines().next().unwrap())["messages"][0]["content"], "a\u{fffd}b");
    assert_eq!(ran.stdout.lines().nth(1), Some(MESSAGES));
}

#[test]
fn lines_that_arrive_slowly_are_not_held_back() {
    let args = ["convert", "--jsonl", "-q", "-t", "im"];
    let mut child = command(args).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for number in 0..3 {
        writeln!(stdin, "{}", messages(&format!("line {number}"))).unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), rendered(&format!("line {number}")));
    }
    drop(stdin);
    finish(child).silent();
}
