//! Benchmarks the core, compared with the best possible results: `memcpy`, and JSON without chat
//! logic.

use std::hint::black_box;

use openchatml::{
    Document, Event, Format, Keep, ReadOptions, RenderOptions, Role, Stream, TextFormat, parse,
    render,
};
use openchatml_bench::clock::{Job, digits, gigabytes, measure, report};
use openchatml_bench::corpus::{Random, corpus, load, text, texts};
use openchatml_bench::machine;
use openchatml_bench::plain::PlainConversation;

const ROUNDS: usize = 15;

fn format(name: &str) -> Format {
    name.parse().expect("a format")
}

fn main() {
    machine::describe("cargo bench --bench core", &["serde_json", "memchr"]);
    parse_and_render("bodies of about 1 KiB", 1024, 4);
    parse_and_render("bodies of about 20 bytes", 20, 12);
    jsonl();
    streaming();
}

fn parse_and_render(name: &str, bytes: usize, turns: usize) {
    let conversations = corpus(1, 20_000_000, turns, bytes);
    let format = format("openchatml-2.2");
    let texts = texts(&conversations, format);
    let documents: Vec<Document<'_>> =
        texts.iter().map(|text| parse(text, format, &ReadOptions::default()).document).collect();
    for (document, conversation) in documents.iter().zip(&conversations) {
        assert_eq!(document.as_conversation(), Some(conversation));
    }
    let all = texts.concat();
    let read = ReadOptions::default();
    let write = RenderOptions::default();
    report(
        &format!("OpenChatML 2.2, {name}"),
        load(&texts, &conversations),
        &mut [
            Job::new("`memcpy` into fresh memory", || {
                for text in &texts {
                    black_box(text.as_bytes().to_vec());
                }
            }),
            Job::new("`memchr`: counting `<`", || {
                black_box(memchr::memchr_iter(b'<', all.as_bytes()).count());
            }),
            // The minimum work of any lexer: each token begins with these two bytes.
            Job::new("`memmem`: counting `<\\|`", || {
                black_box(memchr::memmem::find_iter(all.as_bytes(), "<|").count());
            }),
            Job::new("**parse**", || {
                for text in &texts {
                    black_box(parse(text, format, &read));
                }
            }),
            Job::new("**render**", || {
                for document in &documents {
                    black_box(render(document, format, &write).expect("it was read"));
                }
            }),
        ],
        ROUNDS,
    );
}

fn jsonl() {
    let conversations = corpus(2, 20_000_000, 4, 1024);
    let (json, text) = (format("json"), format("openchatml-2.2"));
    let lines = texts(&conversations, json);
    let read = ReadOptions::default();
    let write = RenderOptions::default();
    let convert = |line: &String, from: Format, to: Format| {
        let parsed = parse(line, from, &read);
        assert!(parsed.diagnostics.is_empty());
        openchatml::convert::convert(&parsed.document, to, &write).expect("it was read").output
    };
    let plain = |line: &String| {
        let plain: PlainConversation<'_> = serde_json::from_str(line).expect("it is JSON");
        serde_json::to_string(&plain).expect("strings can be written")
    };
    for line in &lines {
        assert_eq!(convert(line, json, json), *line);
        assert_eq!(plain(line), *line);
    }
    report(
        "JSONL, line by line on one core",
        load(&lines, &conversations),
        &mut [
            Job::new("`serde_json`, plain structs: read and write", || {
                for line in &lines {
                    black_box(plain(line));
                }
            }),
            Job::new("**convert** `json` to `json`", || {
                for line in &lines {
                    black_box(convert(line, json, json));
                }
            }),
            Job::new("**convert** `json` to `openchatml-2.2`", || {
                for line in &lines {
                    black_box(convert(line, json, text));
                }
            }),
            Job::new("`serde_json`, plain structs: read", || {
                for line in &lines {
                    let read: PlainConversation<'_> = serde_json::from_str(line).expect("JSON");
                    black_box(read);
                }
            }),
            Job::new("**parse** `json`", || {
                for line in &lines {
                    black_box(parse(line, json, &read));
                }
            }),
        ],
        ROUNDS,
    );
}

fn streaming() {
    println!("\n### Streaming one message, deltas only\n");
    println!("| message in bytes | chunk in bytes | ns a byte | ns a chunk | GB/s |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    // Many different short messages, because a processor learns repeated input.
    const LEAST: usize = 1 << 22;
    for size in [1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26] {
        let mut random = Random::new(3);
        let message = |_| {
            let body = text(&mut random, size);
            // A `<` at the end would escape the following token.
            let body = body.trim_end_matches('<');
            (format!("<|channel|>final<|message|>{body}<|return|>"), body.len())
        };
        let all: Vec<(String, usize)> = (0..(LEAST / size).max(1)).map(message).collect();
        let bytes: usize = all.iter().map(|(whole, _)| whole.len()).sum();
        for chunk in [1, 4, 64, 4096] {
            // Larger sizes would take minutes without new information.
            if size / chunk > 1 << 23 {
                continue;
            }
            let chunks: usize = all.iter().map(|(whole, _)| whole.len().div_ceil(chunk)).sum();
            let rounds = if size > 1 << 23 { 3 } else { 7 };
            let job = Job::new("stream", || {
                all.iter().for_each(|(whole, bytes)| stream(whole, chunk, *bytes));
            });
            let time = measure(&mut [job], rounds)[0].median;
            let nanos = time.as_secs_f64() * 1e9;
            println!(
                "| {size} | {chunk} | {} | {} | {} |",
                digits(nanos / bytes as f64),
                digits(nanos / chunks as f64),
                digits(gigabytes(bytes, time)),
            );
        }
    }
}

/// Feeds `whole` in chunks. `bytes` is the size of its text.
fn stream(whole: &str, chunk: usize, bytes: usize) {
    let mut options = ReadOptions::default();
    options.continues = Some(Role::Assistant);
    options.limits.message_bytes = usize::MAX;
    let mut stream = Stream::new(TextFormat::OPENCHATML_2_2, &options).keep(Keep::Nothing);
    let mut seen = 0;
    let mut count = |event: Event<'_>| {
        if let Event::Delta { text, .. } = event {
            seen += text.len();
        }
    };
    for chunk in whole.as_bytes().chunks(chunk) {
        stream.feed_with(chunk, &mut count);
    }
    stream.finish_with(&mut count);
    assert_eq!(seen, bytes);
}
