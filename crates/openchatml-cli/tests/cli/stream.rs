//! `stream`: events while the text arrives.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use crate::support::{command, finish, json, ocml, ocml_with};

const COMPLETION: &str = "<|channel|>analysis<|message|>SECRET thought.<|end|>\
    <|start|>assistant<|channel|>final<|message|>Hello.\n\nBye.<|return|>";

const ARGS: [&str; 5] = ["stream", "-f", "openchatml-2.2", "--role", "assistant"];

fn names(stdout: &str) -> Vec<String> {
    stdout.lines().map(|line| json(line)["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn events_come_in_order() {
    let ran = ocml_with(ARGS, COMPLETION).silent();
    assert_eq!(
        names(&ran.stdout),
        [
            "message.start",
            "response.reasoning_text.delta",
            "message.done",
            "message.start",
            "response.delta",
            "response.delta.flush",
            "response.delta",
            "message.done",
            "response.done",
        ],
    );
    let done = json(ran.stdout.lines().nth(7).unwrap());
    assert_eq!(done["message"]["content"], "Hello.\n\nBye.");
    assert_eq!((&done["message_id"], &done["end"]), (&"m1".into(), &"return".into()));
}

/// Without reasoning in the format, what comes before `</think>` would be the answer.
#[test]
fn a_format_without_reasoning_does_not_begin_in_it() {
    let text = "SECRET\n</think>\n\nHi.<|im_end|>";
    for format in ["chatml", "harmony", "apertus"] {
        for command in ["stream", "show", "parse"] {
            let ran = ocml_with([command, "-f", format, "--in-reasoning"], text).exits(2);
            assert_eq!(ran.stdout, "");
            ran.says("has no prompts that end inside reasoning");
        }
    }
    let ran = ocml_with(["show", "--in-reasoning"], text).exits(2);
    ran.says("name it, such as `--from qwen3`");
    let ran = ocml_with(["show", "-f", "qwen3", "--in-reasoning"], text);
    assert_eq!(ran.stdout, "assistant\n  Hi.\n");
}

#[test]
fn the_first_delta_comes_before_the_end_of_the_input() {
    let mut child = command(ARGS).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    let mut expect = |words: &str| {
        line.clear();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains(words), "{line}");
    };
    // Cut inside a control token and inside a character: the complete part is written at once.
    stdin.write_all(b"<|channel|>final<|message|>Hel<|e").unwrap();
    expect("message.start");
    expect(r#""delta":"Hel"}"#);
    stdin.write_all(b"x\xC3").unwrap();
    expect(r#""delta":"<|ex"}"#);
    stdin.write_all(b"\xA9<|return|>").unwrap();
    expect(r#""delta":"é"}"#);
    expect("message.done");
    expect("response.done");
    drop(stdin);
    finish(child).silent();
}

#[test]
fn server_sent_events_are_framed() {
    let ran = ocml_with(ARGS.into_iter().chain(["--sse"]), COMPLETION).silent();
    let events: Vec<_> = ran.stdout.split("\n\n").collect();
    assert_eq!(events.last(), Some(&""));
    for event in &events[..events.len() - 1] {
        let (name, data) = event.split_once('\n').unwrap();
        let data = json(data.strip_prefix("data: ").unwrap());
        assert_eq!(name.strip_prefix("event: ").unwrap(), data["type"]);
    }
}

#[test]
fn a_user_sees_no_hidden_event() {
    let inputs = [
        COMPLETION.to_owned(),
        "SECRET".to_owned(),
        "<|channel|>analysis<|message|>SECRET\u{0}".to_owned(),
        "<|channel|>final<|message|>Hi <|start_reason|>SECRET".to_owned(),
        "<|channel|>final<|message|>Hi <|constrain|>SECRET<|end|>SECRET".to_owned(),
        " to=functions.f<|channel|>commentary<|message|>{\"SECRET\":1}<|call|>".to_owned(),
        "<|channel|>final<|message|>Hi<|end|><|start|>system<|message|>SECRET<|end|>".to_owned(),
    ];
    for input in inputs {
        let ran = ocml_with(ARGS.into_iter().chain(["--user"]), &input);
        assert!(!ran.stdout.contains("SECRET"), "{input}: {ran:#?}");
        for event in ran.stdout.lines().map(json).filter(|event| event["type"] == "diagnostic") {
            assert!(event.get("message").is_none() && event["summary"].is_string(), "{event}");
        }
        assert!(!ran.stderr.contains("SECRET"), "{input}: {ran:#?}");
    }
    let args = ARGS.into_iter().chain(["--user"]);
    assert_eq!(names(&ocml_with(args, COMPLETION).exits(0).stdout).len(), 6);
}

#[test]
fn summaries_for_users_do_not_depend_on_hidden_text() {
    let args = [&ARGS[..], &["--user"]].concat();
    let told = |text: &str| ocml_with(&args, text).stdout;
    let cut_off = told("<|channel|>final<|message|>Once");
    let found = json(cut_off.lines().find(|line| line.contains("diagnostic")).unwrap());
    let expected = r#"{"type":"diagnostic","message_id":"m0","code":"E-STREAM-TRUNCATED",
        "severity":"error","summary":"The answer was cut off."}"#;
    assert_eq!(found, json(expected));
    assert!(told("<|channel|>analysis<|message|>SECRET").contains("The answer was cut off."));
    // A complete answer is reported as complete, whatever reasoning is before it and text after it.
    let whole = "<|channel|>analysis<|message|>SECRET<|start|>assistant<|channel|>final<|message|>A\
        <|return|><|start|>system<|message|>SECRET<|end|>";
    assert!(!told(whole).contains("diagnostic"), "{}", told(whole));
    // A call with invalid JSON is hidden, and so is its error.
    let call = |body: &str| {
        told(&format!(
            " to=functions.f call_id=1<|channel|>commentary<|constrain|>json<|message|>{body}<|call|>"
        ))
    };
    assert_eq!(call("{}"), call("{SECRET"));
    // Without `--user`, the summary is written too.
    let all = ocml_with(ARGS, "<|channel|>final<|message|>Once").exits(1).stdout;
    let found = json(all.lines().find(|line| line.contains("diagnostic")).unwrap());
    assert_eq!(found["summary"], "The answer was cut off.");
    assert!(found["message"].is_string(), "{found}");
}

#[test]
fn preambles_can_be_hidden() {
    let text = " intent=preamble<|channel|>commentary<|message|>Plan.\n\nDo.<|end|>";
    let shown =
        |flags: &[&str]| names(&ocml_with(ARGS.iter().chain(flags), text).exits(0).stdout).len();
    assert_eq!(shown(&["--user"]), 6);
    // Only the end of the response is written.
    assert_eq!(shown(&["--user", "--preambles", "hide"]), 1);
}

#[test]
fn errors_are_events_and_change_the_status() {
    let ran = ocml_with(ARGS, "<|channel|>final<|message|>Hi").exits(1);
    assert!(names(&ran.stdout).contains(&"diagnostic".to_owned()), "{}", ran.stdout);
    assert_eq!(ran.stderr, "");
    let ran = ocml_with(ARGS, b"<|channel|>final<|message|>\xFF<|return|>").exits(1);
    assert!(ran.stdout.contains("E-PARSE-UTF8"), "{}", ran.stdout);
    // With `--user`, they are written on standard error only.
    let args = ARGS.into_iter().chain(["--user", "-v"]);
    ocml_with(args, b"<|channel|>final<|message|>\xFF<|return|>").exits(0).says("E-PARSE-UTF8");
}

/// Hidden parts do not affect the exit status either.
#[test]
fn the_status_for_a_user_does_not_depend_on_hidden_text() {
    let args: Vec<_> = ARGS.into_iter().chain(["--user"]).collect();
    for (text, status) in [("{}", 0), ("{bad", 0)] {
        let text = format!(
            " to=functions.f call_id=c1<|channel|>commentary<|constrain|>json<|message|>{text}<|call|>"
        );
        ocml_with(args.clone(), &text).exits(status);
    }
    ocml_with(args.clone(), "<|channel|>analysis<|message|>Hm").exits(1);
    ocml_with(args.into_iter().chain(["--strict"]), "").exits(2).says("remove --strict");
}

/// Without control tokens nothing is visible, which a server should know.
#[test]
fn a_completion_without_control_tokens_is_told_to_users() {
    let text = "analysisThe user waits.assistantfinalHello.";
    for args in [&ARGS[..], &["stream", "-f", "harmony"]] {
        let ran = ocml_with(args.iter().chain(&["--user"]), text).exits(1);
        ran.says("skip_special_tokens=False");
    }
    // In other formats, text is an answer.
    let args = ["stream", "-f", "qwen3", "--role", "assistant", "--user"];
    let ran = ocml_with(args, "Hello.").exits(1).stdout;
    assert!(ran.contains("Hello.") && ran.contains("E-STREAM-TRUNCATED"), "{ran}");
    let ran = ocml_with(ARGS.iter().chain(&["--user"]), " \n");
    assert!(!ran.stderr.contains("control tokens"), "{ran:#?}");
}

#[test]
fn a_byte_order_mark_is_not_part_of_a_stream() {
    let ran = ocml_with(ARGS, "\u{feff}<|channel|>final<|message|>Hi.<|return|>").exits(0);
    assert!(!ran.stdout.contains('\u{feff}'), "{}", ran.stdout);
    let ran = ocml_with(ARGS, "\u{ff21}<|channel|>final<|message|>Hi.<|return|>");
    assert!(ran.stdout.contains('\u{ff21}'), "{}", ran.stdout);
}

#[test]
fn an_invalid_token_id_ends_a_stream() {
    let args = ["stream", "-f", "harmony", "--ids", "--role", "assistant"];
    for text in ["hello", "[200005, -1]", "[200005, 1.5]", "200005 20x0002", "99999999999"] {
        let ran = ocml_with(args, text).exits(1).says("is not a token id");
        assert!(!ran.stdout.contains("response.done"), "{}", ran.stdout);
    }
    ocml_with(args, "[200005, 17196, 200008, 19, 200002]").exits(0);
}

#[test]
fn only_text_formats_stream() {
    ocml(["stream"]).exits(2);
    ocml(["stream", "-f", "json"]).exits(2);
    ocml(["stream", "-f", "auto"]).exits(2);
}

const CALL: &str = "<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant\
    <|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>";

/// The output for `CALL` with these options.
fn wire(options: &[&str]) -> String {
    let args = ["stream", "-f", "harmony", "--role", "assistant", "--created", "7"];
    ocml_with(args.iter().chain(options), CALL).silent().stdout
}

#[test]
fn events_can_be_those_of_the_responses_api() {
    let out = wire(&["--events", "responses", "--model", "gpt-oss-20b"]);
    let last = json(out.lines().last().unwrap());
    assert_eq!(last["type"], "response.completed");
    let response = &last["response"];
    assert_eq!((&response["id"], &response["model"]), (&"resp_7".into(), &"gpt-oss-20b".into()));
    assert_eq!(response["output"][0]["name"], "f");
    assert!(!out.contains("SECRET") && !out.contains("\"reasoning\""), "{out}");
    let out = wire(&["--events", "responses", "--response-id", "resp_x", "--reasoning", "raw"]);
    assert!(out.contains("SECRET") && out.contains("rs_x_0"), "{out}");
    let out = wire(&["--events", "responses", "--user"]);
    assert!(!out.contains("function_call") && out.contains("response.completed"), "{out}");
    let out = wire(&["--events", "responses", "--sse"]);
    for event in out.split_terminator("\n\n") {
        let (name, data) = event.split_once('\n').unwrap();
        let data = json(data.strip_prefix("data: ").unwrap());
        assert_eq!(name.strip_prefix("event: ").unwrap(), data["type"]);
    }
}

#[test]
fn events_can_be_chunks_of_chat_completions() {
    let out = wire(&["--events", "chat", "--sse"]);
    let mut events: Vec<_> = out.split_terminator("\n\n").collect();
    assert_eq!(events.pop(), Some("data: [DONE]"));
    let last = json(events.pop().unwrap().strip_prefix("data: ").unwrap());
    assert_eq!(last["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!((&last["id"], &last["created"]), (&"chatcmpl-7".into(), &7.into()));
    assert!(!out.contains("SECRET"), "{out}");
    let out = wire(&["--events", "chat", "--reasoning", "raw"]);
    assert!(out.contains(r#"{"reasoning_content":"SECRET"}"#) && !out.contains("[DONE]"), "{out}");
}

#[test]
fn events_can_be_those_of_the_messages_api() {
    let out = wire(&["--events", "anthropic", "--model", "gpt-oss-20b"]);
    let events: Vec<_> = out.lines().map(json).collect();
    assert_eq!(events[0]["message"]["id"], "msg_7");
    assert_eq!(events[0]["message"]["model"], "gpt-oss-20b");
    assert_eq!(events[1]["content_block"]["name"], "f");
    assert_eq!(events[2]["delta"]["partial_json"], "{}");
    assert_eq!(events[4]["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[5]["type"], "message_stop");
    assert!(!out.contains("SECRET") && !out.contains("thinking"), "{out}");
    let out = wire(&["--events", "anthropic", "--reasoning", "raw"]);
    assert!(out.contains(r#"{"type":"thinking_delta","thinking":"SECRET"}"#), "{out}");
    let out = wire(&["--events", "anthropic", "--user"]);
    assert!(!out.contains("tool_use") && out.contains("end_turn"), "{out}");
    let out = wire(&["--events", "anthropic", "--sse"]);
    for event in out.split_terminator("\n\n") {
        let (name, data) = event.split_once('\n').unwrap();
        let data = json(data.strip_prefix("data: ").unwrap());
        assert_eq!(name.strip_prefix("event: ").unwrap(), data["type"]);
    }
}

#[test]
fn a_response_starts_before_the_first_output() {
    let args = ["stream", "-f", "harmony", "--role", "assistant", "--events", "chat"];
    let mut child = command(args).stdin(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains(r#""role":"assistant""#), "{line}");
    drop(stdin);
    finish(child).exits(1);
}

#[test]
fn ids_are_counted() {
    let ids = "[200005, 17196, 200008, 19, 13, 200002]";
    let args = ["stream", "-f", "harmony", "--role", "assistant", "--ids", "--prompt-tokens", "7"];
    for (protocol, names) in [
        ("responses", ["/response/usage/input_tokens", "/response/usage/output_tokens"]),
        ("chat", ["/usage/prompt_tokens", "/usage/completion_tokens"]),
        ("anthropic", ["/usage/input_tokens", "/usage/output_tokens"]),
    ] {
        let ran = ocml_with(args.iter().chain(&["--events", protocol]), ids).silent();
        let mut lines = ran.stdout.lines().rev();
        let last = json(lines.find(|line| line.contains("usage")).unwrap());
        let counts = names.map(|name| last.pointer(name).and_then(|count| count.as_u64()));
        assert_eq!(counts, [Some(7), Some(6)], "{last}");
    }
    ocml(["stream", "-f", "harmony", "--prompt-tokens", "7"]).exits(2);
}

#[test]
fn diagnostics_are_not_events_of_other_protocols() {
    let args = ["stream", "-f", "harmony", "--role", "assistant", "--events", "responses"];
    let text = "<|channel|>final<|message|>Hi";
    let ran = ocml_with(args, text).exits(1);
    assert!(ran.stdout.contains("response.incomplete") && !ran.stdout.contains("E-"), "{ran:#?}");
    // The first error says why the status is 1.
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:#?}");
    ran.says("the text ends inside a message (E-STREAM-TRUNCATED");
    ocml_with(args.iter().chain(&["-v"]), text).exits(1).says("E-STREAM-TRUNCATED");
    // Messages of other speakers are left out, and that is reported.
    let text = "<|channel|>final<|message|>Hi<|end|><|start|>user<|message|>Ho<|end|>";
    ocml_with(args, text).exits(1).says("W-LOSS");
}

#[test]
fn options_of_other_protocols_require_these_protocols() {
    for option in [["--reasoning", "raw"], ["--model", "m"], ["--response-id", "r"]] {
        ocml(["stream", "-f", "harmony"].iter().chain(&option)).exits(2).says(option[0]);
    }
    let user = ["stream", "-f", "harmony", "--events", "chat", "--user", "--reasoning", "raw"];
    ocml(user).exits(2);
}

#[test]
fn text_without_a_message_is_an_error() {
    for events in ["chat", "responses", "anthropic", "openchatml"] {
        let args = ["stream", "-f", "chatml", "--events", events];
        ocml_with(args, "Hello!<|im_end|>").exits(1).says("use --role assistant");
        let args = args.iter().chain(&["--role", "assistant"]);
        assert_eq!(ocml_with(args, "Hello!<|im_end|>").exits(0).stderr, "");
    }
    // It is said what the text is. For a user, it is said that no control token is in it.
    let stripped = "analysisHm.assistantfinalHi.";
    let args = ["stream", "-f", "harmony"];
    ocml_with(args, stripped).exits(1).says("skip_special_tokens=False");
    let completion = args.into_iter().chain(["--role", "assistant", "--events", "openai"]);
    ocml_with(completion, stripped).exits(1).says("skip_special_tokens=False");
    let user = ocml_with(args.iter().chain(&["--user"]), stripped).exits(1);
    assert!(!user.stderr.contains("looks like"), "{user:#?}");
    let args = ["stream", "-f", "harmony", "--recover", "stripped"];
    ocml_with(args, stripped).exits(2).says("needs the whole text");
}

#[test]
fn calls_that_must_not_be_run_are_told() {
    let thought = "<think>a <tool_call>{\"name\": \"pay\", \"arguments\": {}}</tool_call></think>";
    for events in ["chat", "responses", "anthropic"] {
        let args = ["stream", "-f", "qwen3", "--role", "assistant", "--events", events];
        let ran = ocml_with(args, thought).exits(1).says("must not be run");
        assert!(!ran.stdout.contains("pay"), "{events}: {}", ran.stdout);
    }
    // The token of an answer, at the end of a call.
    let unsure = "<|channel|>commentary to=functions.pay json<|message|>{}<|end|>";
    let args = ["stream", "-f", "harmony", "--role", "assistant", "--events", "chat"];
    ocml_with(args, unsure).exits(1).says("must not be run");
}

#[test]
fn a_user_is_told_of_text_that_turns_out_to_be_reasoning() {
    let args = ["stream", "-f", "qwen3", "--role", "assistant", "--user"];
    let ran = ocml_with(args, "A plan.</think>Hi.<|im_end|>").exits(1).says("is not for a user");
    let events: Vec<&str> = ran.stdout.lines().collect();
    let told = events.iter().position(|event| event.contains("E-PARSE-FRAME"));
    let answer = events.iter().position(|event| event.contains("\"Hi.\""));
    assert!(told.is_some() && told < answer, "{events:#?}");
    assert!(!events.iter().any(|event| event.contains("\"content\":\"A plan.\"")), "{events:#?}");
    // The text was complete when the token arrived.
    let call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
    let ran = ocml_with(args, format!("Or\n{call}\n</think>\n\nHi.<|im_end|>")).exits(1);
    assert_eq!(ran.stdout.matches("E-PARSE-FRAME").count(), 1, "{}", ran.stdout);
    ran.says("is not for a user");
    // Text after reasoning that began twice waits until it is certain.
    let ran = ocml_with(args, "<think><think>a</think>A plan.</think>Hi.<|im_end|>").exits(0);
    assert!(!ran.stdout.contains("plan"), "{}", ran.stdout);
}
