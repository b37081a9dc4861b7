//! Preference pairs: two conversations in a record.

use crate::support::{json, ocml_with};

const PAIR: &str = r#"{"prompt":"2 + 2?","chosen":"4.","rejected":"5."}"#;

#[test]
fn a_line_of_a_pair_is_a_line_with_both_sides() {
    let input = format!("{PAIR}\n{PAIR}\n");
    let ran = ocml_with(["convert", "--jsonl", "-t", "chatml"], &input).silent();
    let lines: Vec<_> = ran.stdout.lines().map(json).collect();
    let question = "<|im_start|>user\n2 + 2?<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["chosen"], format!("{question}4.<|im_end|>\n"));
    assert_eq!(lines[1]["rejected"], format!("{question}5.<|im_end|>\n"));

    let ran = ocml_with(["convert", "-t", "openai", "-"], PAIR).silent();
    let pair = json(&ran.stdout);
    assert_eq!(pair["input"]["messages"][0]["content"], "2 + 2?");
    assert_eq!(pair["preferred_output"][0]["content"], "4.");
    assert_eq!(pair["non_preferred_output"][0]["content"], "5.");

    // What was written is recognized again.
    for args in [&["parse", "-"][..], &["convert", "-t", "anthropic", "-"]] {
        let written = ocml_with(args, PAIR).silent().stdout;
        let sides = ["4.", "5."].map(|side| format!("<|im_start|>assistant\n{side}<|im_end|>\n"));
        let pair = json(&ocml_with(["convert", "-t", "chatml", "-"], &written).silent().stdout);
        for (name, side) in ["chosen", "rejected"].into_iter().zip(sides) {
            assert_eq!(
                pair[name],
                format!("<|im_start|>user\n2 + 2?<|im_end|>\n{side}"),
                "{written}"
            );
        }
    }

    let ran = ocml_with(["convert", "--jsonl", "-t", "records"], PAIR).silent();
    assert_eq!(ran.stdout, format!("{PAIR}\n"));
}

#[test]
fn each_side_of_a_pair_has_ids_and_a_mask() {
    let args = ["tokens", "-t", "harmony", "--bare", "--training", "--mask", "--jsonl"];
    let pair = json(&ocml_with(args, PAIR).silent().stdout);
    let [chosen, rejected] = ["chosen", "rejected"].map(|side| pair[side]["ids"].clone());
    assert_eq!(chosen.as_array().unwrap().len(), rejected.as_array().unwrap().len());
    assert_ne!(chosen, rejected);
    assert_eq!(pair["chosen"]["mask"], pair["rejected"]["mask"]);
    let table = ocml_with(["tokens", "-t", "harmony", "--table", "-"], PAIR).silent();
    assert!(table.stdout.starts_with("== chosen ==\n"), "{}", table.stdout);
}

#[test]
fn both_sides_are_shown_and_checked() {
    let shown = ocml_with(["show", "-"], PAIR).silent().stdout;
    assert!(shown.starts_with("== chosen ==\n"), "{shown}");
    assert!(shown.contains("\n== rejected ==\n") && shown.contains("  5."), "{shown}");
    let same = PAIR.replace("5.", "4.");
    ocml_with(["check", "--jsonl", "-"], &same).exits(0).says("W-UNBALANCED-PAIR");
    let args = ["check", "--jsonl", "--ignore", "W-UNBALANCED-PAIR", "-"];
    assert!(!ocml_with(args, &same).exits(0).stderr.contains("W-UNBALANCED-PAIR"));
}

#[test]
fn a_loss_of_the_prompt_is_reported_once() {
    let side = |text: &str| {
        let messages = serde_json::json!([
            {"role": "user", "name": "Eric", "content": "A?"},
            {"role": "assistant", "channel": "analysis", "content": "Hm."},
            {"role": "assistant", "channel": "final", "content": text},
        ]);
        serde_json::json!({ "messages": messages })
    };
    let pair = serde_json::json!({"chosen": side("B."), "rejected": side("C.")}).to_string();
    let ran = ocml_with(["convert", "-t", "chatml-wire:text", "-v", "-"], &pair).exits(0);
    assert_eq!(ran.stderr.matches("name dropped").count(), 1, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("analysis dropped").count(), 1, "{}", ran.stderr);
    ocml_with(["convert", "-t", "chatml-wire:text", "--no-loss", "-"], &pair).exits(1);
}

#[test]
fn a_pair_of_which_nothing_is_shown_is_an_error() {
    let hidden = r#"{"chosen":[{"content":"a"}],"rejected":[{"content":"b"}]}"#;
    let ran = ocml_with(["show", "-"], hidden).exits(1);
    assert!(ran.stderr.contains("no message is visible"), "{ran:#?}");
}

#[test]
fn a_pair_is_not_truncated() {
    let pair = r#"{"prompt":"A?","chosen":"B.","rejected":"C."}"#;
    let ran = ocml_with(["truncate", "--budget", "100"], pair).exits(1);
    ran.says("only a single conversation can be truncated");
}
