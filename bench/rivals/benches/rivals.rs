//! Benchmarks other libraries and `openchatml` with the same conversations in the same Harmony
//! text, and the same answers.

use std::hint::black_box;
use std::io;
use std::process::{Command, ExitCode};

use openai_harmony::chat::Role;
use openchatml::Conversation;
use openchatml_bench::clock::{Job, report};
use openchatml_bench::{corpus, machine};
use openchatml_rivals::answer::Answer;
use openchatml_rivals::dynamo::Dynamo;
use openchatml_rivals::harmony::Harmony;
use openchatml_rivals::ours::Ours;
use openchatml_rivals::texts::Texts;
use openchatml_rivals::vocabulary;

/// Other libraries take one second for a round of this size.
const BYTES: usize = 200_000;
/// The number of repetitions for our reader, which is too fast for the clock otherwise.
const REPEAT: u32 = 200;
const ROUNDS: usize = 11;

fn main() -> io::Result<ExitCode> {
    if std::env::var_os(vocabulary::VARIABLE).is_some() {
        compare_all();
        return Ok(ExitCode::SUCCESS);
    }
    // Other libraries find the vocabulary through an environment variable, which cannot be changed
    // safely within this process.
    let folder = vocabulary::write()?;
    let mut this = Command::new(std::env::current_exe()?);
    let status = this.env(vocabulary::VARIABLE, folder.path()).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn compare_all() {
    machine::describe("cargo bench --bench rivals", &["dynamo-parsers", "openai-harmony"]);
    let harmony = Harmony::load();
    for (name, bytes, turns) in [("1 KiB", 1024, 4), ("20 bytes", 20, 12)] {
        let conversations = corpus::corpus(4, BYTES, turns, bytes);
        // A processor learns repeated input, so this input is read only once per round.
        let many = corpus::corpus(5, BYTES * 100, turns, bytes);
        let title = format!("Completions of gpt-oss, bodies of about {name}");
        completions(&title, &conversations, &many, &harmony);
        let title = format!("Transcripts of gpt-oss, bodies of about {name}");
        transcripts(&title, &conversations, &many, &harmony);
    }
}

fn parse(ours: &Ours, texts: &[String]) {
    for text in texts {
        black_box(ours.parse(text));
    }
}

/// Parses to owned messages, as other libraries do.
fn parse_owned(ours: &Ours, texts: &[String]) {
    for text in texts {
        black_box(ours.parse(text).document.into_owned());
    }
}

fn completions(
    title: &str,
    conversations: &[Conversation<'_>],
    many: &[Conversation<'_>],
    harmony: &Harmony,
) {
    let Texts { texts, load } = Texts::completions(conversations);
    let many = Texts::completions(many);
    let (ours, dynamo) = (Ours::completions(), Dynamo::default());
    agree(&texts, &ours, harmony, &dynamo);
    let tokens: Vec<Vec<u32>> = texts.iter().map(|text| harmony.tokens(text)).collect();
    let jobs = &mut [
        Job::new("**parse**", || parse(&ours, &texts)).repeat(REPEAT),
        Job::new("**parse**, and own what was read", || parse_owned(&ours, &texts)).repeat(REPEAT),
        Job::new("**parse** of 100 times as much", || parse(&ours, &many.texts)).on(many.load),
        Job::new("`openai-harmony`: tokens to messages", || {
            for tokens in &tokens {
                black_box(harmony.messages(tokens, Some(Role::Assistant)));
            }
        }),
        Job::new("`openai-harmony`: text to messages", || {
            for text in &texts {
                black_box(harmony.messages(&harmony.tokens(text), Some(Role::Assistant)));
            }
        }),
        Job::new("`dynamo-parsers`: calls and answer", || {
            dynamo.each_calls(&texts, |calls, rest| {
                black_box((calls, rest));
            });
        }),
        Job::new("`dynamo-parsers`: reasoning and answer", || {
            for text in &texts {
                black_box(Dynamo::reasoning(text));
            }
        }),
        Job::new("`dynamo-parsers`: reasoning, calls and answer", || {
            dynamo.each_answer(&texts, |answer| {
                black_box(answer);
            });
        }),
    ];
    report(title, load, jobs, ROUNDS);
}

/// Benchmarks whole conversations, which `dynamo-parsers` does not support.
fn transcripts(
    title: &str,
    conversations: &[Conversation<'static>],
    many: &[Conversation<'static>],
    harmony: &Harmony,
) {
    let Texts { texts, load } = Texts::transcripts(conversations);
    let many = Texts::transcripts(many);
    let other = "openchatml-2.2".parse().expect("a format");
    let written = corpus::texts(conversations, other);
    let reader = Ours::of(other);
    let written_size = corpus::load(&written, conversations);
    let ours = Ours::transcripts();
    for text in &texts {
        assert_eq!(ours.said(text), harmony.said(text, None));
    }
    let tokens: Vec<Vec<u32>> = texts.iter().map(|text| harmony.tokens(text)).collect();
    let jobs = &mut [
        Job::new("**parse**", || parse(&ours, &texts)).repeat(REPEAT),
        Job::new("**parse**, and own what was read", || parse_owned(&ours, &texts)).repeat(REPEAT),
        Job::new("**parse** of 100 times as much", || parse(&ours, &many.texts)).on(many.load),
        Job::new("**parse** of the same in OpenChatML 2.2", || parse(&reader, &written))
            .on(written_size)
            .repeat(REPEAT),
        Job::new("`openai-harmony`: tokens to messages", || {
            for tokens in &tokens {
                black_box(harmony.messages(tokens, None));
            }
        }),
        Job::new("`openai-harmony`: text to messages", || {
            for text in &texts {
                black_box(harmony.messages(&harmony.tokens(text), None));
            }
        }),
    ];
    report(title, load, jobs, ROUNDS);
}

/// Checks that all libraries return the same content for each completion before they are measured.
fn agree(texts: &[String], ours: &Ours, harmony: &Harmony, dynamo: &Dynamo) {
    let mut answers = Vec::with_capacity(texts.len());
    for text in texts {
        let said = ours.said(text);
        assert_eq!(said, harmony.said(text, Some(Role::Assistant)));
        answers.push(Answer::of(said));
    }
    let mut expected = answers.iter();
    dynamo.each_answer(texts, |answer| assert_eq!(Some(&answer), expected.next()));
    let mut expected = answers.iter();
    dynamo.each_calls(texts, |calls, text| {
        let named = calls.into_iter().map(|call| (call.function.name, call.function.arguments));
        let expected = expected.next().expect("as many answers as texts");
        let reasoning = expected.reasoning.clone();
        assert_eq!(Answer { reasoning, text, calls: named.collect() }, *expected);
    });
    for (text, answer) in texts.iter().zip(&answers) {
        let read = Dynamo::reasoning(text);
        assert_eq!(read.reasoning_text, answer.reasoning);
        // This parser leaves calls in the text for the other one.
        if answer.calls.is_empty() {
            assert_eq!(read.normal_text, answer.text);
        }
    }
    assert!(answers.iter().any(|answer| !answer.calls.is_empty()));
}
