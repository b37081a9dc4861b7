//! Runs one job in a loop for a profiler, to find hot spots. It compares nothing.
//!
//! ```sh
//! cargo run --release --example profile -- JOB [ROUNDS [TOTAL]]
//! ```
//!
//! `parse20`, `parse1024`, `render20` and `render1024` read or write OpenChatML 2.2 with bodies of
//! about so many bytes, `harmony20`, `harmony1024`, `qwen20`, `qwen1024`, `apertus20` and
//! `apertus1024` read Harmony, Qwen 3 and Apertus, `openai20`, `responses20` and `sharegpt20` read
//! JSON, `prompt20` and `prompt1024` write Apertus from messages JSON; `TOTAL` is the size of the
//! corpus in bytes. `ids` and `messages` write Harmony as token ids and read them, `stream` reads
//! answers as ids, one by one, and `chunks` as text, byte by byte. `FORMAT:BYTES` reads any format,
//! and `FORMAT:chunks` reads it four bytes at a time. Counting instructions with
//! callgrind needs few of them; time with perf needs many:
//!
//! ```sh
//! cargo build --release --example profile
//! valgrind --tool=callgrind --toggle-collect='*profile::work*' \
//!     target/release/examples/profile parse20 2 1000000
//! perf record target/release/examples/profile parse1024 200 10000000
//! ```

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use openchatml::{
    Conversation, Document, Event, Format, Keep, Message, ReadOptions, RenderOptions, Role, Stream,
    TextFormat, convert::convert, parse, render,
};
use openchatml_bench::clock::{digits, gigabytes};
use openchatml_bench::corpus::{converted, corpus, tools};
use openchatml_bench::sources;
use openchatml_tokens::{O200kHarmony, Tokenizer};

const USAGE: &str = "usage: profile JOB [ROUNDS [TOTAL]]

JOB     parse20, parse1024, render20, render1024, harmony20, harmony1024, qwen20, qwen1024,
        apertus20, apertus1024, openai20, responses20, sharegpt20, prompt20, prompt1024, ids,
        messages, stream or chunks; or FORMAT:BYTES to read any format with bodies of about so many
        bytes, or FORMAT:chunks to read it four bytes at a time
ROUNDS  how often it is done, 20 if not given
TOTAL   how many bytes the corpus has, 10000000 if not given";

struct Wanted {
    job: String,
    rounds: u32,
    total: usize,
}

fn wanted(mut args: impl Iterator<Item = String>) -> Option<Wanted> {
    let job = args.next()?;
    let rounds = args.next().map_or(Some(20), |rounds| rounds.parse().ok())?;
    let total = args.next().map_or(Some(10_000_000), |total| total.parse().ok())?;
    let is_sensible = rounds > 0 && total > 0 && args.next().is_none();
    is_sensible.then_some(Wanted { job, rounds, total })
}

/// A job with its load: bytes, and messages or ids.
type Job = (Box<dyn Fn()>, usize, usize);

fn job(Wanted { job, total, .. }: &Wanted) -> Option<Job> {
    Some(match job.as_str() {
        "qwen20" => text_job("qwen3", true, *total, 12, 20),
        "qwen1024" => text_job("qwen3", true, *total, 12, 1024),
        "harmony20" => text_job("harmony", true, *total, 12, 20),
        "harmony1024" => text_job("harmony", true, *total, 4, 1024),
        "apertus20" => text_job("apertus", true, *total, 12, 20),
        "apertus1024" => text_job("apertus", true, *total, 4, 1024),
        "prompt20" => prompt_job(*total, 12, 20),
        "prompt1024" => prompt_job(*total, 4, 1024),
        "openai20" => text_job("openai", true, *total, 12, 20),
        "responses20" => text_job("responses", true, *total, 12, 20),
        "sharegpt20" => text_job("sharegpt", true, *total, 12, 20),
        "parse20" => text_job("openchatml-2.2", true, *total, 12, 20),
        "parse1024" => text_job("openchatml-2.2", true, *total, 4, 1024),
        "render20" => text_job("openchatml-2.2", false, *total, 12, 20),
        "render1024" => text_job("openchatml-2.2", false, *total, 4, 1024),
        "chunks" => chunk_job(*total),
        "ids" | "messages" | "stream" => token_job(job, *total),
        other => return other_job(other, *total),
    })
}

/// Reads any format, whole or in chunks.
fn other_job(name: &str, total: usize) -> Option<Job> {
    let (format, size) = name.rsplit_once(':')?;
    let parsed: Format = format.parse().ok()?;
    if size != "chunks" {
        return Some(text_job(format, true, total, 12, size.parse().ok()?));
    }
    let format = TextFormat::try_from(parsed).ok()?;
    let texts = converted(&corpus(1, total, 12, 100), parsed, &RenderOptions::default());
    let bytes = texts.iter().map(String::len).sum();
    let job = move || {
        for text in &texts {
            let mut stream = Stream::new(format, &ReadOptions::default()).keep(Keep::Nothing);
            let mut hear = |event: Event<'_>| {
                black_box(event);
            };
            text.as_bytes().chunks(4).for_each(|chunk| stream.feed_with(chunk, &mut hear));
            stream.finish_with(&mut hear);
        }
    };
    Some((Box::new(job), bytes, bytes / 4))
}

fn text_job(format: &str, parses: bool, total: usize, turns: usize, bytes: usize) -> Job {
    let format: Format = format.parse().expect("a format");
    let conversations = corpus(1, total, turns, bytes);
    let messages = conversations.iter().map(|it| it.messages.len()).sum();
    let write = |conversation: &Conversation<'static>| {
        let converted = convert(&conversation.clone().into(), format, &Default::default());
        converted.expect("the corpus can be written").output
    };
    let texts: Vec<String> = conversations.iter().map(write).collect();
    let bytes = texts.iter().map(String::len).sum();
    if parses {
        let job = move || {
            for text in &texts {
                black_box(parse(text, format, &ReadOptions::default()));
            }
        };
        return (Box::new(job), bytes, messages);
    }
    let read = |text: &String| parse(text, format, &ReadOptions::default()).document.into_owned();
    let documents: Vec<Document<'static>> = texts.iter().map(read).collect();
    let job = move || {
        for document in &documents {
            let text = render(document, format, &Default::default());
            black_box(text.expect("it was read from this format"));
        }
    };
    (Box::new(job), bytes, messages)
}

fn chunk_job(total: usize) -> Job {
    let texts: Vec<String> = sources::bodies(1, total)
        .iter()
        .map(|body| format!("<|channel|>final<|message|>{}<|return|>", body.replace('<', "")))
        .collect();
    let bytes = texts.iter().map(String::len).sum();
    let job = move || {
        texts.iter().for_each(|text| {
            black_box(chunked(text));
        })
    };
    (Box::new(job), bytes, bytes)
}

/// Streams a completion byte by byte and returns the number of bytes of text.
fn chunked(text: &str) -> usize {
    let mut options = ReadOptions::default();
    options.continues = Some(Role::Assistant);
    let mut stream = Stream::new(TextFormat::OPENCHATML_2_2, &options).keep(Keep::Nothing);
    let mut text_bytes = 0;
    let mut hear = |event: Event<'_>| {
        if let Event::Delta { text, .. } = event {
            text_bytes += text.len();
        }
    };
    text.as_bytes().chunks(1).for_each(|byte| stream.feed_with(byte, &mut hear));
    stream.finish_with(&mut hear);
    text_bytes
}

fn prompt_job(total: usize, turns: usize, bytes: usize) -> Job {
    let format = |name: &str| -> Format { name.parse().expect("a format") };
    let (json, text) = (format("apertus:json"), format("apertus"));
    let mut conversations = corpus(1, total, turns, bytes);
    conversations.iter_mut().for_each(|it| it.tools = tools());
    let mut options = RenderOptions::default();
    options.thinking = Some(true);
    let lines = converted(&conversations, json, &options);
    let read = |line: &String| parse(line, json, &ReadOptions::default()).document.into_owned();
    let documents: Vec<Document<'static>> = lines.iter().map(read).collect();
    let messages = conversations.iter().map(|it| it.messages.len()).sum();
    let bytes = lines.iter().map(String::len).sum();
    let job = move || {
        for document in &documents {
            let written = convert(document, text, &options).expect("Apertus can say it");
            black_box(written.output);
        }
    };
    (Box::new(job), bytes, messages)
}

fn token_job(job: &str, total: usize) -> Job {
    let tokenizer = Tokenizer::new(TextFormat::HARMONY, O200kHarmony::default());
    let bodies = sources::bodies(1, total);
    let bytes = bodies.iter().map(String::len).sum();
    let conversations = match job {
        // A very long answer.
        "stream" => bodies
            .chunks(100)
            .map(|some| Conversation::from_messages([Message::answer(some.concat())]))
            .collect(),
        _ => sources::conversations(&bodies, 4),
    };
    let documents = conversations.into_iter().map(Conversation::into);
    let documents: Vec<Document<'static>> = documents.collect();
    let render = |tokenizer: &Tokenizer<_>, document: &Document<'_>| {
        tokenizer.render(document, &Default::default()).expect("Harmony can say it").ids
    };
    let ids: Vec<Vec<u32>> =
        documents.iter().map(|document| render(&tokenizer, document)).collect();
    let count = ids.iter().map(Vec::len).sum();
    let job: Box<dyn Fn()> = match job {
        "ids" => Box::new(move || {
            for document in &documents {
                black_box(render(&tokenizer, document));
            }
        }),
        "messages" => Box::new(move || {
            for ids in &ids {
                black_box(tokenizer.parse(ids, &ReadOptions::default()));
            }
        }),
        _ => Box::new(move || {
            for ids in &ids {
                black_box(stream(&tokenizer, ids));
            }
        }),
    };
    (job, bytes, count)
}

/// Streams ids one by one and returns the number of bytes of text.
fn stream(tokenizer: &Tokenizer<O200kHarmony>, ids: &[u32]) -> usize {
    let mut text_bytes = 0;
    let mut hear = |event: Event<'_>| {
        if let Event::Delta { text, .. } = event {
            text_bytes += text.len();
        }
    };
    let mut stream = tokenizer.stream(&ReadOptions::default()).keep(Keep::Nothing);
    for id in ids {
        stream.feed_with(std::slice::from_ref(id), &mut hear);
    }
    stream.finish_with(&mut hear);
    text_bytes
}

fn main() -> ExitCode {
    let wanted = wanted(std::env::args().skip(1));
    let Some((wanted, (job, bytes, count))) =
        wanted.and_then(|wanted| job(&wanted).map(|job| (wanted, job)))
    else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let start = Instant::now();
    for _ in 0..wanted.rounds {
        work(&*job);
    }
    let time = start.elapsed() / wanted.rounds;
    println!(
        "{count} messages or ids, {} ns each, {} GB/s",
        digits(time.as_secs_f64() * 1e9 / count as f64),
        digits(gigabytes(bytes, time)),
    );
    ExitCode::SUCCESS
}

/// The measured work, in its own function so that a profiler can exclude the rest.
#[inline(never)]
fn work(job: &dyn Fn()) {
    job();
}
