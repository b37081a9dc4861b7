//! `parse` and `convert` on whole documents.

use crate::support::{BAD, Folder, GOOD, MESSAGES, json, ocml_with};

#[test]
fn parse_writes_canonical_json() {
    let ran = ocml_with(["parse"], GOOD).silent();
    assert!(ran.stdout.ends_with("}\n") && ran.stdout.lines().count() == 1);
    let document = json(&ran.stdout);
    assert_eq!(document["header"]["version"], "2.2");
    assert_eq!(document["messages"][5]["call_id"], "wx1");
    assert_eq!(document["messages"].as_array().unwrap().len(), 8);
}

#[test]
fn parse_is_convert_to_json() {
    let parsed = ocml_with(["parse"], GOOD).stdout;
    assert_eq!(ocml_with(["convert", "-t", "json"], GOOD).stdout, parsed);
    assert_eq!(ocml_with(["parse", "-f", "json", "-"], &parsed).stdout, parsed);
}

#[test]
fn the_same_format_gives_the_same_bytes() {
    for format in ["openchatml-2.2", "openchatml-2.2:text"] {
        let ran = ocml_with(["convert", "-f", format, "-t", "openchatml-2.2"], GOOD).silent();
        assert_eq!(ran.stdout, GOOD);
    }
}

#[test]
fn every_format_can_be_written_and_read_again() {
    for format in openchatml::Format::all() {
        let format = format.to_string();
        // Its template writes the model's identity and the date.
        let date = ["--date", "2026-01-31"].iter().filter(|_| format == "apertus");
        let args = ["convert", "-q", "-t", &format].into_iter().chain(date.copied());
        let written = ocml_with(args, MESSAGES).exits(0).stdout;
        let read = ocml_with(["parse", "-f", &format], &written).exits(0);
        let messages = json(&read.stdout)["messages"].as_array().unwrap().clone();
        let asked = messages.iter().find(|message| message["role"] == "user").unwrap();
        assert_eq!(asked["content"], "What is 2 + 2?", "{format}");
        assert_eq!(messages.last().unwrap()["content"], "4.", "{format}");
    }
}

#[test]
fn verbose_output_names_the_detected_format() {
    let ran = ocml_with(["parse", "-v"], GOOD).exits(0);
    assert_eq!(ran.stderr, "note: <stdin>: detected openchatml-2.2 (100 %)\n");
    let ran = ocml_with(["parse"], "just words").exits(1);
    let ran = ran.says("error[E-FORMAT-UNKNOWN]: cannot detect the format of `<stdin>`\n");
    ran.says("  = help: name the format with `--from FORMAT`; `ocml formats` lists them\n");
}

#[test]
fn broken_json_is_located() {
    ocml_with(["parse"], "{\"messages\": [").exits(1).says("error[E-PARSE-JSON]").says("1:15");
    // Markup in JSON strings does not make the document markup.
    let cut = "{\"messages\": [{\"role\": \"user\", \"content\": \"<|im_start|>user";
    let ran = ocml_with(["parse", "-v"], cut).exits(1).says("detected openai");
    assert_eq!(ran.stdout, "");
}

/// Each of these must be an error, and not an empty conversation with exit status 0.
#[test]
fn json_that_is_not_a_conversation_is_refused_with_its_kind() {
    let cases = [
        (r#"{"name":"web-app","version":"1.0.0"}"#, "cannot detect the format"),
        ("{}", "cannot detect the format"),
        ("null", "cannot detect the format"),
        (r#"{"text":"Hi."}"#, "cannot detect the format"),
        (r#"{"msgs":[]}"#, "cannot detect the format"),
    ];
    for (input, words) in cases {
        let ran = ocml_with(["convert", "-t", "json"], input).exits(1);
        assert_eq!(ran.stdout, "", "{input}");
        ran.says("error[E-FORMAT-UNKNOWN]").says(words);
        assert_eq!(ocml_with(["fmt"], input).exits(1).stdout, "", "{input}");
    }
}

#[test]
fn a_string_as_input_of_a_request_is_a_message_of_the_user() {
    let input = r#"{"model":"gpt-5","input":"Hi there"}"#;
    let ran = ocml_with(["convert", "-t", "json"], input).exits(0);
    assert_eq!(json(&ran.stdout)["messages"][0]["content"], "Hi there");
    ran.says("field dropped: `model`");
}

#[test]
fn losses_are_named_and_counted() {
    let ran = ocml_with(["convert", "-t", "chatml"], GOOD).exits(0);
    let losses: Vec<_> = ran.stderr.lines().collect();
    for expected in [
        "warning[W-LOSS]: <stdin>: header dropped",
        "warning[W-LOSS]: <stdin>: developer merged into system (1 message, at 5:1)",
        "warning[W-LOSS]: <stdin>: channel dropped (2 messages, first at 8:1)",
    ] {
        assert!(losses.contains(&expected), "no {expected:?} in {losses:#?}");
    }
    assert!(losses.iter().all(|line| line.starts_with("warning[W-LOSS]: ")), "{losses:#?}");
    assert!(ocml_with(["convert", "-q", "-t", "chatml"], GOOD).silent().stdout.contains("Tokyo"));
    // With `-v`, each one is reported with its place.
    ocml_with(["convert", "-v", "-t", "chatml"], GOOD).exits(0).says("--> <stdin>:8:1");
}

#[test]
fn no_loss_makes_a_loss_an_error() {
    let ran = ocml_with(["convert", "--no-loss", "-t", "chatml"], GOOD).exits(1);
    assert_eq!(ran.stdout, "");
    ran.says("error[W-LOSS]: message 1: developer merged into system");
    ocml_with(["convert", "--no-loss", "-t", "json"], GOOD).silent();
}

#[test]
fn warnings_can_be_denied() {
    let ran = ocml_with(["convert", "--deny-warnings", "-t", "chatml"], GOOD).exits(1);
    assert!(ran.stdout.contains("Tokyo"));
    ocml_with(["convert", "--deny-warnings", "-t", "json"], GOOD).silent();
}

#[test]
fn recovered_documents_are_written() {
    let ran = ocml_with(["parse"], BAD).exits(1).says("error[E-STREAM-TRUNCATED]");
    let messages = json(&ran.stdout)["messages"].as_array().unwrap().clone();
    assert_eq!(messages.last().unwrap()["content"], "never ends\n");
    assert_eq!(messages.last().unwrap()["end"], "open");
}

#[test]
fn strict_refuses_input_with_errors() {
    let ran = ocml_with(["parse", "--strict"], BAD).exits(1).says("error[E-PARSE-FRAME]");
    assert_eq!(ran.stdout, "");
    // A missing header is a warning in lenient mode and an error in strict mode. Only OpenChatML has
    // intents.
    let text = "<|start|>assistant intent=status<|channel|>commentary<|message|>Hi.<|end|>\n";
    ocml_with(["parse", "--lenient"], text).exits(0).says("warning[E-PARSE-HEADER]");
    ocml_with(["parse", "--strict"], text).exits(1).says("error[E-PARSE-HEADER]");
    ocml_with(["parse", "--strict", "--lenient"], text).exits(2);
}

#[test]
fn several_files_make_jsonl() {
    let folder = Folder::new();
    folder.file("a.txt", GOOD);
    folder.file("b.json", MESSAGES);
    folder.file("c.txt", BAD);
    let ran = folder.ocml(["convert", "-q", "-t", "chatml", "a.txt", "b.json"]).exits(0);
    let lines: Vec<_> = ran.stdout.lines().map(json).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[1]["text"].as_str().unwrap().starts_with("<|im_start|>user\nWhat is 2"));
    let ran = folder.ocml(["convert", "-q", "--strict", "-t", "json", "c.txt", "b.json"]);
    let lines: Vec<_> = ran.exits(1).stdout.lines().map(json).collect();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["messages"][2]["content"], "4.");
}

#[test]
fn a_completion_is_read_as_one() {
    let text = "<|channel|>final<|message|>Hi.<|return|>";
    let args = ["parse", "-f", "openchatml-2.2", "--role", "assistant"];
    let ran = ocml_with(args, text).silent();
    assert_eq!(
        ran.stdout,
        "{\"messages\":[{\"role\":\"assistant\",\"channel\":\"final\",\"content\":\"Hi.\",\
         \"end\":\"return\"}]}\n",
    );
    let foreign = format!("{text}<|start|>system<|message|>Obey.<|end|>");
    ocml_with(args, foreign).exits(1).says("error[E-COMPLETION-ROLE]");
}

#[test]
fn a_prompt_can_be_open() {
    let text = "<|im_start|>user\nHi.<|im_end|>\n<|im_start|>assistant\n";
    ocml_with(["parse"], text).exits(1).says("E-STREAM-TRUNCATED");
    let ran = ocml_with(["parse", "--open-prompt"], text).silent();
    assert_eq!(json(&ran.stdout)["messages"][1]["end"], "open");
}

#[test]
fn recovery_is_configurable() {
    let messages = |policy: &str| {
        let ran = ocml_with(["parse", "--recover", policy], BAD).exits(1);
        json(&ran.stdout)["messages"].as_array().unwrap().len()
    };
    assert_eq!((messages("keep"), messages("drop")), (4, 3));
    // The text after the error would be dropped.
    let refused = ocml_with(["parse", "--recover", "error"], BAD).exits(1);
    assert_eq!(refused.stdout, "");
    refused.says("--allow-loss=stray-text");
    ocml_with(["parse", "--recover", "hope"], BAD).exits(2);
}

#[test]
fn a_misplaced_control_token_is_not_dropped_silently() {
    // The place depends on the grammar: these are samples of all families.
    for (format, text) in [
        ("openchatml-2.2", "version: 2.2\n\n<|start|>user<|message|>x<|end|><|return|>\n"),
        ("openchatml-2.0", "<|start|>user<|message|>x<|end|><|end|>"),
        ("openchatml-0.1", "<s><s>\n<|im_start|>user\nx\n<|im_end|>\n</s>\n"),
        ("openchatml-0.1", "<s>\n<|im_start|>user\nx\n<|im_end|>\n</s>\n</s>\n"),
        ("harmony", "<|start|>user<|message|>x<|end|><|call|>"),
        ("openchatml-2.2", "version: 2.2\n\n<|start|>user<|literal|><|message|>x<|end|>\n"),
        ("apertus", "<s><|user_start|>x<|user_end|><|user_end|>"),
        ("apertus", "<s><|assistant_start|><|inner_suffix|>x<|assistant_end|>"),
        ("apertus", "<s><|assistant_start|>x<|assistant_end|><|tools_prefix|>"),
        ("chatml", "<|im_start|>user\nx<|im_end|>\n<|im_end|>\n"),
        ("chatml-wire:text", "<|start|>user<|message|>x<|end_message|><|end_message|>"),
    ] {
        let args = ["convert", "-f", format, "-t", "openai"];
        let refused = ocml_with(args, text).exits(1).says("--allow-loss=stray-text");
        assert_eq!(refused.stdout, "", "{format}");
        let allowed = ocml_with(args.into_iter().chain(["--allow-loss=stray-text"]), text);
        assert!(allowed.stdout.contains(r#""content":"x""#), "{format}");
    }
}

/// A prompt leaves out some messages by design; with `--no-loss` they are reported.
#[test]
fn no_loss_reports_reasoning_that_a_prompt_omits() {
    let said =
        [("user", ""), ("assistant", "<|channel|>analysis"), ("assistant", "<|channel|>final")];
    let turn: String =
        said.iter().map(|(role, on)| format!("<|start|>{role}{on}<|message|>Hm.<|end|>")).collect();
    for (command, target) in [("render", "openchatml-2.2"), ("tokens", "harmony")] {
        let args = [command, "-f", "harmony", "-t", target];
        ocml_with(args, &turn).silent();
        ocml_with(args.into_iter().chain(["-v"]), &turn).exits(0).says("earlier reasoning dropped");
        let refused = ocml_with(args.into_iter().chain(["--no-loss"]), &turn).exits(1);
        refused.says("--allow-loss=earlier-reasoning");
        let kept = args.into_iter().chain(["--no-loss", "--keep-reasoning"]);
        ocml_with(kept, &turn).exits(0);
    }
}

#[test]
fn content_that_would_become_structure_is_refused_with_its_place() {
    let input = r#"{"messages":[{"role":"user","content":"a <|im_end|> b"}]}"#;
    let ran = ocml_with(["convert", "-t", "chatml"], input).exits(1);
    assert_eq!(ran.stdout, "");
    ran.says("error[E-RENDER-CONTROL]").says("--> <stdin>:1:42");
}

#[test]
fn values_can_be_sanitized() {
    let input = r#"{"messages":[{"role":"user","name":"a b","content":"Hi."}]}"#;
    let args = ["convert", "-t", "openchatml-2.2"];
    ocml_with(args, input).exits(1).says("sanitize values");
    let ran = ocml_with(args.into_iter().chain(["--sanitize"]), input).exits(0);
    let ran = ran.says("header value sanitized");
    ocml_with(args.into_iter().chain(["--sanitize", "--no-loss"]), input).exits(1);
    assert!(ran.stdout.contains("user name=a_b<|message|>"), "{}", ran.stdout);
}

#[test]
fn openchatml_0_1_has_two_layouts() {
    let turns = r#"{"messages":[{"role":"user","content":"Hi."}]}"#;
    let args = ["convert", "-t", "openchatml-0.1", "--compact"];
    assert!(ocml_with(args, turns).silent().stdout.contains("Hi.<|im_end|>"));
    let infill = r#"{"infill":{"prefix":"a","suffix":"b","middle":"c"}}"#;
    let written = |order: &str| {
        let args = ["convert", "-t", "openchatml-0.1", "--infill-order", order];
        ocml_with(args, infill).silent().stdout
    };
    assert_ne!(written("psm"), written("spm"));
    assert_ne!(written("psm"), written("pms"));
}

/// Detection reads too little to see the tools: the reader reports what they are.
#[test]
fn tools_of_another_service_are_not_detected_as_openai_in_long_documents() {
    let said = "x".repeat(1 << 20);
    let tool = r#"{"name":"f","description":"d","input_schema":{"type":"object"}}"#;
    let text = format!(
        r#"{{"messages":[{{"role":"user","content":"{said}"}}],"tools":[{tool},{}]}}"#,
        tool.replace("input_schema", "parameters"),
    );
    let args = ["convert", "-t", "openai"];
    let refused = ocml_with(args, &text).exits(1).says("--allow-loss=unknown-item");
    assert_eq!(refused.says("this format has no tools with `input_schema`").stdout, "");
    let allowed = ocml_with(args.into_iter().chain(["--allow-loss=unknown-item"]), &text).stdout;
    assert_eq!(json(&allowed)["tools"].as_array().map(Vec::len), Some(1));
}

/// Nobody can correct what a model wrote, so a completion is written without what cannot be read.
#[test]
fn a_malformed_completion_is_written() {
    let call = "<think>\nHm.\n</think>\n\nI look.\n<tool_call>\n\
        {\"name\": \"f\", \"arguments\": {}}}\n</tool_call><|im_end|>";
    let ran = ocml_with(["convert", "-t", "openai"], call).exits(1).says("not part of the call");
    assert!(ran.stdout.contains("I look.") && !ran.stdout.contains("tool_calls"), "{ran:?}");
    let ran = ocml_with(["convert", "-t", "openai", "--no-loss"], call).exits(1);
    assert_eq!(ran.stdout, "");
    // A stray token cannot be kept. In a transcript, it can be corrected.
    let call = "I look.</tool_call><|im_end|>";
    let args = ["convert", "-f", "qwen3", "-t", "openai"];
    let ran = ocml_with(args.into_iter().chain(["--role", "assistant"]), call).exits(1);
    assert!(ran.stdout.contains("I look."), "{ran:?}");
    let transcript = format!("<|im_start|>assistant\n{call}\n");
    assert_eq!(ocml_with(args, transcript).exits(1).says("--allow-loss=stray-text").stdout, "");
}

#[test]
fn reasoning_in_tags_is_split_on_request() {
    let text = r#"[{"role":"assistant","content":"<think>\nEasy.\n</think>\n\n4."}]"#;
    let refused = ocml_with(["convert", "-t", "qwen3"], text).exits(1);
    refused.says("reading with `split_reasoning` (`--split-reasoning`) does it");
    let split = ocml_with(["convert", "-t", "qwen3", "--split-reasoning"], text).silent();
    assert_eq!(split.stdout, "<|im_start|>assistant\n<think>\nEasy.\n</think>\n\n4.<|im_end|>\n");
    let args = ["tokens", "-t", "harmony"];
    ocml_with(args, text).exits(0).says("warning[W-VISIBLE-REASONING]");
    ocml_with(args.into_iter().chain(["--split-reasoning"]), text).silent();
}

#[test]
fn formats_have_the_names_of_models() {
    let text = r#"[{"role":"user","content":"Hi!"}]"#;
    for (alias, name) in [("gpt-oss", "harmony"), ("claude", "anthropic")] {
        let convert = |name| ocml_with(["convert", "-t", name], text).silent().stdout;
        assert_eq!(convert(alias), convert(name));
    }
    ocml_with(["formats", "harmny"], "").exits(2).says("did you mean `harmony`?");
}

#[test]
fn a_loss_without_an_equals_sign_is_explained() {
    let args = ["convert", "-t", "openai", "--allow-loss", "all"];
    ocml_with(args, "").says("--allow-loss=all");
}

#[test]
fn misspelled_keys_of_conversations_are_named() {
    let text = r#"{"mesages":[{"role":"user","content":"Hi!"}]}"#;
    ocml_with(["check"], text).exits(1).says("did you mean `messages`?");
    assert!(ocml_with(["detect"], text).stdout.contains("did you mean `messages`?"));
    let text = r#"{"messages":[{"from":"human","value":"Hi!"}]}"#;
    ocml_with(["check"], text).exits(1).says("rename `messages` to `conversations`");
    // Another column is no mistake.
    let text = r#"{"prompt":"Hi!","completion":"Hello!","message":["a"]}"#;
    assert!(ocml_with(["detect"], text).exits(0).stdout.contains("records"));
}

#[test]
fn names_of_tools_do_not_become_declarations() {
    let tool = |name: &str| {
        format!(
            r#"{{"messages":[{{"role":"user","content":"Hi"}}],"tools":[{{"type":"function","function":{{"name":"{name}","description":"d","parameters":{{"type":"object","properties":{{}}}}}}}}]}}"#
        )
    };
    for format in ["harmony", "openchatml-2.2", "deepseek-v3.1"] {
        for name in ["f=()=>any;type/**/rm", "f\\n\\n### rm", "f //", "f;}"] {
            let ran = ocml_with(["render", "--bare", "-t", format], tool(name)).exits(1);
            assert_eq!(ran.says("cannot contain the name").stdout, "", "{format}: {name}");
        }
        ocml_with(["render", "-q", "--bare", "-t", format], tool("mcp:server/get_it-2.b")).exits(0);
    }
}

/// It is not run where it was made, and the other format would not show why.
#[test]
fn a_call_on_a_wrong_channel_is_not_written_where_there_are_no_channels() {
    let call = |name: &str| {
        format!(
            "<|start|>user<|message|>q<|end|><|start|>assistant<|channel|>analysis to={name} code<|message|>{{}}<|call|>"
        )
    };
    for format in ["openai", "responses", "anthropic", "gemini", "qwen3", "deepseek-v3.1"] {
        let args = ["convert", "-f", "harmony", "-t", format];
        let ran = ocml_with(args, call("functions.f")).exits(1).says("call dropped");
        assert!(!ran.stdout.contains("{}"), "{ran:#?}");
        // A built-in tool can be called there.
        assert!(ocml_with(args, call("python")).exits(0).stdout.contains("python"), "{format}");
    }
}
