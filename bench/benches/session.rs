//! Benchmarks sessions: a turn with many calls, and a completion of many pieces after a long
//! transcript. The cost of both must depend on the new events and not on the length of the
//! transcript.
//!
//! The model and the tools respond immediately. The transcript is a file, and its journal is synced
//! to the disk before each call.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::{Duration, Instant};

use openchatml::{Format, Message, Role, parse};
use openchatml_tools::{
    CancellationToken, Completion, CompletionFuture, Entry, Model, Output, Piece, PieceFuture,
    Request, Router, RouterOptions, Session, SessionOptions, Toolbox, TranscriptStore, Upstream,
    function,
};
use tempfile::TempDir;

const RUNS: usize = 3;

/// A model that returns these completions piece by piece.
struct Script(std::sync::Mutex<VecDeque<Vec<String>>>);

struct Said(std::vec::IntoIter<String>);

impl Upstream for Script {
    fn sample<'u>(&'u self, _: Request<'u>) -> CompletionFuture<'u> {
        let next = self.0.lock().ok().and_then(|mut said| said.pop_front()).unwrap_or_default();
        Box::pin(async move { Ok(Box::new(Said(next.into_iter())) as Box<dyn Completion>) })
    }
}

impl Completion for Said {
    fn next(&mut self) -> PieceFuture<'_> {
        let piece = self.0.next().map(Piece::Text);
        Box::pin(async move { Ok(piece) })
    }
}

const ANSWER: &str = "<|start|>assistant<|channel|>final<|message|>Done.<|return|>";

fn call(n: usize) -> String {
    let begin = if n == 0 { "" } else { "<|start|>assistant" };
    format!(
        "{begin} to=functions.note call_id=c{n}<|channel|>commentary<|constrain|>json<|message|>{{\"n\":{n}}}<|call|>"
    )
}

fn text() -> Format {
    "openchatml-2.2".parse().expect("a format")
}

/// Returns the shortest time of several runs of a session that starts with this number of messages
/// and these completions.
fn run(messages: usize, says: &[Vec<String>]) -> Duration {
    (0..RUNS).map(|_| run_once(messages, says)).min().unwrap_or_default()
}

fn run_once(messages: usize, says: &[Vec<String>]) -> Duration {
    let folder = TempDir::new().expect("there is room");
    let store =
        TranscriptStore::open(&folder.path().join("chat.ocml")).expect("nobody else has it");
    let mut tools = Toolbox::default();
    let note = function(|_| async { Ok(Output::text("noted")) });
    tools.insert("functions.note", Entry::new(note)).expect("a name");
    let router =
        Router::new(store.record_calls(&tools), RouterOptions::default()).expect("good schemas");
    let begins = parse("version: 2.2\n\n", text(), &Default::default());
    let mut conversation = begins.into_conversation().into_owned();
    let said = (0..messages).map(|n| match n % 2 {
        0 => Message::new(Role::User, format!("What is {n}?")),
        _ => Message::answer(format!("It is {n}.")),
    });
    conversation.messages.extend(said);
    conversation.messages.push(Message::new(Role::User, "Go."));
    let script = Script(std::sync::Mutex::new(says.iter().cloned().collect()));
    let model = Model::new(script, text().try_into().expect("text"));
    let mut options = SessionOptions::default();
    // A server that does not stop at the first call returns a turn with many calls.
    options.read.past_stop = true;
    let mut session = Session::new(conversation, text(), router)
        .with_model(model)
        .with_store(store)
        .with_options(options);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let start = Instant::now();
    let ended =
        runtime.expect("threads").block_on(session.run(&CancellationToken::new(), |event| {
            black_box(&event);
        }));
    let taken = start.elapsed();
    let ended = ended.expect("it goes on");
    assert_eq!(ended, openchatml_tools::StopReason::Answered);
    taken
}

fn main() {
    println!("### A turn of streamed calls\n");
    println!("| calls | time | for each | compared with half as many |");
    println!("| ---: | ---: | ---: | ---: |");
    let mut half = None;
    for calls in [250, 500, 1_000, 2_000] {
        let answer = vec![ANSWER.replacen("<|start|>assistant", "", 1)];
        let taken = run(0, &[(0..calls).map(call).collect(), answer]);
        let ratio = half.map_or_else(String::new, |half: Duration| {
            format!("{:.2}", taken.as_secs_f64() / half.as_secs_f64())
        });
        let each = taken.as_secs_f64() * 1e6 / calls as f64;
        println!("| {calls} | {:.3} s | {each:.0} µs | {ratio} |", taken.as_secs_f64());
        half = Some(taken);
    }
    println!("\n### A completion of 20,000 pieces after a transcript\n");
    println!("| messages before | time | compared with none |");
    println!("| ---: | ---: | ---: |");
    let pieces = |count: usize| {
        let begin = "<|channel|>final<|message|>".to_owned();
        let words = (0..count).map(|n| format!("word {n} "));
        let said: Vec<_> =
            [begin].into_iter().chain(words).chain(["<|return|>".to_owned()]).collect();
        [said]
    };
    let mut none = None;
    for messages in [0, 1_000, 4_000] {
        let taken = run(messages, &pieces(20_000));
        let none = *none.get_or_insert(taken);
        let ratio = taken.as_secs_f64() / none.as_secs_f64();
        println!("| {messages} | {:.3} s | {ratio:.2} |", taken.as_secs_f64());
    }
}
