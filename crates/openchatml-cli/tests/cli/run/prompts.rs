//! `ocml render` and `ocml run` write the same prompt for a conversation.

use openchatml::{Carrier, Format};
use openchatml_testkit::upstream::{Answer, ScriptedServer};

use crate::support::{Folder, json};

const SYSTEM: &str = r#"{"role":"system","content":"Be brief."}"#;

/// A turn with everything that prompts leave out or write differently.
const TURN: &str = r#"{"role":"user","content":"What is 2 + 2?"},
    {"role":"assistant","channel":"analysis","content":"I look."},
    {"role":"assistant","channel":"commentary","intent":"preamble","content":"One moment."},
    {"role":"assistant","recipient":"functions.add","channel":"commentary","call_id":"c1","content_type":"json","content":"{\"a\":2}","end":"call"},
    {"role":"tool","name":"functions.add","recipient":"assistant","channel":"commentary","call_id":"c1","content":"4"},
    {"role":"assistant","channel":"analysis","content":"That was easy."},
    {"role":"assistant","channel":"final","content":"4.","end":"return"}"#;

const ASKS: &str = r#"{"role":"user","content":"And times 3?"}"#;

/// An unfinished turn: the assistant has written a preamble, has reasoned, and has called a tool.
const IN_TURN: &str = r#"{"role":"user","content":"And times 3?"},
    {"role":"assistant","channel":"analysis","content":"First a word."},
    {"role":"assistant","channel":"final","content":"Let me see."},
    {"role":"assistant","channel":"analysis","content":"I add."},
    {"role":"assistant","recipient":"functions.add","channel":"commentary","call_id":"c2","content_type":"json","content":"{\"a\":4}","end":"call"},
    {"role":"tool","name":"functions.add","recipient":"assistant","channel":"commentary","call_id":"c2","content":"12"}"#;

const TOOLS: &str = r#""tools":[{"type":"function","function":{"name":"add","description":"Adds.","parameters":{"type":"object","properties":{"a":{"type":"integer","description":"A number."}},"required":["a"]}}}],"#;

/// Conversations for a model to continue.
fn conversations() -> Vec<String> {
    let mut all = Vec::new();
    for tools in ["", TOOLS] {
        for turns in [&[ASKS][..], &[TURN, ASKS], &[TURN, IN_TURN], &[TURN, TURN, IN_TURN]] {
            let messages = [&[SYSTEM], turns].concat().join(",");
            all.push(format!("{{{tools}\"messages\":[{messages}]}}"));
        }
    }
    all
}

#[test]
fn run_and_render_write_the_same_prompts() {
    let formats = Format::all().filter(|format| format.carrier() == Carrier::Text);
    for format in formats.map(|format| format.to_string()) {
        for conversation in conversations() {
            let folder = Folder::new();
            folder.file("chat.json", &conversation);
            folder.file("tools.toml", "");
            let server = ScriptedServer::start(|_, _| Answer::saying(""));
            let args =
                ["run", "-q", "--tools", "tools.toml", "--upstream", server.url(), "--to", &format];
            let ran = folder.ocml(args.iter().chain(&["-o", "out.json", "chat.json"]));
            let asked = server.asked();
            let asked =
                asked.first().unwrap_or_else(|| panic!("{format}: {ran:?}"))["prompt"].clone();
            let args = ["render", "-q", "--allow-loss", "--generation-prompt", "-t", &format];
            let rendered = folder.ocml(args.iter().chain(&["chat.json"])).exits(0).stdout;
            assert_eq!(asked, rendered, "{format}: {conversation}");
        }
    }
}

/// No header is added to a transcript without one.
#[test]
fn prompts_of_a_transcript_without_a_header_have_none() {
    let folder = Folder::new();
    folder.file("chat.txt", "<|start|>user<|message|>Hi.<|end|>\n");
    folder.file("tools.toml", "");
    let server = ScriptedServer::start(|_, _| Answer::saying(""));
    let format = ["-t", "openchatml-2.2", "-f", "openchatml-2.2"];
    let args = ["run", "-q", "--tools", "tools.toml", "--upstream", server.url(), "-o", "out.txt"];
    folder.ocml(args.iter().chain(&format).chain(&["chat.txt"]));
    let asked = server.asked()[0]["prompt"].clone();
    let args = ["render", "-q", "--generation-prompt"];
    let rendered = folder.ocml(args.iter().chain(&format).chain(&["chat.txt"])).exits(0).stdout;
    assert_eq!(asked, rendered);
}

#[test]
fn run_and_render_write_the_same_ids() {
    for conversation in conversations() {
        let folder = Folder::new();
        folder.file("chat.json", &conversation);
        folder.file("tools.toml", "");
        let server = ScriptedServer::start(|_, _| Answer::saying(""));
        let args = ["run", "-q", "--ids", "--engine", "vllm", "--upstream", server.url()];
        let rest = ["--tools", "tools.toml", "--to", "harmony", "-o", "out.json", "chat.json"];
        let ran = folder.ocml(args.iter().chain(&rest));
        let asked = server.asked();
        let asked = asked.first().unwrap_or_else(|| panic!("{ran:?}"))["prompt"].clone();
        let args = ["tokens", "-q", "--generation-prompt", "-t", "harmony", "chat.json"];
        let ids = json(&folder.ocml(args).exits(0).stdout);
        assert_eq!(asked, ids, "{conversation}");
    }
}

/// What an earlier step lost is told at the end of the run.
#[test]
fn losses_of_all_steps_are_reported() {
    let folder = Folder::new();
    folder.file("chat.json", r#"{"conversations":[{"from":"human","value":"Hi."}]}"#);
    folder.file("tools.toml", "");
    let server = ScriptedServer::start(|_, number| {
        Answer::saying(match number {
            0 => {
                "<think>\nHm.\n</think>\n\n<tool_call>\n{\"name\":\"f\",\"arguments\":{}}\n</tool_call><|im_end|>"
            }
            _ => "Hello.<|im_end|>",
        })
    });
    let args = ["run", "--tools", "tools.toml", "--upstream", server.url(), "-t", "qwen3"];
    let ran = folder.ocml(args.iter().chain(&["--in-place", "chat.json"])).exits(0);
    ran.says("analysis dropped");
}

/// The model could call tools, but the transcript could not contain the calls.
#[test]
fn transcripts_without_calls_are_refused() {
    let folder = Folder::new();
    folder.file("chat.txt", "<|im_start|>user\nHi.<|im_end|>\n");
    folder.file("tools.toml", "[tools.f]\ncommand = \"cat\"\n");
    let server = ScriptedServer::start(|_, _| Answer::saying(""));
    let args = ["run", "--tools", "tools.toml", "--upstream", server.url(), "-t", "harmony"];
    let ran = folder.ocml(args.iter().chain(&["-f", "chatml", "--in-place", "chat.txt"])).exits(1);
    ran.says("`chatml` has no tool calls");
    assert!(server.asked().is_empty());
}

/// A model that begins inside of reasoning shows it as an answer, unless its prompt says so.
#[test]
fn reasoning_that_no_token_opens_is_reported() {
    let folder = Folder::new();
    folder.file("chat.txt", "<|im_start|>user\nHi.<|im_end|>\n");
    folder.file("tools.toml", "");
    let server =
        ScriptedServer::start(|_, _| Answer::saying("A secret.\n</think>\n\nHello.<|im_end|>"));
    let args = ["run", "--tools", "tools.toml", "--upstream", server.url(), "-f", "qwen3"];
    let ran = folder.ocml(args.iter().chain(&["chat.txt"]));
    ran.exits(1).says("text that was shown as an answer turned out to be reasoning");
    let ran = folder.ocml(args.iter().chain(&["--open-reasoning", "chat.txt"])).exits(0);
    assert_eq!(ran.stdout, "Hello.\n");
    let prompt = server.asked()[1]["prompt"].clone();
    assert_eq!(prompt, "<|im_start|>user\nHi.<|im_end|>\n<|im_start|>assistant\n<think>\n");
    let args = ["render", "-f", "qwen3", "-t", "qwen3", "--generation-prompt", "--open-reasoning"];
    let rendered = folder.ocml(args.iter().chain(&["chat.txt"])).exits(0).stdout;
    assert_eq!(prompt, rendered);
    let args = ["run", "--tools", "tools.toml", "--upstream", server.url(), "--open-reasoning"];
    let ran = folder.ocml(args.iter().chain(&["-t", "harmony", "-f", "qwen3", "chat.txt"]));
    ran.exits(2).says("cannot end inside of reasoning");
}
