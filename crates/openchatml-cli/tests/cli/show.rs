//! `show` writes only what a user may see.

use crate::support::{Folder, GOOD, ocml_with};

#[test]
fn an_answer_beyond_a_limit_is_incomplete() {
    let text = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello world<|return|>";
    let args = ["show", "-f", "harmony", "--limit", "message_bytes=5"];
    let ran = ocml_with(args, text).exits(1).says("cut off");
    assert!(ran.stdout.contains("Hello") && !ran.stdout.contains("world"), "{ran:#?}");
    // The length of hidden text is no news.
    let hidden = text.replace("Hm.", "I am thinking.").replace("Hello world", "Hello");
    ocml_with(args, &hidden).exits(0);
}

#[test]
fn a_user_sees_questions_answers_and_preambles() {
    let ran = ocml_with(["show"], GOOD).silent();
    assert_eq!(
        ran.stdout,
        "user\n  What's the weather in Tokyo?\n\nassistant (preamble)\n  I look it up.\n\n\
         assistant\n  It is 20 °C.\n",
    );
    let ran = ocml_with(["show", "--preambles", "hide"], GOOD).silent();
    assert!(!ran.stdout.contains("preamble"), "{}", ran.stdout);
}

/// Documents of which no output may contain SECRET, whatever their errors are.
const HIDING: &[&str] = &[
    GOOD,
    "<|start|>assistant<|channel|>analysis<|message|>SECRET",
    "<|start|>assistant<|channel|>finl<|message|>SECRET<|end|>",
    "<|start|>assistant<|channel|>analysis<|channel|>final<|message|>SECRET<|end|>",
    "<|start|>assistant<|channel|>final<|message|>Hi <|start_reason|>SECRET<|end|>",
    "<|start|>assistant<|channel|>final<|message|>Hi <|channel|>SECRET<|end|>",
    "<|start|>assistant SECRET<|end|>",
    "<|message|>SECRET<|end|>",
    "SECRET <|start|>user<|message|>Hi.<|end|> SECRET",
    "<|start|>assistant<|channel|>commentary<|message|>SECRET<|end|>",
    "<|start|>assistant<|channel|>commentary intent=status<|message|>SECRET<|end|>",
    "<|start|>assistant to=SECRET<|channel|>final<|message|>SECRET<|call|>",
    "<|start|>tool name=SECRET<|channel|>final<|message|>SECRET<|end|>",
    "<|start|>system name=SECRET<|message|>SECRET<|literal|>SECRET",
    "version: SECRET\nmodel: [SECRET\n\n<|start|>user<|message|>Hi.<|end|>",
    r#"{"messages":[{"role":"assistant","channel":"final","content":[{"type":"text","text":"Hi"},{"type":"marker","marker":"reason"},{"type":"text","text":"SECRET"}]}]}"#,
    r#"{"messages":[{"role":"SECRET","content":"SECRET"}], "SECRET": 1}"#,
];

#[test]
fn hidden_text_is_never_shown() {
    for document in HIDING {
        for format in ["auto", "openchatml-2.2", "json"] {
            for flags in [&["show"][..], &["show", "--jobs", "1"], &["show", "-q"]] {
                let format = ["-f", format];
                let args = flags.iter().chain(&format);
                let ran = ocml_with(args, document);
                assert!(!ran.stdout.contains("SECRET"), "{document}: {ran:#?}");
                assert!(!ran.stderr.contains("SECRET"), "{document}: {ran:#?}");
            }
        }
    }
}

#[test]
fn hidden_messages_cannot_be_requested() {
    for index in ["0", "3", "5", "6", "99"] {
        let ran = ocml_with(["show", "--message", index], GOOD).exits(1);
        assert_eq!(ran.stdout, "");
        let expected = format!(
            "error[E-PERM-VISIBILITY]: cannot show message {index}: it is hidden or does not exist\n  = help: 3 messages are visible\n"
        );
        assert_eq!(ran.stderr, expected);
    }
    let ran = ocml_with(["show", "--message", "7"], GOOD).silent();
    assert_eq!(ran.stdout, "It is 20 °C.\n");
}

#[test]
fn debug_shows_everything_and_marks_hidden_messages() {
    let ran = ocml_with(["show", "--debug"], GOOD).silent();
    assert!(ran.stdout.contains("assistant channel=analysis [hidden]\n  SECRET thought.\n"));
    assert!(ran.stdout.contains("assistant channel=final\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("to=functions.weather call_id=wx1"), "{}", ran.stdout);
    let ran = ocml_with(["show", "--debug", "--message", "3"], GOOD).silent();
    assert_eq!(ran.stdout, "SECRET thought.\n");
    ocml_with(["show", "--debug", "--message", "99"], GOOD).says_one_line(1);
}

#[test]
fn users_see_that_the_end_is_missing() {
    let text = "version: 2.2\n\n<|start|>assistant<|channel|>final<|message|>Once";
    let ran = ocml_with(["show"], text).exits(1);
    assert_eq!(ran.stdout, "assistant\n  Once\n");
    assert_eq!(ran.stderr, "warning: The answer was cut off.\n");
    ocml_with(["show", "-v"], text).exits(1).says("error[E-STREAM-TRUNCATED]").says("-->");
    ocml_with(["show", "--debug"], text).exits(1).says("error[E-STREAM-TRUNCATED]");
}

#[test]
fn text_cannot_imitate_a_label() {
    let text = "version: 2.2\n\n<|start|>user<|message|>Hi.\n\nassistant\n  I obey.<|end|>\n";
    let ran = ocml_with(["show"], text).silent();
    let labels: Vec<_> = ran.stdout.lines().filter(|line| !line.starts_with("  ")).collect();
    assert_eq!(labels, ["user", ""]);
}

#[test]
fn files_and_tasks_are_not_conversations() {
    let infill = r#"{"infill":{"prefix":"a","suffix":"b"}}"#;
    let ran = ocml_with(["show"], infill).exits(0).says("no conversation");
    assert_eq!(ran.stdout, "");
    let files = r#"{"files":["SECRET",{"messages":[{"role":"user","content":"Hi."}]}]}"#;
    assert_eq!(ocml_with(["show"], files).exits(0).stdout, "user\n  Hi.\n");
}

#[test]
fn status_and_messages_do_not_depend_on_hidden_text() {
    let call = |arguments: &str| {
        format!(
            "version: 2.2\n\n<|start|>user<|message|>Hi.<|end|>\n<|start|>assistant to=functions.f \
             call_id=1<|channel|>commentary<|constrain|>json<|message|>{arguments}<|call|>\n"
        )
    };
    let [good, bad] = ["{}", "{"].map(call);
    ocml_with(["check"], &bad).exits(1);
    for flags in [&["show"][..], &["show", "-q"], &["show", "-f", "openchatml-2.2"]] {
        let [good, bad] = [&good, &bad].map(|text| ocml_with(flags, text).silent().stdout);
        assert_eq!(good, bad);
    }
    for flag in ["-v", "--debug"] {
        ocml_with(["show", flag], &bad).exits(1).says("E-BODY-CONSTRAINT-VIOLATION");
    }
}

#[test]
fn completely_unreadable_input_is_an_error() {
    let args = ["show", "-f", "json"];
    for text in ["", "[1]", "{", "{}", "null"] {
        let ran = ocml_with(args, text).exits(1);
        assert_eq!((ran.stdout.as_str(), ran.stderr.lines().count()), ("", 1), "{text}: {ran:?}");
    }
    let ran = ocml_with(args, r#"{"messages":[{"role":"user","content":"Hi."},"#).exits(1);
    assert_eq!(ran.stdout, "user\n  Hi.\n", "{ran:?}");
    ran.says("error: part of this cannot be read");
}

#[test]
fn strict_shows_nothing_of_a_document_with_errors() {
    let text = "version: 2.2\n\n<|start|>assistant<|channel|>finl<|message|>SECRET<|end|>";
    let line = ocml_with(["show", "--strict"], text).says_one_line(2);
    assert!(line.contains("--debug") && line.contains("ocml check"), "{line}");
    let ran = ocml_with(["show", "--strict", "--debug"], text).exits(1);
    assert_eq!(ran.stdout, "");
    ran.says("run `ocml check` to see them");
}

#[test]
fn lines_of_jsonl_are_shown_one_by_one() {
    let good = serde_json::to_string(GOOD).unwrap();
    let ran = ocml_with(["show", "--jsonl", "--preambles", "hide"], format!("{good}\n\n1\n{good}"));
    let ran = ran.exits(1).says("cannot be read");
    let shown = "user\n  What's the weather in Tokyo?\n\nassistant\n  It is 20 °C.\n";
    assert_eq!(
        ran.stdout,
        format!("--- line 1 ---\n{shown}\n--- line 3 ---\n\n--- line 4 ---\n{shown}\n"),
    );
    let ran = ocml_with(["show", "--jsonl", "--message", "7"], &good).silent();
    assert_eq!(ran.stdout, "--- line 1 ---\nIt is 20 °C.\n\n");
}

#[test]
fn text_in_a_pipe_is_not_escaped() {
    let folder = Folder::new();
    folder.file("a.txt", "<|im_start|>user\na\u{1b}[31mb<|im_end|>\n");
    let ran = folder.ocml(["show", "a.txt"]).exits(0);
    assert_eq!(ran.stdout, "user\n  a\u{1b}[31mb\n");
}

#[test]
fn the_content_of_strings_does_not_affect_the_completeness_check() {
    let chat = |arguments: &str| {
        format!(
            r#"{{"messages":[{{"role":"user","content":"q"}},{{"role":"assistant","tool_calls":[{{"id":"c","type":"function","function":{{"name":"f","arguments":{arguments}}}}}]}},{{"role":"tool","tool_call_id":"c","content":"r"}},{{"role":"assistant","content":"A"}}]}}"#
        )
    };
    let show = |arguments: &str| ocml_with(["show", "-f", "openai"], chat(arguments));
    for arguments in ["\"a b\"", "\"a\tb\"", "\"{\t}\""] {
        let ran = show(arguments).exits(0);
        assert!(ran.stdout.contains('A') && ran.stderr.is_empty(), "{ran:?}");
    }
    // It is reported where reading ended.
    let deep = format!("{}{}", "[".repeat(130), "]".repeat(130));
    for arguments in [&deep, r#""\q""#] {
        show(arguments).exits(1).says("part of this cannot be read");
    }
}

#[test]
fn attributes_cannot_imitate_a_label() {
    let chat = r#"{"messages":[{"role":"user","name":"x\nassistant\n  evil","content":"a"}]}"#;
    let shown = ocml_with(["show", "--debug"], chat).stdout;
    assert!(!shown.lines().any(|line| line == "assistant" || line == "  evil"), "{shown}");
}

#[test]
fn a_text_in_which_nothing_is_visible_is_reported() {
    let text = "<|channel|>Analysis<|message|>SECRET<|end|>\
        <|start|>assistant<|channel|>Final<|message|>Hi.<|return|>";
    let ran = ocml_with(["show"], text).exits(1);
    assert_eq!(ran.stdout, "");
    ran.says("no message is visible: run `ocml show --debug`");
}

#[test]
fn the_reasoning_of_a_completion_that_begins_inside_of_it_is_hidden() {
    let text = "Secret.\n</think>\n\nHi.<|im_end|>\n";
    for args in
        [["show", "-f", "qwen3"].as_slice(), &["show", "-f", "qwen3", "--role", "assistant"]]
    {
        let ran = ocml_with(args, text).exits(0);
        assert_eq!(ran.stdout, "assistant\n  Hi.\n");
    }
}

/// Tags of reasoning in an answer are a part of it, but hardly meant for a user.
#[test]
fn tags_of_reasoning_in_an_answer_are_named() {
    let text =
        r#"[{"role":"user","content":"Q"},{"role":"assistant","content":"<think>Hm.</think>A."}]"#;
    let ran = ocml_with(["show", "-f", "openai"], text).exits(0);
    assert!(ran.stdout.contains("<think>Hm.</think>A."));
    ran.says("--split-reasoning separates it");
    let ran = ocml_with(["show", "-f", "openai", "--split-reasoning"], text).exits(0);
    assert_eq!((ran.stdout.contains("Hm."), ran.stderr.as_str()), (false, ""));
    // What a user does not see is not told.
    let hidden = "<|start|>assistant<|channel|>commentary<|message|>a <think> b<|end|>";
    let ran = ocml_with(["show", "-f", "openchatml-2.2"], hidden);
    assert!(!ran.stderr.contains("split-reasoning"), "{}", ran.stderr);
}
