//! `render`: prompts.

use crate::support::{Folder, GOOD, MESSAGES, json, ocml_with};

const TURNS: &str = r#"{"messages":[
    {"role":"user","content":"2 + 2?"},
    {"role":"assistant","channel":"analysis","content":"Easy."},
    {"role":"assistant","channel":"final","content":"4.","end":"return"},
    {"role":"user","content":"Times 3?"},
    {"role":"assistant","channel":"analysis","content":"4 * 3."},
    {"role":"assistant","channel":"final","content":"12."}
]}"#;

fn rendered(flags: &[&str]) -> String {
    let args = ["render", "-t", "openchatml-2.2"].iter().chain(flags);
    ocml_with(args, TURNS).silent().stdout
}

#[test]
fn a_prompt_has_no_earlier_reasoning() {
    assert_eq!(
        rendered(&[]),
        "version: 2.2\n\n\
         <|start|>user<|message|>2 + 2?<|end|>\n\
         <|start|>assistant<|channel|>final<|message|>4.<|end|>\n\
         <|start|>user<|message|>Times 3?<|end|>\n\
         <|start|>assistant<|channel|>final<|message|>12.<|end|>\n",
    );
    assert!(rendered(&["--keep-reasoning"]).contains("Easy."));
    assert!(rendered(&["--keep-reasoning"]).contains("4.<|end|>"));
}

#[test]
fn a_prompt_ends_where_the_model_goes_on() {
    assert!(rendered(&["--generation-prompt"]).ends_with("12.<|end|>\n<|start|>assistant"));
    assert!(rendered(&["--add-generation-prompt"]).ends_with("<|start|>assistant"));
    assert!(rendered(&["--continue-final"]).ends_with("<|message|>12."));
    let both = ["render", "-t", "im", "--generation-prompt", "--continue-final"];
    ocml_with(both, TURNS).exits(2);
}

#[test]
fn a_training_sample_ends_by_return() {
    let sample = rendered(&["--training"]);
    assert!(sample.contains("Easy.<|end|>") && sample.contains("4.<|end|>"), "{sample}");
    assert!(sample.ends_with("12.<|return|>\n"), "{sample}");
    // Where there is no such token, nothing is lost by it.
    let ran = ocml_with(["render", "-t", "im", "--training", "--no-loss"], MESSAGES);
    ran.exits(1).says("analysis dropped");
    ocml_with(["render", "-t", "im", "--training"], MESSAGES).exits(0);
}

#[test]
fn convert_is_faithful_unless_a_prompt_is_asked_for() {
    let args = ["convert", "-t", "openchatml-2.2"];
    let faithful = ocml_with(args, TURNS).silent().stdout;
    assert!(faithful.contains("Easy.") && faithful.contains("4.<|return|>"), "{faithful}");
    let args = ["convert", "-t", "openchatml-2.2", "--generation-prompt"];
    let prompt = ocml_with(args, TURNS).silent().stdout;
    assert!(!prompt.contains("Easy.") && prompt.ends_with("<|start|>assistant"), "{prompt}");
    let args = ["convert", "-t", "openchatml-2.2", "--generation-prompt", "--keep-reasoning"];
    assert!(ocml_with(args, TURNS).silent().stdout.contains("Easy."));
}

#[test]
fn messages_are_json() {
    let line = ocml_with(["render", "-t", "im"], GOOD).says_one_line(1);
    assert!(line.contains("this is openchatml-2.2, not messages in JSON"), "{line}");
    ocml_with(["render", "-q", "-t", "im", "-f", "openchatml-2.2"], GOOD).exits(0);
    ocml_with(["render"], MESSAGES).exits(2);
}

#[test]
fn tools_come_from_a_file() {
    let folder = Folder::new();
    let tool = r#"{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}"#;
    folder.file("list.json", format!("[{tool}]"));
    folder.file("object.json", format!("{{\"tools\":[{tool}]}}"));
    for file in ["list.json", "object.json"] {
        let ran = folder.ocml_with(["render", "-t", "json", "--tools", file], MESSAGES);
        assert_eq!(json(&ran.silent().stdout)["tools"][0]["function"]["name"], "f");
    }
    let ran = folder.ocml_with(["render", "-t", "im", "--tools", "list.json"], MESSAGES);
    ran.exits(0).says("tools dropped");
}

#[test]
fn bad_tools_are_located_in_their_file() {
    let folder = Folder::new();
    folder.file("tools.json", "[\n{\"type\":\"function\",\"function\":{\"nam\":\"f\"}}]");
    let args = ["render", "-t", "json", "--tools", "tools.json"];
    let ran = folder.ocml_with(args, MESSAGES).exits(1);
    assert_eq!(ran.stdout, "");
    ran.says("the function has no name").says("--> tools.json:2:31");
    folder.ocml_with(["render", "-t", "json", "--tools", "none"], MESSAGES).says_one_line(2);
}
