//! JSONL: the output is in order and uses all cores; refused lines are left out, or go to a
//! separate file.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use crate::support::{Folder, GOOD, MESSAGES, command, finish, json, ocml_with};

/// Many lines, of which some are long, empty or invalid, and the output for the valid ones.
fn many_lines() -> (String, Vec<String>) {
    let (mut input, mut expected) = (String::new(), Vec::new());
    for number in 0..20_000 {
        let (line, result) = match number % 100 {
            7 => ("{\"messages\": [".to_owned(), None),
            13 => (String::new(), Some(String::new())),
            99 => {
                let text = "long ".repeat(number % 7000);
                (messages(&text), Some(rendered(&text)))
            }
            _ => (messages(&format!("line {number}")), Some(rendered(&format!("line {number}")))),
        };
        writeln!(input, "{line}").unwrap();
        expected.extend(result);
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
fn parallel_processing_keeps_the_order_of_lines() {
    let (input, expected) = many_lines();
    let folder = Folder::new();
    folder.file("a.jsonl", &input);
    for jobs in ["1", "2", "7"] {
        let args = ["convert", "-t", "chatml", "-j", jobs, "a.jsonl", "-o", "b.jsonl"];
        let ran = folder.ocml(args).exits(1);
        let ran = ran.says("a.jsonl: 200 lines of 19800 refused");
        let output = folder.read("b.jsonl");
        assert!(output.lines().eq(&expected), "with {jobs} jobs");
        // Findings are in order, too.
        let places =
            ran.stderr.lines().filter_map(|line| line.split_once("a.jsonl:")?.1.split_once(':'));
        let lines: Vec<usize> = places.filter_map(|(line, _)| line.parse().ok()).collect();
        assert_eq!(lines.len(), 200);
        assert!(lines.is_sorted());
    }
    let ran = folder.ocml_with(["convert", "-q", "-t", "chatml", "--jsonl"], &input).exits(1);
    assert!(ran.stdout.lines().eq(&expected));
    folder.ocml(["convert", "-t", "chatml", "-j", "0", "a.jsonl"]).exits(2);
}

#[test]
fn a_line_contains_a_text_or_an_object_with_a_text() {
    let text = serde_json::to_string(GOOD).unwrap();
    let input = format!("{text}\n{{\"id\":7,\"text\":{text}}}");
    let ran = ocml_with(["convert", "-q", "--jsonl", "-t", "openchatml-2.2"], &input).exits(0);
    let lines: Vec<_> = ran.stdout.lines().map(json).collect();
    assert_eq!(lines[0], serde_json::json!({"text": GOOD}));
    assert_eq!(lines[1], serde_json::json!({"id": 7, "text": GOOD}));
}

#[test]
fn fields_next_to_a_text_are_dropped_only_with_consent() {
    let with =
        |field: &str| format!("{{{field},\"text\":{}}}\n", serde_json::to_string(GOOD).unwrap());
    // What could be a part of the conversation, or say that nobody is to learn from it.
    let input = with("\"label\":false");
    let ran = ocml_with(["parse", "--jsonl"], &input).exits(1);
    assert_eq!(ran.stdout, "");
    ran.says("error[E-UNKNOWN-KEY]: unknown key `label`").says("--allow-loss=unknown-key");
    let ran = ocml_with(["parse", "--jsonl", "--allow-loss=unknown-key"], &input).exits(0);
    ran.says("warning[E-UNKNOWN-KEY]: unknown key `label`");
    ocml_with(["check", "--jsonl"], &input).exits(1).says("unknown key `label`");
    // A column is lost by name.
    let input = with("\"id\":7");
    ocml_with(["parse", "--jsonl"], &input).exits(0).says("field dropped: `id`");
    assert_eq!(ocml_with(["parse", "--jsonl", "--no-loss"], &input).exits(1).stdout, "");
}

const UNKNOWN: &str = r#"{"messages":[{"role":"user","content":"Hi.","mood":"sad"}]}"#;

#[test]
fn refused_lines_are_omitted_and_stored_with_their_diagnostics() {
    let folder = Folder::new();
    let truncated = &MESSAGES[..MESSAGES.len() - 3];
    folder.file("a.jsonl", format!("{MESSAGES}\n{UNKNOWN}\n{MESSAGES}\n{truncated}"));
    let args = ["convert", "-t", "json", "-f", "json", "a.jsonl", "-o", "b.jsonl"];
    let ran = folder.ocml(args.iter().chain(&["--rejects", "bad.jsonl"])).exits(1);
    ran.says("a.jsonl: 2 lines of 4 refused");
    assert_eq!(folder.read("b.jsonl"), format!("{MESSAGES}\n{MESSAGES}\n"));
    let rejects = folder.read("bad.jsonl");
    let rejects: Vec<_> = rejects.lines().map(json).collect();
    assert_eq!(rejects.len(), 2);
    assert_eq!((&rejects[0]["line"], &rejects[1]["line"]), (&2.into(), &4.into()));
    assert_eq!(rejects[0]["input"], UNKNOWN);
    let found = &rejects[0]["diagnostics"][0];
    assert_eq!((&found["code"], &found["line"]), (&"E-UNKNOWN-KEY".into(), &2.into()));
    assert_eq!(found["dropped"], "unknown-key");
    assert_eq!(rejects[1]["diagnostics"][0]["dropped"], "record");
}

#[test]
fn a_line_in_an_unknown_format_is_refused_alone() {
    let folder = Folder::new();
    let foreign = r#"{"question":"q","reply":"r"}"#;
    for lines in [format!("{foreign}\n{MESSAGES}\n"), format!("{MESSAGES}\n{foreign}\n{foreign}")] {
        folder.file("a.jsonl", &lines);
        let ran = folder.ocml(["convert", "-t", "openai", "a.jsonl", "--rejects", "bad.jsonl"]);
        assert_eq!(ran.exits(1).stdout.lines().count(), 1);
        let rejects = folder.read("bad.jsonl");
        assert_eq!(rejects.lines().count(), lines.lines().count() - 1);
        for reject in rejects.lines().map(json) {
            assert_eq!(reject["input"], foreign);
        }
    }
}

#[test]
fn a_file_in_an_unknown_format_is_stored_with_the_rejects() {
    let folder = Folder::new();
    folder.file("bad.txt", "<|start|>bad");
    folder.file("a.json", MESSAGES);
    for args in [&["bad.txt"][..], &["a.json", "bad.txt"]] {
        let rejects = ["convert", "-t", "openai", "--rejects", "bad.jsonl"];
        folder.ocml(rejects.iter().chain(args)).exits(1);
        let reject = json(folder.read("bad.jsonl").trim_end());
        assert_eq!(
            (&reject["file"], &reject["input"]),
            (&"bad.txt".into(), &"<|start|>bad".into())
        );
        assert_eq!(reject["diagnostics"][0]["code"], "E-FORMAT-UNKNOWN");
    }
}

#[test]
fn refused_bytes_are_stored_unchanged() {
    let folder = Folder::new();
    let line = b"{\"messages\":[{\"role\":\"user\",\"content\":\"\xFF\"}]}";
    folder.file("a.jsonl", [line.as_slice(), b"\n"].concat());
    let args = ["convert", "-t", "chatml", "-f", "json", "a.jsonl", "--rejects", "bad.jsonl"];
    assert_eq!(folder.ocml(args).exits(1).stdout, "");
    let rejects = json(folder.read("bad.jsonl").trim_end());
    assert!(rejects["input"].as_str().unwrap().contains('\u{fffd}'));
    let hex: String = line.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(rejects["input_hex"], hex);
}

#[test]
fn input_dropped_with_consent_is_a_warning() {
    let refused = ocml_with(["convert", "-t", "chatml", "-f", "json"], UNKNOWN).exits(1);
    assert_eq!(refused.stdout, "");
    refused.says("nothing was written");
    for allowed in ["--allow-loss", "--allow-loss=unknown-key", "--allow-loss=limit,unknown-key"] {
        let ran = ocml_with(["convert", "-t", "chatml", "-f", "json", allowed], UNKNOWN).exits(0);
        assert_eq!(ran.stdout, "<|im_start|>user\nHi.<|im_end|>\n", "{allowed}");
        ran.says("warning[E-UNKNOWN-KEY]");
    }
    ocml_with(["convert", "-t", "chatml", "-f", "json", "--allow-loss=limit"], UNKNOWN).exits(1);
    ocml_with(["convert", "-t", "chatml", "-f", "json", "--allow-loss=hope"], UNKNOWN).exits(2);
}

#[test]
fn single_losses_can_be_allowed() {
    let args = ["convert", "-t", "chatml", "--no-loss", "--allow-loss=analysis"];
    ocml_with(args, MESSAGES).exits(0).says("analysis dropped");
    ocml_with(["convert", "-t", "chatml", "--no-loss", "--allow-loss=call"], MESSAGES).exits(1);
}

#[test]
fn refusals_name_all_losses_as_allow_loss_expects_them() {
    let input = concat!(
        r#"{"messages":[{"role":"user","content":"a"}],"tols":1}"#,
        "\n",
        r#"{"messages":[{"role":"developer","content":"d"},{"role":"user","content":"a"}]}"#,
        "\n",
    );
    let args = ["convert", "-f", "openai", "-t", "chatml", "--jsonl", "--no-loss"];
    let allowed = "--allow-loss=unknown-key,developer-merged-into-system";
    ocml_with(args, input).exits(1).says(allowed);
    ocml_with(args.into_iter().chain([allowed]), input).exits(0);
}

#[test]
fn losses_are_counted_over_all_lines() {
    let line = MESSAGES;
    let input = format!("{line}\n{line}\n{line}\n");
    let ran = ocml_with(["convert", "--jsonl", "-t", "chatml"], &input).exits(0);
    assert_eq!(
        ran.stderr,
        "warning[W-LOSS]: <stdin>: analysis dropped (3 documents, 3 messages, first at 1:57)\n",
    );
    let ran = ocml_with(["convert", "--jsonl", "-t", "chatml", "--no-loss"], &input).exits(1);
    assert_eq!(ran.stdout, "");
}

#[test]
fn strict_mode_refuses_single_lines() {
    let bad = serde_json::to_string("<|im_start|>user\nnever ends").unwrap();
    let good = serde_json::to_string("<|im_start|>user\nHi.<|im_end|>\n").unwrap();
    let input = format!("{good}\n{bad}\n{good}\n");
    let lines = |flags: &[&str]| {
        let args = ["parse", "--jsonl", "-f", "chatml"].iter().chain(flags);
        let ran = ocml_with(args, &input).exits(1);
        ran.stdout.lines().count()
    };
    assert_eq!(lines(&["--strict"]), 2);
    assert_eq!(lines(&[]), 3);
}

#[test]
fn an_empty_file_has_no_lines() {
    let folder = Folder::new();
    folder.file("empty.jsonl", "");
    let ran = folder.ocml(["parse", "empty.jsonl"]).exits(0);
    let ran = ran.says("`empty.jsonl` is empty: it contains no documents");
    assert_eq!(ran.stdout, "");
    folder.ocml(["parse", "empty.jsonl", "-o", "out.jsonl"]).exits(0);
    assert_eq!(folder.read("out.jsonl"), "");
    folder.ocml(["check", "empty.jsonl"]).exits(0);
    folder.ocml(["fmt", "empty.jsonl"]).exits(0);
    folder.file("words.jsonl", "words\n");
    folder.ocml(["parse", "words.jsonl"]).exits(1).says("E-FORMAT-UNKNOWN");
}

#[test]
fn invalid_bytes_in_lines_are_replaced() {
    let mut input = b"{\"messages\":[{\"role\":\"user\",\"content\":\"a".to_vec();
    input.extend(b"\xFFb\"}]}\n");
    input.extend(MESSAGES.as_bytes());
    let ran = ocml_with(["parse", "--jsonl", "-f", "json"], &input).exits(1);
    ran.says("error[E-PARSE-UTF8]: the byte at offset 40 is not UTF-8");
    let args = ["parse", "--jsonl", "-f", "json", "--allow-loss=invalid-value"];
    let ran = ocml_with(args, &input).exits(0).says("warning[E-PARSE-UTF8]");
    assert_eq!(json(ran.stdout.lines().next().unwrap())["messages"][0]["content"], "a\u{fffd}b");
    assert_eq!(ran.stdout.lines().nth(1), Some(MESSAGES));
}

const PLAIN: &str = r#"{"messages":[{"role":"user","content":"Hi."}]}"#;
const CALL: &str = r#"{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"1"}]}"#;
const SHAREGPT: &str = r#"{"conversations":[{"from":"human","value":"Hi."}]}"#;

/// The first line of a file is a poor sample: later ones may have calls, reasoning or weights.
#[test]
fn the_format_of_a_file_is_detected_from_all_lines() {
    let folder = Folder::new();
    folder.file("a.jsonl", format!("{PLAIN}\n{PLAIN}\n{CALL}\n"));
    let ran = folder.ocml(["convert", "-t", "json", "a.jsonl"]).silent();
    let last = json(ran.stdout.lines().last().unwrap());
    assert_eq!(last["messages"][0]["call_id"], "c");
    folder.ocml(["check", "--ignore", "all", "a.jsonl"]).exits(0).says("no problems");
    let ran = folder.ocml(["detect", "a.jsonl"]).silent();
    assert!(ran.stdout.starts_with("a.jsonl: openai, one document per line"), "{}", ran.stdout);
}

#[test]
fn a_line_in_another_format_is_read_in_its_own() {
    let folder = Folder::new();
    folder.file("a.jsonl", format!("{PLAIN}\n{PLAIN}\n{SHAREGPT}\n{CALL}\n"));
    let ran = folder.ocml(["convert", "-t", "json", "a.jsonl"]).silent();
    let lines: Vec<_> = ran.stdout.lines().map(json).collect();
    assert_eq!(lines[2]["messages"][0]["content"], "Hi.");
    assert_eq!(lines[3]["messages"][1]["role"], "tool");
    folder.file("b.jsonl", format!("{PLAIN}\n{PLAIN}\n{{\"msgs\":[]}}\n"));
    let ran = folder.ocml(["convert", "-t", "json", "b.jsonl"]).exits(1);
    assert_eq!(ran.stdout.lines().count(), 2);
    ran.says("1 line of 3 refused");
}

#[test]
fn records_without_a_format_are_refused_alone() {
    for count in [3, 1200] {
        let input = format!("{PLAIN}\n").repeat(count) + FOREIGN + "\n";
        let ran = ocml_with(["convert", "--jsonl", "-t", "openai"], &input).exits(1);
        let ran = ran.says("the document is not a conversation");
        assert_eq!(ran.stdout.lines().count(), count);
    }
}

/// Without a file name that ends in `.jsonl`, two lines of JSON are two documents.
#[test]
fn lines_of_json_on_standard_input_are_documents() {
    let input = format!("{PLAIN}\n{CALL}\n");
    let ran = ocml_with(["convert", "-t", "json"], &input).silent();
    assert_eq!(ran.stdout.lines().count(), 2);
    let one = serde_json::to_string_pretty(&json(PLAIN)).unwrap();
    assert_eq!(ocml_with(["convert", "-t", "json"], one).silent().stdout.lines().count(), 1);
}

#[test]
fn slow_lines_are_processed_immediately() {
    // Without a format, the first lines are looked at before any is converted.
    let args = ["convert", "--jsonl", "-q", "-f", "json", "-t", "chatml"];
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

#[test]
fn a_line_does_not_affect_how_others_are_read() {
    let call = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"x","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"r"}]}"#;
    let other =
        r#"{"messages":[{"role":"user","content":{"parts":[{"type":"text","text":"P"}]}}]}"#;
    let input = format!("{}{other}\n", format!("{call}\n").repeat(5));
    let ran = ocml_with(["parse", "--jsonl"], &input).exits(0);
    assert_eq!(ran.stdout.matches(r#""intent":"preamble""#).count(), 5, "{}", ran.stdout);
}

#[test]
fn each_key_next_to_a_text_is_reported() {
    let line =
        r#"{"text":"<|im_start|>user\nhi<|im_end|>\n","one":1,"two":2,"label":1,"weight":2}"#;
    let args = ["convert", "--jsonl", "-f", "chatml", "-t", "openai"];
    ocml_with(args, line).exits(1).says("key `label` next to").says("key `weight` next to");
    let args = args.into_iter().chain(["--allow-loss=unknown-key"]);
    ocml_with(args, line).exits(0).says("field dropped: `one`, `two`");
}

const CHAT: &str =
    r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}"#;
const SHARED: &str =
    r#"{"conversations":[{"from":"human","value":"c"},{"from":"gpt","value":"d"}]}"#;
const FOREIGN: &str = r#"{"question":"q","reply":"r"}"#;

#[test]
fn a_line_that_is_not_json_does_not_turn_jsonl_into_one_document() {
    for wrong in ["garbage", "null", "// c", "{bad"] {
        let input = format!("{CHAT}\n{wrong}\n{CHAT}\n");
        let ran = ocml_with(["convert", "-t", "openai"], &input).exits(1);
        assert_eq!(ran.stdout, format!("{CHAT}\n{CHAT}\n"), "{wrong}");
    }
}

#[test]
fn lines_have_their_own_formats_and_unsupported_ones_are_refused_alone() {
    let input = format!("{CHAT}\n{SHARED}\n{FOREIGN}\n");
    let ran = ocml_with(["convert", "-t", "openai"], &input).exits(1);
    assert_eq!(ran.stdout.lines().count(), 2, "{}", ran.stdout);
    ran.says("the document is not a conversation").says("1 line of 3");
    let told = ocml_with(["detect"], &input).exits(0).stdout;
    for kind in ["1 line: no format", "1 line: openai", "1 line: sharegpt"] {
        assert!(told.contains(kind), "{told}");
    }
    let both = format!("{CHAT}\n{SHARED}\n");
    assert_eq!(ocml_with(["fmt"], &both).exits(0).stdout, both);
}

/// A header that is written unchanged is no loss.
#[test]
fn an_unchanged_header_is_not_a_loss() {
    let text = "version: 2.2\n\n<|start|>bob name=a name=b<|message|>x<|end|>\n";
    let args = ["convert", "-f", "openchatml-2.2", "--no-loss", "-t"];
    let same = ocml_with(args.into_iter().chain(["openchatml-2.2"]), text);
    assert_eq!(same.stdout, text);
    let lost = ocml_with(args.into_iter().chain(["openchatml-2.0"]), text).exits(1);
    lost.says("recovered mark dropped");
}

/// A record with a text field.
fn text_record(text: &str) -> String {
    serde_json::json!({ "text": text }).to_string()
}

/// Texts in different formats, and messages in JSON, each in a line.
#[test]
fn each_line_is_read_in_its_own_format() {
    let lines = [
        text_record("<|im_start|>user\nHi.<|im_end|>\n<|im_start|>assistant\nYo.<|im_end|>\n"),
        text_record(
            "version: 2.2\n\n<|start|>user<|message|>Hi.<|end|>\n<|start|>assistant<|channel|>analysis\
             <|message|>Hm.<|end|>\n<|start|>assistant<|channel|>final<|message|>Yo.<|end|>\n",
        ),
        r#"{"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Yo."}]}"#
            .to_owned(),
        r#"{"conversations":[{"from":"human","value":"Hi."},{"from":"gpt","value":"Yo."}]}"#
            .to_owned(),
    ];
    let converted = |line: &str| {
        let args = ["convert", "--jsonl", "-t", "json"];
        let ran = ocml_with(args, format!("{line}\n")).silent();
        ran.stdout
    };
    let alone: Vec<String> = lines.iter().map(|line| converted(line)).collect();
    for order in 0..24 {
        // All orders of the four lines, some of them repeated.
        let picks: Vec<usize> = [1, 2, 6, 24].iter().map(|by| order / by % 4).collect();
        let input: String = picks.iter().map(|pick| format!("{}\n", lines[*pick])).collect();
        let expected: String = picks.iter().map(|pick| alone[*pick].as_str()).collect();
        let args = ["convert", "--jsonl", "-t", "json"];
        assert_eq!(ocml_with(args, &input).silent().stdout, expected, "{picks:?}");
        // Nor does the last line break matter.
        assert_eq!(ocml_with(args, input.trim_end()).silent().stdout, expected, "{picks:?}");
        let args = ["fmt", "--jsonl"];
        let laid_out = ocml_with(args, &input).silent().stdout;
        let args = ["convert", "--jsonl", "-t", "json"];
        assert_eq!(ocml_with(args, laid_out).silent().stdout, expected, "{picks:?}");
    }
}

#[test]
fn a_line_without_a_conversation_is_refused_alone() {
    for (line, nothing) in [(PLAIN, "[]"), (PLAIN, "null"), (PLAIN, "{}")] {
        for input in [format!("{line}\n{nothing}\n"), format!("{nothing}\n{line}\n")] {
            let ran = ocml_with(["convert", "-t", "json"], &input).exits(1);
            assert_eq!(ran.stdout.lines().count(), 1, "{input}");
        }
    }
    for text in
        ["<|im_start|>user\nHi.<|im_end|>", "version: 2.2\n\n<|start|>user<|message|>Hi.<|end|>\n"]
    {
        let input = format!("{}\n\"\"\n", text_record(text));
        let ran = ocml_with(["convert", "--jsonl", "-t", "json"], &input).exits(1);
        ran.says("the document is not a conversation");
        // Nor is one made of it.
        let ran = ocml_with(["check", "--jsonl", "--fix"], &input).exits(1);
        assert_eq!(ran.stdout.lines().nth(1), Some("\"\""), "{}", ran.stdout);
    }
}

/// The first line of a log is often cut off or not part of the log.
#[test]
fn a_malformed_first_line_does_not_turn_jsonl_into_one_document() {
    for first in ["garbage", "null", "// a comment", r#"{"messages":[{"role":"us"#] {
        let input = format!("{first}\n{PLAIN}\n{CALL}\n");
        let ran = ocml_with(["convert", "-t", "json"], &input).exits(1);
        assert_eq!(ran.stdout.lines().count(), 2, "{first}");
        ran.says("<stdin>:1:");
    }
}

#[test]
fn prompts_are_written_from_messages_and_texts() {
    let text = text_record("<|im_start|>user\nHi.<|im_end|>");
    let input = format!("{PLAIN}\n{text}\n{PLAIN}\n");
    let ran = ocml_with(["render", "--jsonl", "-t", "chatml"], &input).exits(0);
    assert_eq!(ran.stdout.lines().count(), 3);
}

/// Left-out messages do not change the indices of the others.
#[test]
fn messages_are_named_by_their_indices_in_the_input() {
    let said = |last: &str| {
        format!(
            r#"{{"messages":[{{"role":"user","content":"a"}},{{"role":"assistant","channel":"analysis","content":"Hm."}},{{"role":"assistant","channel":"final","content":"b"}},{{"role":"user","content":{last}}}]}}"#
        )
    };
    let control = said(r#""<|im_end|>""#);
    ocml_with(["render", "-t", "chatml"], &control).exits(1).says("message 3, content");
    let weight = said(r#""c","weight":0"#);
    let ran = ocml_with(["render", "-v", "-t", "chatml"], &weight).exits(0);
    ran.says("message 1: earlier reasoning").says("message 3: weight");
    let args = ["tokens", "--bare", "--mask", "-t", "harmony", "--generation-prompt"];
    let written = json(&ocml_with(args, said(r#""c""#)).silent().stdout);
    let numbers: Vec<_> =
        written["spans"].as_array().unwrap().iter().map(|span| span["message"].clone()).collect();
    assert_eq!(serde_json::Value::from(numbers), serde_json::json!([0, 2, 3, null]));
}

#[test]
fn events_of_a_response_are_one_document() {
    let events = [
        r#"{"type":"message_start","message":{"type":"message","role":"assistant","content":[]}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi."}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let folder = Folder::new();
    folder.file("a.jsonl", events.join("\n"));
    folder.file("a.json", format!("[{}]", events.join(",\n")));
    folder.file("a.txt", events.map(|event| format!("event: e\ndata: {event}\n\n")).concat());
    for file in ["a.jsonl", "a.json", "a.txt"] {
        let ran = folder.ocml(["parse", file]).silent();
        let expected = r#"{"messages":[{"role":"assistant","channel":"final","content":"Hi."}]}"#;
        assert_eq!(ran.stdout.trim_end(), expected, "{file}");
    }
    // As the user says, each line is a document.
    folder.ocml(["parse", "--jsonl", "a.jsonl"]).exits(1);
}
