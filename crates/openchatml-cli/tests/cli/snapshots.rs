//! Diagnostics as a terminal without colours shows them.

use insta::assert_snapshot;

use crate::support::ocml_with;

/// The output of `check` for a text.
fn said(args: &[&str], text: &str) -> String {
    ocml_with(["check"].iter().chain(args), text).stderr
}

#[test]
fn a_missing_header() {
    assert_snapshot!(said(&["-f", "openchatml-2.2"], "<|start|>user<|message|>Hi.<|end|>\n"));
}

#[test]
fn an_unknown_channel() {
    assert_snapshot!(said(
        &[],
        "version: 2.2\n\n<|start|>assistant<|channel|>finl<|message|>Hi.<|end|>\n",
    ));
}

#[test]
fn stray_text_between_messages() {
    assert_snapshot!(said(
        &[],
        "version: 2.2\n\n<|start|>user<|message|>Hi.<|end|>\nSome stray words\nin two lines\n\
         <|start|>user<|message|>Ho.<|end|>\n",
    ));
}

#[test]
fn a_body_that_is_not_json() {
    assert_snapshot!(said(
        &[],
        "version: 2.2\n\n<|start|>assistant to=functions.weather call_id=wx1<|channel|>commentary\
         <|constrain|>json<|message|>{\"location\": \"Tokyo\", }<|call|>\n",
    ));
}

#[test]
fn a_message_without_an_end() {
    assert_snapshot!(said(
        &[],
        "version: 2.2\n\n<|start|>assistant<|channel|>final<|message|>Once upon a time\n",
    ));
}

#[test]
fn reasoning_in_an_answer() {
    assert_snapshot!(said(
        &[],
        "version: 2.2\n\n<|start|>assistant<|channel|>final<|message|>4. \
         <|start_reason|>Two and two.<|end|>\n",
    ));
}

#[test]
fn an_old_role_and_its_replacement() {
    assert_snapshot!(said(
        &[],
        "version: 2.2\n\n\
         <|start|>assistant to=functions.f call_id=c<|channel|>commentary<|message|>{}<|call|>\n\
         <|start|>functions.f call_id=c to=assistant<|channel|>commentary<|message|>\
         {\"ok\":true,\"content\":1}<|end|>\n",
    ));
}

#[test]
fn a_line_that_is_far_too_long() {
    let text = format!(
        "version: 2.2\n\n<|start|>user<|message|>{}<|end|><|start|>nobody<|message|>{}<|end|>",
        "x".repeat(1_000_000),
        "y".repeat(1_000_000),
    );
    let said = said(&[], &text);
    assert!(said.len() < 2000, "{} bytes", said.len());
    assert_snapshot!(said);
}

#[test]
fn control_characters_and_bytes_that_are_not_utf_8() {
    let text = b"version: 2.2\n\n<|start|>us\x1b[31mer<|message|>\xFF<|end|>\n";
    assert_snapshot!(ocml_with(["check"], text).stderr);
}

#[test]
fn a_mistake_in_json() {
    assert_snapshot!(said(
        &["-f", "json"],
        "{\n  \"messages\": [\n    {\"role\": \"nobody\", \"content\": \"Hi.\"}\n  ],\n  \"extra\": 1\n}\n",
    ));
}

#[test]
fn a_mistake_in_jsonl() {
    assert_snapshot!(said(
        &["--jsonl", "-f", "openchatml-2.2"],
        "{\"text\": \"version: 2.2\\n\\n<|start|>usr<|message|>\\\"Hi.\\\"<|end|>\"}\n[1]\n",
    ));
}
