//! Limits on the input.

use crate::support::{GOOD, MESSAGES, json, ocml_with};

#[test]
fn limits_have_names() {
    ocml_with(["parse", "--limit", "messages=2"], GOOD).exits(1).says("--allow-loss=limit");
    let ran = ocml_with(["parse", "--limit", "messages=2", "--allow-loss"], GOOD).exits(0);
    assert_eq!(json(&ran.stdout)["messages"].as_array().unwrap().len(), 2);
    ran.says("warning[E-LIMIT]").says("`messages`");
    let args = ["parse", "--limit", "messages=2", "--limit", "message_bytes=4", "--allow-loss"];
    let ran = ocml_with(args, GOOD).exits(0).says("`message_bytes`");
    assert_eq!(json(&ran.stdout)["messages"][0]["content"], "SECR");
    ocml_with(["stream", "-f", "openchatml-2.2", "--limit", "messages=1"], GOOD).exits(1);
    for wrong in ["messages", "messages=x", "message=1", "messages=-1"] {
        ocml_with(["parse", "--limit", wrong], GOOD).exits(2);
    }
    let ran = ocml_with(["parse", "--limit", "json_depth=1000"], GOOD).exits(2);
    ran.says("the maximum of `json_depth` is 512");
}

#[test]
fn a_document_has_a_limit() {
    let line = ocml_with(["parse", "--limit", "input_bytes=16"], GOOD).says_one_line(1);
    assert!(line.contains("`input_bytes` of 16"), "{line}");
    let input = format!("{MESSAGES}\n{{\"messages\":[]}}\n{MESSAGES}\n");
    let args = ["parse", "--jsonl", "-f", "json", "--limit", "input_bytes=16"];
    let ran = ocml_with(args, &input).exits(1).says("E-LIMIT");
    assert_eq!(ran.stdout, "{\"messages\":[]}\n");
}

#[cfg(unix)]
#[test]
fn endless_input_ends() {
    let line = crate::support::ocml(["parse", "--limit", "input_bytes=1M", "/dev/zero"]);
    line.says_one_line(1);
    let args = ["parse", "-f", "json", "--jsonl", "--limit", "input_bytes=64K"];
    // An endless line is discarded while it is read.
    let input = [vec![b'x'; 4 << 20], b"\n{\"messages\":[]}\n".to_vec()].concat();
    let ran = ocml_with(args, input).exits(1);
    assert_eq!(ran.stdout, "{\"messages\":[]}\n");
}
