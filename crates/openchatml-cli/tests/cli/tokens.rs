//! `tokens`, and streams of ids.

use crate::support::{Folder, json, ocml_with};

const CHAT: &str = r#"{"messages":[
  {"role":"user","content":"What is 2 + 2? <|end|>"},
  {"role":"assistant","channel":"analysis","content":"Easy."},
  {"role":"assistant","channel":"final","content":"4.","end":"return"}]}"#;

#[test]
fn a_prompt_is_a_list_of_ids() {
    let ran = ocml_with(["tokens", "-t", "harmony", "--generation-prompt"], CHAT).silent();
    // The reasoning of an earlier answer is left out, and `<|end|>` in a text is text.
    assert_eq!(
        ran.stdout,
        "[200006,1428,200008,4827,382,220,17,659,220,17,30,464,91,419,91,29,200007,\
         200006,173781,200005,17196,200008,19,13,200007,200006,173781]\n"
    );
    let ran = ocml_with(["tokens", "-t", "harmony", "--count"], CHAT).silent();
    assert_eq!(ran.stdout, "25\n");
}

#[test]
fn a_mask_says_what_is_trained() {
    let ran = ocml_with(["tokens", "-t", "harmony", "--training", "--mask"], CHAT).silent();
    let told = json(&ran.stdout);
    let trained: Vec<_> = (0..told["ids"].as_array().unwrap().len())
        .filter(|at| told["mask"][at] == 1)
        .map(|at| told["ids"][at].as_u64().unwrap())
        .collect();
    // The reasoning, and then all of the answer: the model writes its header, too.
    let analysis = [200_005, 35_644, 200_008, 41_154, 13, 200_007];
    let answer = [200_006, 173_781, 200_005, 17_196, 200_008, 19, 13, 200_002];
    assert_eq!(trained, [analysis.as_slice(), &answer].concat());
    let bodies: Vec<_> =
        told["spans"].as_array().unwrap().iter().map(|span| &span["body"]).collect();
    assert_eq!(bodies, [3, 22, 30]);
}

#[test]
fn lines_keep_their_order() {
    let lines = format!("{}\n\n{{\n{}\n", CHAT.replace('\n', ""), CHAT.replace('\n', ""));
    let ran = ocml_with(["tokens", "-t", "harmony", "--count", "--jsonl", "-f", "json"], &lines);
    assert_eq!(ran.stdout, "25\n\nnull\n25\n");
}

#[test]
fn ids_are_streamed() {
    let ids = "[200005,17196,200008,17045,9999999\n13, 200002]";
    let args = ["stream", "-f", "harmony", "--ids", "--role", "assistant"];
    let ran = ocml_with(args, ids);
    let deltas: String = ran
        .stdout
        .lines()
        .map(json)
        .filter(|event| event["type"] == "response.delta")
        .map(|event| event["delta"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(deltas, "Answer\u{FFFD}.");
    assert!(ran.stdout.contains("E-PARSE-TOKEN"), "{}", ran.stdout);
}

/// A small encoding for the tests of another crate.
const BYTE_LEVEL: &str = include_str!("../../../openchatml-tokens/tests/encodings/byte_level.json");

#[test]
fn an_encoding_may_be_a_file() {
    let folder = Folder::new();
    folder.file("tokenizer.json", BYTE_LEVEL);
    let args = ["tokens", "-t", "im", "--encoding", "tokenizer.json"];
    let ran = folder.ocml_with(args, CHAT).silent();
    let ids: Vec<u32> = serde_json::from_str(&ran.stdout).expect("a list of ids");
    let file: serde_json::Value = serde_json::from_str(BYTE_LEVEL).unwrap();
    let added = file["added_tokens"].as_array().unwrap();
    let id =
        |content: &str| added.iter().find(|it| it["content"] == content).unwrap()["id"].as_u64();
    // Two messages, and `<|end|>`, which is an added token, is text in one.
    for (control, count) in [("<|im_start|>", 2), ("<|im_end|>", 2), ("<|end|>", 0)] {
        let control = id(control);
        assert_eq!(ids.iter().filter(|id| Some(u64::from(**id)) == control).count(), count);
    }
    let args = ["stream", "-f", "im", "--ids", "--encoding", "tokenizer.json"];
    let ran = folder.ocml_with(args, &ran.stdout).silent();
    assert!(ran.stdout.contains("What is 2 + 2? <|end|>"), "{}", ran.stdout);
}

#[test]
fn a_file_that_is_no_encoding_is_refused() {
    let folder = Folder::new();
    let refused = |name: &str, text: &str| {
        folder.file(name, text);
        folder.ocml_with(["tokens", "-t", "im", "--encoding", name], CHAT).says_one_line(1)
    };
    assert_eq!(
        refused("template.jinja", "{% for message in messages %}"),
        "error: template.jinja: no tokenizer.json that can be used: 1:2: key must be a string\n"
    );
    assert_eq!(
        refused("empty", ""),
        "error: empty: no rank file that can be used: line 1: no token and its rank\n"
    );
    let said = refused("some.tiktoken", "IQ== 0\n");
    assert!(said.contains("none of those whose pattern and control tokens are known"), "{said}");
    let said = ocml_with(["tokens", "-t", "im", "--encoding", "nothing"], CHAT).says_one_line(2);
    assert_eq!(said, "error: `nothing` is neither an encoding (o200k_harmony) nor a file\n");
    let args = ["stream", "-f", "im", "--encoding", "o200k_harmony"];
    assert!(ocml_with(args, CHAT).stderr.contains("--ids"));
}

#[test]
fn a_format_without_text_has_no_tokens() {
    let ran = ocml_with(["tokens", "-t", "json"], CHAT);
    assert!(ran.stderr.contains("invalid value 'json'"), "{}", ran.stderr);
}
