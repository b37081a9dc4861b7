//! `ocml run`: making calls, continuing with a model, and crashes at any point.

#![cfg(unix)]

mod kills;
mod output;
mod programs;
mod prompts;
mod terminal;

use std::io::{BufRead as _, BufReader};

use openchatml::{ReadOptions, parse};
use openchatml_testkit::upstream::{Answer, ScriptedServer, chunk, done, said};

use crate::support::{Folder, Ran, command, finish, json};

/// `functions.note` writes its arguments to a file and is not idempotent; `functions.look` is.
const TOOLS: &str = r#"
[tools.note]
command = "sh"
args = ["-c", "read -r call; echo \"$call\" >> log; echo '{\"noted\":true}'"]
parameters = { type = "object", properties = { n = { type = "integer" } }, required = ["n"] }

[tools.look]
command = "cat"
idempotent = true
"#;

const QUESTION: &str = "version: 2.2\n\n<|start|>user<|message|>Go.<|end|>\n";

const ANSWER: &str = "<|channel|>final<|message|>Done.<|return|>";

fn call(n: usize, tool: &str) -> String {
    format!(
        " to=functions.{tool} call_id=c{n}<|channel|>commentary<|constrain|>json<|message|>{{\"n\":{n}}}<|call|>"
    )
}

/// A folder with tools and a transcript.
fn folder(transcript: &str) -> Folder {
    let folder = Folder::new();
    folder.file("tools.toml", TOOLS);
    folder.file("chat.ocml", transcript);
    folder
}

/// A run that updates the transcript in its file, unless another file is given.
fn run(folder: &Folder, args: &[&str]) -> Ran {
    let is_kept = args.iter().any(|arg| matches!(*arg, "-o" | "-"));
    let place = if is_kept { &[][..] } else { &["--in-place"] };
    folder.ocml(["run", "--tools", "tools.toml"].iter().chain(place).chain(args))
}

#[track_caller]
fn is_valid(text: &str) {
    let parsed = parse(text, "openchatml-2.2".parse().unwrap(), &ReadOptions::default());
    assert!(parsed.diagnostics.is_empty(), "{:?}\n{text}", parsed.diagnostics);
}

#[test]
fn calls_without_a_reply_run_once() {
    let text = format!("{QUESTION}<|start|>assistant{}\n", call(1, "note"));
    let folder = folder(&text);
    for _ in 0..2 {
        run(&folder, &["chat.ocml"]).silent();
        assert_eq!(folder.read("log"), "{\"n\":1}\n");
    }
    let written = folder.read("chat.ocml");
    assert!(written.starts_with(&text) && written.contains(r#""noted":true"#), "{written}");
    is_valid(&written);
    assert_eq!(folder.names(), ["chat.ocml", "log", "tools.toml"]);
}

#[test]
fn the_calls_of_a_raw_completion_run() {
    let completion = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary \
        to=functions.note <|constrain|>json<|message|>{\"n\":1}<|call|>";
    let folder = folder("");
    folder.file("completion.txt", completion);
    run(&folder, &["-o", "chat.txt", "completion.txt"]).silent();
    assert_eq!(folder.read("log"), "{\"n\":1}\n");
    let written = folder.read("chat.txt");
    let begin = "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";
    assert!(written.starts_with(begin) && written.contains(r#""noted":true"#), "{written}");
    // The next run continues the transcript, and has nothing to do.
    run(&folder, &["chat.txt"]).silent();
    assert_eq!(folder.read("log"), "{\"n\":1}\n");
    // The errors of a damaged completion are those of a completion.
    folder.file("cut.txt", &completion[..completion.len() - 8]);
    let ran = run(&folder, &["-o", "none.txt", "cut.txt"]).exits(1);
    assert!(ran.stderr.starts_with("error[E-STREAM-TRUNCATED]"), "{ran:#?}");
    assert!(!ran.stderr.contains("E-PARSE-FRAME"), "{ran:#?}");
    let column = completion.len() - 8 + 1;
    assert!(ran.stderr.contains(&format!(" --> cut.txt:1:{column}\n")), "{ran:#?}");
    // What would be written differently does not run.
    folder.file("open.txt", completion.replace("<|end|>", ""));
    run(&folder, &["-o", "none.txt", "open.txt"]).exits(1).says("has no stop token");
    assert_eq!(folder.read("log"), "{\"n\":1}\n");
}

#[test]
fn output_continues_in_another_file_and_overwrites_no_unrelated_file() {
    let text = format!("{QUESTION}<|start|>assistant{}\n", call(1, "note"));
    let folder = folder(&text);
    for _ in 0..2 {
        run(&folder, &["-o", "out.ocml", "chat.ocml"]).silent();
        assert_eq!(folder.read("log"), "{\"n\":1}\n");
    }
    assert_eq!(folder.read("chat.ocml"), text);
    is_valid(&folder.read("out.ocml"));
    folder.file("other.ocml", QUESTION.replace("Go.", "Stay."));
    let said = run(&folder, &["-o", "other.ocml", "chat.ocml"]).says_one_line(2);
    assert!(said.contains("does not continue this transcript"), "{said}");
    // From standard input to standard output, no file is left.
    let args = ["run", "--tools", "tools.toml", "-o", "-", "-"];
    let ran = folder.ocml_with(args, &text).exits(0);
    is_valid(&ran.stdout);
    assert!(ran.stdout.contains(r#""noted":true"#), "{ran:?}");
    assert_eq!(folder.names(), ["chat.ocml", "log", "other.ocml", "out.ocml", "tools.toml"]);
}

#[test]
fn a_model_continues_until_it_answers() {
    let server = ScriptedServer::start(|_, number| {
        Answer::saying(&match number {
            0 => format!(
                "<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant{}",
                call(1, "look")
            ),
            _ => ANSWER.to_owned(),
        })
    });
    let chat = folder(QUESTION);
    let args = ["--upstream", server.url(), "--model", "m", "--json", "chat.ocml"];
    let ran = run(&chat, &args).exits(0);
    let types: Vec<String> =
        ran.stdout.lines().map(|line| json(line)["type"].as_str().unwrap().to_owned()).collect();
    for name in ["run.step", "tool.start", "tool.done", "message.done", "response.done"] {
        assert!(types.contains(&name.to_owned()), "{name}: {types:?}");
    }
    let text = chat.read("chat.ocml");
    is_valid(&text);
    // The prompt declared the tools, and so does the transcript.
    assert!(text.contains("type note = "), "{text}");
    assert!(text.ends_with("Done.<|return|>\n"), "{text}");
    assert_eq!(server.asked()[0]["model"], "m");
    // A second run has nothing to do.
    let ran = run(&chat, &args).silent();
    assert_eq!((ran.stdout.as_str(), server.asked().len()), ("", 2));
}

#[test]
fn users_see_only_answers() {
    let server = ScriptedServer::start(|_, number| {
        Answer::saying(&match number % 2 {
            0 => format!(
                "<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant{}",
                call(1, "look")
            ),
            _ => ANSWER.to_owned(),
        })
    });
    for protocol in ["openchatml", "responses", "chat", "anthropic"] {
        let folder = folder(QUESTION);
        let args = ["--upstream", server.url(), "--user", "--events", protocol, "chat.ocml"];
        let ran = run(&folder, &args).exits(0);
        let mut seen = String::new();
        for line in ran.stdout.lines() {
            let event = json(line);
            let deltas = ["/delta", "/choices/0/delta/content", "/delta/text"];
            seen.extend(deltas.iter().filter_map(|place| event.pointer(place)?.as_str()));
        }
        assert_eq!(seen, "Done.", "{protocol}: {}", ran.stdout);
        for hidden in ["SECRET", "look", "run.step", "tool."] {
            assert!(!ran.stdout.contains(hidden), "{protocol}, {hidden}: {}", ran.stdout);
        }
    }
}

#[test]
fn nothing_after_an_invented_message_counts() {
    for (speaker, rest) in [
        ("user", call(1, "note")),
        ("user", ANSWER.to_owned()),
        ("functions.look to=assistant", ANSWER.to_owned()),
    ] {
        let text = format!(
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>{speaker}<|message|>Yes.<|end|><|start|>assistant{rest}"
        );
        // All of it arrives at once.
        let server = ScriptedServer::start(move |_, _| {
            let whole = [(text.as_str(), None), ("", Some("stop"))].map(|(text, reason)| {
                chunk(serde_json::json!({"text": text, "finish_reason": reason}))
            });
            Answer::stream(whole.into_iter().chain([done()]).collect())
        });
        let chat = folder(QUESTION);
        let ran = run(&chat, &["--upstream", server.url(), "chat.ocml"]);
        ran.exits(1);
        assert!(!chat.path().join("log").exists(), "{speaker}");
        assert!(!chat.read("chat.ocml").contains("Done."), "{speaker}");
    }
}

#[test]
fn failures_are_reported_and_change_nothing() {
    let server =
        ScriptedServer::start(|_, _| Answer::error(500, r#"{"error":{"message":"overloaded"}}"#));
    let chat = folder(QUESTION);
    let said = run(&chat, &["--upstream", server.url(), "chat.ocml"]).says_one_line(2);
    assert!(said.contains("the upstream answers 500: overloaded"), "{said}");
    is_valid(&chat.read("chat.ocml"));
    assert!(run(&chat, &["--upstream", "nowhere", "chat.ocml"]).says_one_line(2).contains("http"));

    let server = ScriptedServer::start(|_, number| Answer::saying(&call(number, "look")));
    let args = ["--upstream", server.url(), "--max-steps", "3", "chat.ocml"];
    let said = run(&chat, &args).says_one_line(1);
    assert!(said.contains("stopped after 3 steps without an answer"), "{said}");
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn wrong_usage_of_run_is_reported() {
    let chat = folder(QUESTION);
    for (args, words) in [
        (&["-f", "harmony:tokens", "chat.ocml"][..], "a transcript must be text or JSON"),
        (&["chat.jsonl"], "a JSONL file contains many"),
        (&["--events", "chat", "-o", "-", "-"], "cannot both go to standard output"),
        (&["--in-place", "-"], "cannot rewrite standard input"),
        (&["--sse", "chat.ocml"], "name it with `--events`"),
        (&["-"], "the replies would be lost"),
        (&["missing.ocml"], "cannot"),
    ] {
        let said = run(&chat, args).says_one_line(2);
        assert!(said.contains(words), "{said}");
    }
    // An invalid transcript is refused, because invalid parts would be lost.
    chat.file("bad.ocml", "version: 2.2\n\n<|start|>user<|message|>Hi");
    let ran = run(&chat, &["bad.ocml"]).exits(1);
    assert!(ran.stderr.contains("E-STREAM-TRUNCATED"), "{ran:?}");
    assert_eq!(chat.names(), ["bad.ocml", "chat.ocml", "tools.toml"]);
}

#[test]
fn errors_in_the_tools_file_have_places() {
    let chat = folder(QUESTION);
    chat.file("tools.toml", "[tools.weather]\ncomand = \"./weather.py\"\ntimeout_ms = \"soon\"\n");
    insta::assert_snapshot!(run(&chat, &["chat.ocml"]).exits(1).stderr);
}

#[test]
fn an_interrupt_ends_the_run_cleanly() {
    let server = ScriptedServer::start(|_, number| {
        if number == 0 {
            return Answer::saying(&call(1, "note"));
        }
        // The model never stops reasoning.
        let thoughts = |_| said("<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|>");
        Answer::stream((0..10_000).flat_map(thoughts).collect())
    });
    let chat = folder(QUESTION);
    let args = [
        "run",
        "--tools",
        "tools.toml",
        "--in-place",
        "--json",
        "--upstream",
        server.url(),
        "chat.ocml",
    ];
    let mut child = command(args).current_dir(chat.path()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_thought = |line: &String| line.contains("Hm.");
    assert!(lines.by_ref().map(Result::unwrap).any(|line| is_thought(&line)));
    signal(child.id(), "INT");
    // Reads all lines: a closed output would end the run in another way.
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let tail = &rest[rest.len().saturating_sub(8)..];
    assert!(rest.iter().any(|line| line.contains("response.cancel")), "{tail:#?}");
    finish(child).exits(130);
    let text = chat.read("chat.ocml");
    is_valid(&text);
    assert!(text.contains("<|start|>tool name=functions.note call_id=c1"), "{text}");
}

/// A program holds a pipe open, and writes a line if it was not killed.
#[test]
fn kill_9_also_ends_the_programs() {
    let chat = folder(&format!("{QUESTION}<|start|>assistant{}\n", call(1, "note")));
    let script = "exec 3>held; read -r call; (trap '' HUP INT TERM; echo here >&3; sleep 30; echo alive >&3) & wait";
    chat.file(
        "tools.toml",
        format!("[tools.note]\ncommand = \"sh\"\nargs = [\"-c\", \"{script}\"]\n"),
    );
    let held = chat.path().join("held");
    assert!(std::process::Command::new("mkfifo").arg(&held).status().unwrap().success());
    let args = ["run", "--tools", "tools.toml", "--in-place", "chat.ocml"];
    let mut child = command(args).current_dir(chat.path()).spawn().unwrap();
    let mut lines = BufReader::new(std::fs::File::open(held).unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "here");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(lines.next().is_none());
}

fn signal(process: u32, name: &str) {
    let status = std::process::Command::new("kill")
        .args([&format!("-{name}"), &process.to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// The tool itself kills the command at the worst moment: right after the call is recorded.
#[test]
fn a_tool_that_kills_the_command_is_not_called_again() {
    let folder = folder(&format!(
        "{QUESTION}<|start|>assistant{}\n<|start|>assistant{}\n",
        call(1, "note"),
        call(2, "note")
    ));
    let tools = TOOLS.replace(">> log;", ">> log; kill -9 $PPID;");
    folder.file("tools.toml", tools);
    let before = run(&folder, &["chat.ocml"]);
    assert_eq!(before.status, -1, "{before:?}");
    folder.file("tools.toml", TOOLS);
    run(&folder, &["chat.ocml"]).silent();
    let text = folder.read("chat.ocml");
    is_valid(&text);
    let messages = kills::read(&text, "openchatml-2.2".parse().unwrap());
    assert!(kills::made_once(&messages, &text, &folder) >= 1, "{text}");
}

#[test]
fn a_dry_run_only_prints_the_calls() {
    let text = format!(
        "{QUESTION}<|start|>assistant{}\n<|start|>assistant{}\n",
        call(1, "note"),
        call(2, "nothing"),
    );
    let folder = folder(&text);
    let ran = run(&folder, &["--dry-run", "chat.ocml"]).exits(0);
    let expected = "functions.note {\"n\":1}\nfunctions.nothing {\"n\":2}\n  \
        refused[E-CALL-UNKNOWN]: unknown tool `functions.nothing`\n";
    assert_eq!(ran.stdout, expected);
    let ran = run(&folder, &["--dry-run", "--json", "chat.ocml"]).exits(0);
    let lines: Vec<_> = ran.stdout.lines().map(json).collect();
    assert_eq!((lines.len(), &lines[0]["refused"]), (2, &serde_json::Value::Null));
    assert_eq!(lines[1]["refused"]["code"], "E-CALL-UNKNOWN");
    let ran = run(&folder, &["--dry-run", "--max-calls", "1", "chat.ocml"]).exits(0);
    assert!(ran.stdout.ends_with("functions.nothing {\"n\":2}\n  not in this run (--max-calls)\n"));
    // There is no terminal to ask for an approval.
    folder.file("tools.toml", TOOLS.replace("[tools.note]", "[tools.note]\napprove = \"once\""));
    let ran = run(&folder, &["--dry-run", "chat.ocml"]).exits(0);
    assert!(ran.stdout.contains("refused[E-TOOL-CANCELLED]"), "{}", ran.stdout);
    assert_eq!((folder.read("chat.ocml"), folder.names().len()), (text, 2));
}

#[test]
fn lossy_prompts_and_uncounted_tokens_are_reported() {
    let server = ScriptedServer::start(|_, _| Answer::saying(ANSWER));
    let folder = folder("");
    let image = r#"{"type":"image_url","image_url":{"url":"https://cats.example/1.png"}}"#;
    let text = format!(
        r#"{{"messages":[{{"role":"user","content":[{{"type":"text","text":"What is it?"}},{image}]}}]}}"#
    );
    folder.file("chat.json", text);
    let asks = ["--upstream", server.url(), "-t", "openchatml-2.2", "chat.json"];
    run(&folder, &asks).exits(0).says("prompts: image dropped");
    folder.file("chat.json", r#"{"messages":[{"role":"user","content":"What is it?"}]}"#);
    let bounded = [&["--max-total-tokens", "9"][..], &asks].concat();
    run(&folder, &bounded).exits(0).says("`--max-total-tokens` has no effect");
}

#[test]
fn a_rejected_request_does_not_change_the_transcript() {
    let server = ScriptedServer::start(|_, _| Answer::error(404, r#"{"error":{"message":"no"}}"#));
    let folder = folder("version: 2.2\n<|start|>user<|message|>Go.<|end|>");
    let before = folder.read("chat.ocml");
    run(&folder, &["--upstream", server.url(), "chat.ocml"]).exits(2);
    assert_eq!(folder.read("chat.ocml"), before);
}

/// A server that removes control tokens does so each time.
#[test]
fn a_stripped_completion_is_named_and_not_requested_again() {
    let server = ScriptedServer::start(|_, _| Answer::saying("analysisHm.assistantfinalHi."));
    let folder = folder(QUESTION);
    let args = ["--upstream", server.url(), "-t", "harmony", "chat.ocml"];
    run(&folder, &args).exits(1).says("skip_special_tokens=False");
    assert_eq!((server.asked().len(), folder.read("chat.ocml")), (1, QUESTION.to_owned()));
}

#[test]
fn approval_requires_a_terminal() {
    let text = format!("{QUESTION}<|start|>assistant{}\n", call(1, "note"));
    let folder = folder(&text);
    let said = run(&folder, &["--approve", "always", "chat.ocml"]).says_one_line(2);
    assert!(said.contains("requires a terminal"), "{said}");
    // The approval that a tool requires still holds: the call is not made.
    folder.file("tools.toml", TOOLS.replace("[tools.note]", "[tools.note]\napprove = \"once\""));
    run(&folder, &["chat.ocml"]).exits(0);
    assert!(
        folder
            .read("chat.ocml")
            .contains("the call requires an approval, but nobody can approve it")
    );
    assert!(!folder.names().contains(&"log".to_owned()));
}

#[test]
fn the_engine_can_be_set_and_options_read_from_a_file() {
    let server = ScriptedServer::start(|_, _| Answer::saying(ANSWER));
    let folder = folder(QUESTION);
    folder.file("sampling.json", r#"{"temperature": 0.5}"#);
    let args = ["--upstream", server.url(), "--engine", "vllm", "--sampling", "@sampling.json"];
    run(&folder, &[&args[..], &["chat.ocml"]].concat()).exits(0);
    let asked = &server.asked()[0];
    assert_eq!(
        (&asked["temperature"], &asked["skip_special_tokens"]),
        (&0.5.into(), &false.into())
    );
    // Ids are never read from text.
    let server = ScriptedServer::start(|_, _| Answer::saying(ANSWER));
    folder.file("chat.ocml", QUESTION);
    let args = ["--upstream", server.url(), "--engine", "vllm", "--ids", "-t", "harmony"];
    let said = run(&folder, &[&args[..], &["chat.ocml"]].concat()).says_one_line(2);
    assert!(said.contains("returns no token ids"), "{said}");
    assert_eq!(folder.read("chat.ocml"), QUESTION);
}

/// A server of tools that does not answer can be interrupted by the user or by its own time limit.
#[test]
fn a_silent_server_causes_a_timeout() {
    let folder = folder(QUESTION);
    let server =
        "[mcp.silent]\ncommand = \"sh\"\nargs = [\"-c\", \"echo > here; exec sleep 1000\"]\n";
    folder.file("tools.toml", format!("{server}timeout_ms = 50\n"));
    run(&folder, &["chat.ocml"]).exits(1).says("the server did not answer in time");
    drop(std::fs::remove_file(folder.path().join("here")));
    folder.file("tools.toml", server);
    let args = ["run", "--tools", "tools.toml", "--in-place", "chat.ocml"];
    let mut child = command(args).current_dir(folder.path()).spawn().unwrap();
    while !folder.path().join("here").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it connected");
        std::thread::yield_now();
    }
    let id = child.id().to_string();
    let sent = std::process::Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.unwrap().success());
    finish(child).exits(130);
    assert_eq!(folder.read("chat.ocml"), QUESTION);
}

#[test]
fn text_that_becomes_a_call_only_by_detection_does_not_run() {
    let folder = Folder::new();
    folder.file(
        "tools.toml",
        "[tools.pay]\ncommand = \"sh\"\nargs = [\"-c\", \"echo >> log; echo 1\"]\n",
    );
    let chat = r#"[{"role":"user","content":"How?"},{"role":"assistant","content":"<tool_call>\n{\"name\": \"pay\", \"arguments\": {}}\n</tool_call>"}]"#;
    folder.file("chat.json", chat);
    folder.ocml(["convert", "-t", "chatml", "chat.json", "-o", "chat.txt"]).exits(0);
    let run = |more: &[&'static str]| {
        let args = ["run", "--tools", "tools.toml", "-o", "out.txt", "chat.txt"];
        folder.ocml(args.iter().chain(more))
    };
    run(&[]).exits(2).says("--from qwen3");
    assert!(!folder.path().join("log").exists());
    run(&["--from", "chatml"]);
    assert!(!folder.path().join("log").exists());
}

#[test]
fn a_call_that_a_service_did_not_finish_is_neither_run_nor_lost() {
    let folder = Folder::new();
    folder.file(
        "tools.toml",
        "[tools.pay]\ncommand = \"sh\"\nargs = [\"-c\", \"echo >> log; echo 1\"]\n",
    );
    let call = r#"{"type":"function_call","call_id":"c1","name":"pay","arguments":"{}""#;
    let whole = [
        format!(r#"{{"output":[{call}}}],"status":"incomplete"}}"#),
        format!(r#"{{"output":[{call},"status":"in_progress"}}]}}"#),
        format!(r#"{{"output":[{call},"status":"incomplete"}},{call}}}]}}"#),
    ];
    for text in whole {
        folder.file("response.json", &text);
        let run = ["run", "--from", "responses", "--tools", "tools.toml", "--in-place"];
        let ran = folder.ocml(run.iter().chain(&["response.json"]));
        ran.exits(1).says("the call is incomplete");
        assert!(!folder.path().join("log").exists());
        let kept = std::fs::read_to_string(folder.path().join("response.json"));
        assert_eq!(kept.expect("the transcript"), text);
    }
}
