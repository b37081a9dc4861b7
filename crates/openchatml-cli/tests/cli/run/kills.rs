//! Crashes at any point, in every format that a transcript can be in.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};

use openchatml::{
    Carrier, Conversation, Format, Message, ReadOptions, RenderOptions, Role, convert, history,
    parse,
};
use openchatml_testkit::upstream::{Answer, ScriptedServer};
use openchatml_testkit::{Source, completion};

use super::TOOLS;
use crate::support::{Folder, command, finish};

/// The formats of transcripts with those of the prompts: all that have calls. A transcript is in
/// the text form of its own dialect if there is one.
fn formats() -> Vec<(Format, Format)> {
    let has_calls = |format: &Format| {
        let carries = format.carries();
        carries.recipients && carries.roles.contains(&Role::Tool)
    };
    let is_text = |format: &Format| format.carrier() == Carrier::Text;
    let prompts: Vec<_> = Format::all().filter(has_calls).filter(is_text).collect();
    let mut others = prompts.iter().cycle();
    let mut prompt_of = |transcript: Format| {
        let own = prompts.iter().find(|it| it.dialect().id == transcript.dialect().id);
        (transcript, *own.or_else(|| others.next()).unwrap())
    };
    Format::all().filter(has_calls).map(&mut prompt_of).collect()
}

/// The number of calls before the answer.
const CALLS: usize = 4;

fn options() -> RenderOptions {
    let mut options = RenderOptions::default();
    // The template of Apertus writes the date if the conversation has no system message.
    options.date = Some("2026-01-01".into());
    options
}

/// The model's output in this format: reasoning and a call, or an answer.
fn said(format: Format, call: Option<usize>) -> String {
    let system = Message::new(Role::System, "-");
    let before = [system, Message::new(Role::User, "Go.")];
    let said = match call {
        None => vec![completion::answer("Done.")],
        Some(n) => {
            let tool = if n.is_multiple_of(3) { "look" } else { "note" };
            let arguments = format!("{{\"n\":{n}}}");
            let call = completion::call(tool, &format!("c{n}"), &arguments, format);
            vec![Message::reasoning("I call."), call]
        }
    };
    completion::completion(&before, &said, format)
}

/// The messages of a transcript, which must have no error.
#[track_caller]
pub(super) fn read(text: &str, format: Format) -> Vec<Message<'static>> {
    let parsed = parse(text, format, &ReadOptions::default());
    assert!(!parsed.has_errors(), "{format}: {:?}\n{text}", parsed.diagnostics);
    parsed.into_conversation().into_owned().messages
}

#[test]
fn kill_9_at_any_point_repeats_no_call_and_loses_nothing() {
    let wanted = std::env::var("OPENCHATML_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let (mut kills, mut interrupted) = (0, 0);
    let formats = formats();
    for round in 0.. {
        let (transcript, prompts) = formats[round % formats.len()];
        if kills >= wanted && round >= formats.len() {
            break;
        }
        let server = ScriptedServer::start(move |body, _| {
            let prompt = body["prompt"].as_str().unwrap();
            // The prompt determines the next output.
            let before = parse(prompt, prompts, &ReadOptions::default()).into_conversation();
            let made = before.messages.iter().filter(|it| it.is_call()).count();
            Answer::saying(&said(prompts, (made < CALLS).then_some(made + 1)))
        });
        let bytes = noise(u64::try_from(round).unwrap());
        let mut source = Source::new(&bytes);
        let chat = Folder::new();
        // Apertus requires a description for each tool.
        chat.file("tools.toml", TOOLS.replace("command", "description = \"One.\"\ncommand"));
        let system = Message::new(Role::System, "-");
        let question = Conversation::from_messages([system, Message::new(Role::User, "Go.")]);
        let question = convert::convert(&question.into(), transcript, &options()).unwrap().output;
        chat.file("chat.ocml", question);
        let names = [transcript.to_string(), prompts.to_string()];
        while !run_and_kill(&chat, [&names[0], &names[1], server.url()], &mut source) {
            kills += 1;
            read(&chat.read("chat.ocml"), transcript);
        }
        let text = chat.read("chat.ocml");
        let messages = read(&text, transcript);
        let answer = messages.last().unwrap();
        assert!(answer.is_answer() && answer.body.text() == "Done.", "{transcript}: {text}");
        assert_eq!(messages.iter().filter(|it| it.is_call()).count(), CALLS, "{text}");
        interrupted += made_once(&messages, &text, &chat);
        assert!(!chat.path().join(".chat.ocml.ocml-journal").exists());
    }
    // Otherwise the test does not reach the critical points.
    assert!(interrupted > 0, "{kills} kills, and none of them hit a call");
}

/// Checks that every call was made once, or has a reply that its result is unknown. Returns the
/// number of such replies.
pub(super) fn made_once(messages: &[Message<'_>], text: &str, chat: &Folder) -> usize {
    let mut made: BTreeMap<String, usize> = BTreeMap::new();
    let log = std::fs::read_to_string(chat.path().join("log")).unwrap_or_default();
    for line in log.lines() {
        let line = line.replace(' ', "");
        *made.entry(line).or_default() += 1;
    }
    let answers = history::answers(messages);
    let mut interrupted = 0;
    for (at, call) in messages.iter().enumerate().filter(|(_, message)| message.is_call()) {
        let replies = answers.iter().enumerate().filter(|(_, answered)| **answered == Some(at));
        let replies: Vec<usize> = replies.map(|(reply, _)| reply).collect();
        let [reply] = replies.as_slice() else { panic!("{} replies\n{text}", replies.len()) };
        let is_interrupted = messages[*reply].body.text().contains("the call may have run");
        interrupted += usize::from(is_interrupted);
        if call.recipient.as_deref() == Some("functions.note") {
            let body = call.body.text().replace(' ', "");
            let times = made.get(&body).copied().unwrap_or_default();
            assert!(times == 1 || times == 0 && is_interrupted, "{times} times\n{text}\n{made:?}");
        }
    }
    interrupted
}

/// Runs the command and kills it after a part of its events. Returns whether it ended before that.
fn run_and_kill(chat: &Folder, [from, to, url]: [&str; 3], source: &mut Source<'_>) -> bool {
    let args = ["run", "--tools", "tools.toml", "--in-place", "--json", "--upstream", url];
    let args = args.into_iter().chain(["-f", from, "-t", to, "chat.ocml"]);
    let mut child = command(args).current_dir(chat.path()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // At any event, or where a call begins or ends.
    let at = source.int_in_range(0..=40).unwrap_or(1_000_usize);
    let word = ["", "tool.start", "tool.done", "run.step"][source.int_in_range(0..=3).unwrap_or(0)];
    let at = if word.is_empty() { at } else { at / 20 };
    let mut passed = 0;
    let is_there = |line: std::io::Result<String>| {
        let hit = line.unwrap().contains(word);
        passed += usize::from(hit);
        hit && passed > at
    };
    let is_killed = lines.by_ref().any(is_there);
    if is_killed {
        child.kill().unwrap();
        child.wait().unwrap();
        return false;
    }
    finish(child).exits(0);
    true
}

fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(512).collect()
}
