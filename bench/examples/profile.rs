//! One job in a loop, for a profiler. It finds hot spots and compares nothing.
//!
//! ```sh
//! cargo run --release --example profile -- JOB [ROUNDS [TOTAL]]
//! ```
//!
//! `parse20`, `parse1024`, `render20` and `render1024` read or write OpenChatML 2.2 with bodies of
//! about so many bytes; `TOTAL` is the size of the corpus in bytes. Counting instructions with
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

use openchatml::{Document, Format, ReadOptions, RenderOptions, parse, render};
use openchatml_bench::clock::{digits, gigabytes};
use openchatml_bench::corpus::{corpus, load, texts};

const USAGE: &str = "usage: profile JOB [ROUNDS [TOTAL]]

JOB     parse20, parse1024, render20 or render1024
ROUNDS  how often it is done, 20 if not given
TOTAL   how many bytes the corpus has, 10000000 if not given";

struct Wanted {
    parses: bool,
    /// The size of a body, and how many turns a conversation has.
    shape: (usize, usize),
    rounds: u32,
    total: usize,
}

fn wanted(mut args: impl Iterator<Item = String>) -> Option<Wanted> {
    let (parses, shape) = match args.next()?.as_str() {
        "parse20" => (true, (20, 12)),
        "parse1024" => (true, (1024, 4)),
        "render20" => (false, (20, 12)),
        "render1024" => (false, (1024, 4)),
        _ => return None,
    };
    let rounds = args.next().map_or(Some(20), |rounds| rounds.parse().ok())?;
    let total = args.next().map_or(Some(10_000_000), |total| total.parse().ok())?;
    let is_sensible = rounds > 0 && total > 0 && args.next().is_none();
    is_sensible.then_some(Wanted { parses, shape, rounds, total })
}

fn main() -> ExitCode {
    let Some(wanted) = wanted(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let (bytes, turns) = wanted.shape;
    let conversations = corpus(1, wanted.total, turns, bytes);
    let format: Format = "openchatml-2.2".parse().expect("a format");
    let texts = texts(&conversations, format);
    let options = ReadOptions::default();
    let documents: Vec<_> =
        texts.iter().map(|text| parse(text, format, &options).document).collect();
    let start = Instant::now();
    for _ in 0..wanted.rounds {
        work(wanted.parses, format, &texts, &documents);
    }
    let time = start.elapsed() / wanted.rounds;
    let load = load(&texts, &conversations);
    println!(
        "{} messages of {} bytes, {} ns a message, {} GB/s",
        load.messages,
        load.bytes / load.messages,
        digits(time.as_secs_f64() * 1e9 / load.messages as f64),
        digits(gigabytes(load.bytes, time)),
    );
    ExitCode::SUCCESS
}

/// What is measured, in a function of its own so that a profiler can leave the rest out.
#[inline(never)]
fn work(parses: bool, format: Format, texts: &[String], documents: &[Document<'_>]) {
    if parses {
        for text in texts {
            black_box(parse(text, format, &ReadOptions::default()));
        }
    } else {
        for document in documents {
            let text = render(document, format, &RenderOptions::default());
            black_box(text.expect("it was read from this format"));
        }
    }
}
