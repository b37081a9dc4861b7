//! Benchmarks the JSON of services and data sets, compared with `serde_json` and plain structs of
//! the same fields.

use std::hint::black_box;

use openchatml::{Conversation, Document, Format, ReadOptions, RenderOptions, parse, render};
use openchatml_bench::carriers::{Apertus, Carrier, OpenAi, Responses, ShareGpt};
use openchatml_bench::clock::{Job, digits, gigabytes, measure};
use openchatml_bench::corpus::{converted, corpus};
use openchatml_bench::machine;

const BYTES: usize = 10_000_000;
const ROUNDS: usize = 11;

fn main() {
    machine::describe("cargo bench --bench carriers", &["serde_json"]);
    println!("\n### JSON of services and data sets, line by line on one core\n");
    println!("{} MB of bodies a row; median of {ROUNDS} rounds.\n", BYTES / 1_000_000);
    println!(
        "| job | `serde_json`, plain structs: GB/s | ns a message | ours: GB/s | ns a message | \
         time, `serde_json` = 1 |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for (name, bytes, turns) in [("1 KiB", 1024, 4), ("20 bytes", 20, 12)] {
        let conversations = corpus(8, BYTES, turns, bytes);
        both_ways::<OpenAi<'static>>(&conversations, name);
        both_ways::<Responses<'static>>(&conversations, name);
        both_ways::<ShareGpt<'static>>(&conversations, name);
        both_ways::<Apertus<'static>>(&conversations, name);
    }
}

fn read<'a>(line: &'a str, format: Format) -> Document<'a> {
    let parsed = parse(line, format, &ReadOptions::default());
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    parsed.document
}

fn plain<C: Carrier>(line: &str) -> C::Plain<'_> {
    serde_json::from_str(line).expect("it is what the structs say")
}

fn both_ways<C: Carrier>(conversations: &[Conversation<'static>], bodies: &str) {
    let format: Format = C::FORMAT.parse().expect("a format");
    let lines = converted(conversations, format, &RenderOptions::default());
    let parted = lines.iter().map(|line| {
        let mut plain = plain::<C>(line);
        let has_parts = C::part(&mut plain);
        has_parts.then(|| serde_json::to_string(&plain).expect("strings can be written"))
    });
    let parted: Option<Vec<String>> = parted.collect();
    for (parted, line) in parted.iter().flatten().zip(&lines) {
        assert_eq!(read(parted, format), read(line, format));
    }
    reading::<C>(&format!("`{format}`, {bodies}: **read**"), &lines, format);
    if let Some(lines) = parted {
        reading::<C>(&format!("`{format}`, {bodies}, in parts: **read**"), &lines, format);
    }
    writing::<C>(&format!("`{format}`, {bodies}: **write**"), &lines, format);
}

fn reading<C: Carrier>(name: &str, lines: &[String], format: Format) {
    for line in lines {
        assert_eq!(serde_json::to_string(&plain::<C>(line)).as_ref().ok(), Some(line));
    }
    let options = ReadOptions::default();
    let theirs = Job::new("serde", || {
        for line in lines {
            black_box(plain::<C>(line));
        }
    });
    let ours = Job::new("ours", || {
        for line in lines {
            black_box(parse(line, format, &options));
        }
    });
    row(name, lines, format, &mut [theirs, ours]);
}

fn writing<C: Carrier>(name: &str, lines: &[String], format: Format) {
    let options = RenderOptions::default();
    let documents: Vec<Document<'_>> = lines.iter().map(|line| read(line, format)).collect();
    let plain: Vec<C::Plain<'_>> = lines.iter().map(|line| plain::<C>(line)).collect();
    let ours = |it: &Document<'_>| render(it, format, &options).expect("it was read");
    let theirs = |it: &C::Plain<'_>| serde_json::to_string(it).expect("strings can be written");
    for ((document, plain), line) in documents.iter().zip(&plain).zip(lines) {
        assert_eq!(ours(document), *line);
        assert_eq!(theirs(plain), *line);
    }
    let jobs = &mut [
        Job::new("serde", || plain.iter().for_each(|it| drop(black_box(theirs(it))))),
        Job::new("ours", || documents.iter().for_each(|it| drop(black_box(ours(it))))),
    ];
    row(name, lines, format, jobs);
}

fn row(name: &str, lines: &[String], format: Format, jobs: &mut [Job<'_>; 2]) {
    let bytes: usize = lines.iter().map(String::len).sum();
    let count =
        |line: &String| read(line, format).as_conversation().map_or(0, |it| it.messages.len());
    let messages: usize = lines.iter().map(count).sum();
    let times = measure(jobs, ROUNDS);
    let nanos = |at: usize| times[at].median.as_secs_f64() * 1e9 / messages as f64;
    let speed = |at: usize| digits(gigabytes(bytes, times[at].median));
    println!(
        "| {name} | {} | {} | {} | {} | {} |",
        speed(0),
        digits(nanos(0)),
        speed(1),
        digits(nanos(1)),
        digits(nanos(1) / nanos(0)),
    );
}
