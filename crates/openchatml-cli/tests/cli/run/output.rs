//! The output of a run, and the transcript that it keeps.

use openchatml_testkit::upstream::{Answer, ScriptedServer};

use super::{ANSWER, QUESTION, TOOLS, call, folder, is_valid, run};
use crate::support::{command, json};

#[test]
fn the_answer_is_printed_and_the_transcript_is_written_only_on_request() {
    let server = ScriptedServer::start(|_, number| {
        Answer::saying(&match number % 2 {
            0 => format!(
                "<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant{}",
                call(1, "look")
            ),
            _ => ANSWER.to_owned(),
        })
    });
    let folder = folder(QUESTION);
    let args = ["run", "--tools", "tools.toml", "--upstream", server.url(), "chat.ocml"];
    let ran = folder.ocml(args).silent();
    assert_eq!(ran.stdout, "Done.\n");
    assert_eq!(folder.read("chat.ocml"), QUESTION);
    assert_eq!(folder.names(), ["chat.ocml", "tools.toml"]);
    // The answer is also shown if the transcript is written to a file.
    assert_eq!(run(&folder, &["--upstream", server.url(), "chat.ocml"]).silent().stdout, "Done.\n");
    assert!(folder.read("chat.ocml").ends_with("Done.<|return|>\n"));
}

#[test]
fn json_keeps_its_layout() {
    let said = "<|channel|>final<|message|>Done.<|return|>";
    let server = ScriptedServer::start(move |_, _| Answer::saying(said));
    let folder = folder(QUESTION);
    let asked = r#"{"role": "user", "content": "Go."}"#;
    let answered =
        r#"{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Done."}"#;
    let indented = "{\n    \"model\": \"m\",\n    \"messages\": [\n        {\n            \
        \"role\": \"user\",\n            \"content\": \"Go.\"\n        }\n    ]\n}\n";
    folder.file("list.json", format!("[{asked}]"));
    folder.file("indented.json", indented);
    for name in ["list.json", "indented.json"] {
        run(&folder, &["--upstream", server.url(), "-t", "harmony", name]).exits(0);
    }
    assert_eq!(folder.read("list.json"), format!("[{answered}]"));
    let written = folder.read("indented.json");
    assert!(
        written.starts_with("{\n    \"messages\": [\n        {\n            \"role\""),
        "{written}"
    );
    let request = json(&written);
    assert_eq!(
        (&request["model"], request["messages"].as_array().unwrap().len()),
        (&"m".into(), 2)
    );
    // The tools were still declared to the model.
    assert!(server.asked()[0]["prompt"].as_str().unwrap().contains("type look = "));
}

#[test]
fn a_partial_answer_is_stored_open_and_requested_again() {
    let server = ScriptedServer::start(|_, number| {
        Answer::saying(if number == 0 { "<|channel|>final<|message|>Half an" } else { ANSWER })
    });
    let folder = folder(QUESTION);
    let args = ["--upstream", server.url(), "chat.ocml"];
    run(&folder, &args).exits(1).says("the completion is incomplete");
    let text = folder.read("chat.ocml");
    assert!(text.ends_with("<|channel|>final<|message|>Half an"), "{text}");
    folder.ocml(["check", "chat.ocml"]).exits(1).says("E-STREAM-TRUNCATED");
    run(&folder, &args).exits(0);
    assert!(!server.asked()[1]["prompt"].as_str().unwrap().contains("Half an"));
    let text = folder.read("chat.ocml");
    is_valid(&text);
    assert!(text.ends_with("Done.<|return|>\n") && !text.contains("Half an"), "{text}");
}

/// A session must be able to continue what it wrote: no tool that cannot reply, and no turn that
/// stays open.
#[test]
fn unusable_transcripts_are_not_written() {
    let turns = [
        ("harmony", " to=system<|channel|>commentary <|constrain|>json<|message|>{}<|call|>"),
        ("apertus", "<|assistant_end|>"),
        ("apertus", "It is sun"),
    ];
    for (format, said) in turns {
        let server = ScriptedServer::start(move |_, number| {
            let whole = match format {
                "harmony" => "<|channel|>final<|message|>Done.<|return|>",
                _ => "Done.<|assistant_end|>",
            };
            Answer::saying(if number == 0 { said } else { whole })
        });
        let chat = folder(QUESTION);
        let question = match format {
            "harmony" => "<|start|>user<|message|>Go.<|end|>",
            _ => "<s><|system_start|>s<|system_end|><|user_start|>Go.<|user_end|>",
        };
        chat.file("chat.txt", question);
        chat.file("tools.toml", TOOLS.replace("command", "description = \"d\"\ncommand"));
        let args = ["--upstream", server.url(), "-f", format, "chat.txt"];
        run(&chat, &args).exits(1);
        let ran = run(&chat, &args).exits(0);
        assert_eq!(ran.stdout, "Done.\n", "{format} {said}");
        assert!(chat.read("chat.txt").contains("Done."));
    }
}

#[test]
fn an_answer_before_the_end_is_an_answer() {
    let said = "<|channel|>final<|message|>Done.<|end|><|start|>assistant<|channel|>an";
    let server = ScriptedServer::start(move |_, _| Answer::saying(said));
    let chat = folder(QUESTION);
    assert_eq!(run(&chat, &["--upstream", server.url(), "chat.ocml"]).exits(0).stdout, "Done.\n");
}

#[test]
fn the_transcript_is_written_even_if_the_answer_has_no_reader() {
    let words: String = (0..10_000).map(|n| format!("word {n} ")).collect();
    let said = format!("<|channel|>final<|message|>{words}<|return|>");
    let server = ScriptedServer::start(move |_, _| Answer::saying(&said));
    let chat = folder(QUESTION);
    let args =
        ["run", "--tools", "tools.toml", "--in-place", "--upstream", server.url(), "chat.ocml"];
    let mut child = command(args).current_dir(chat.path()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert!(chat.read("chat.ocml").ends_with("word 9999 <|return|>\n"));
}

#[test]
fn a_list_of_items_stays_a_list() {
    let server =
        ScriptedServer::start(|_, _| Answer::saying("<|channel|>final<|message|>Hi.<|return|>"));
    let chat = folder(QUESTION);
    chat.file("chat.json", r#"[{"type":"message","role":"user","content":"Go."}]"#);
    let args = ["--upstream", server.url(), "-f", "responses", "-t", "harmony", "chat.json"];
    run(&chat, &args).exits(0);
    let items = json(&chat.read("chat.json"));
    assert_eq!(items.as_array().map(Vec::len), Some(2), "{items}");
}

#[test]
fn an_ordinary_run_of_json_loses_nothing() {
    let server = ScriptedServer::start(|_, number| match number {
        0 => Answer::saying(&call(2, "note")),
        _ => Answer::saying(ANSWER),
    });
    let folder = folder(QUESTION);
    folder.file("chat.json", r#"[{"role":"user","content":"Go."}]"#);
    let args = ["-t", "openchatml-2.2", "--upstream", server.url(), "chat.json"];
    let ran = run(&folder, &args).silent();
    assert_eq!(ran.stdout, "Done.\n");
}
