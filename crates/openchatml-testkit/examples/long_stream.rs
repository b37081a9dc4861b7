//! Streams inputs that no memory holds, and checks that memory stays as it was.
//!
//! `long_stream`: a gigabyte of each kind. `long_stream 10`: ten. `long_stream 1 hidden`: of this
//! kind only. Linux only: the peak is what the kernel says of the process.

use std::io::{self, Write as _};
use std::process::{Command, ExitCode};

use openchatml::{Event, Keep, ReadOptions, Stream};

/// How much the peak may be above what the process took before, in KiB.
const MOST_KIB: usize = 64 << 10;

/// How much may be added after the first tenth of the input: what grows, grows with the input.
const GROWTH_KIB: usize = 1 << 10;

const CHUNK: usize = 64 << 10;

/// A kind of input: what it begins with, what follows again and again, and what ends it.
struct Kind {
    name: &'static str,
    format: &'static str,
    front: &'static str,
    again: &'static [u8],
    back: &'static str,
    /// Whether all that is fed again and again is told again.
    is_told: bool,
    /// Whether the limit on the text of one message stays as it is. Text whose end decides what it
    /// is, is kept until then, up to that limit.
    is_limited: bool,
    /// How many times less of it there is: what is read slowly takes its time.
    less: usize,
}

const fn kind(
    name: &'static str,
    front: &'static str,
    again: &'static [u8],
    back: &'static str,
) -> Kind {
    let format = "openchatml-2.2";
    Kind { name, format, front, again, back, is_told: false, is_limited: false, less: 1 }
}

impl Kind {
    const fn of(self, format: &'static str) -> Self {
        Self { format, ..self }
    }

    const fn told(self) -> Self {
        Self { is_told: true, ..self }
    }

    const fn less(self, less: usize) -> Self {
        Self { less, ..self }
    }

    const fn limited(self) -> Self {
        Self { is_limited: true, ..self }
    }
}

const ANSWER: &str = "version: 2.2\n\n<|start|>assistant<|channel|>final<|message|>";
const HIDDEN: &str = "version: 2.2\n\n<|start|>assistant<|channel|>analysis<|message|>";
const LITERAL: &str = "version: 2.2\n\n<|start|>assistant<|channel|>final<|message|><|literal|>";

const KINDS: &[Kind] = &[
    kind("line", ANSWER, b"x", "<|return|>").told(),
    kind("paragraphs", ANSWER, b"word\n\n", "<|return|>").told().less(5),
    kind("hidden", HIDDEN, b"word ", "<|end|>").told(),
    kind("literal", LITERAL, b"<|end|>", "<|endliteral|><|end|>").told(),
    kind("signs", ANSWER, b"<", "").told(),
    kind("half-tokens", ANSWER, b"<|star", "<|return|>").told().less(2),
    kind("cut-off", ANSWER, b"x", "").told(),
    kind("escapes", ANSWER, b"<<|end|>", "<|return|>").less(10),
    kind("markers", HIDDEN, b"<|start_reason|>x", "<|end|>"),
    kind("not-text", ANSWER, b"\xff", "<|return|>").less(50),
    kind("messages", "version: 2.2\n\n", MESSAGE, "").less(5),
    kind("findings", "", b"<|start|>x y z<|message|>a<|call|>\n", "").less(10),
    kind("long-header", "<|start|>assistant ", b"x ", "<|end|>"),
    kind("turn", "<|im_start|>assistant\n", b"x\r\n", "<|im_end|>\n").of("chatml").told(),
    kind("turns", "", b"<|im_start|>user\nHi.\n<|im_end|>\n", "").of("openchatml-0.1").less(5),
    kind("chatml-wire:text", "<|start|>assistant<|message|>", b"<|end|>", "")
        .of("chatml-wire:text")
        .told(),
    kind("yaml", "version: 2.2\na: ", b"x", "").limited(),
    kind("outside", "version: 2.2\n\n<|start|>user<|message|>a<|end|>", b"x", "").limited(),
];

const MESSAGE: &[u8] = b"<|start|>assistant<|channel|>final<|message|>Hello, world.<|end|>\n";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let gigabytes: f64 = args.next().and_then(|number| number.parse().ok()).unwrap_or(1.0);
    let bytes = (gigabytes * 1e9) as usize;
    let name = args.next();
    let mut code = ExitCode::SUCCESS;
    for kind in KINDS {
        let is_ok = match &name {
            None => alone(kind.name, gigabytes),
            Some(name) => name != kind.name || run(kind, bytes / kind.less),
        };
        if !is_ok {
            code = ExitCode::FAILURE;
        }
    }
    code
}

/// Runs one kind in a process of its own: what others took does not count.
fn alone(name: &str, gigabytes: f64) -> bool {
    let program = std::env::current_exe().expect("the path of this program");
    let status = Command::new(program).args([gigabytes.to_string().as_str(), name]).status();
    status.expect("a process").success()
}

/// Streams `bytes` bytes of this kind. Whether memory stayed as it was.
fn run(kind: &Kind, bytes: usize) -> bool {
    let mut options = ReadOptions::default();
    if !kind.is_limited {
        options.limits.message_bytes = usize::MAX;
    }
    options.limits.messages = usize::MAX;
    let format = kind.format.parse().expect("a format");
    let mut stream = Stream::new(format, &options).keep(Keep::Nothing);
    let chunk = kind.again.repeat(CHUNK / kind.again.len());

    let mut told = 0;
    let mut tell = |event: Event<'_>| match event {
        Event::Delta { text, .. } | Event::ReasoningDelta { text, .. } => told += text.len(),
        _ => {}
    };
    let before = peak_kib();
    let mut early = before;
    stream.feed_with(kind.front.as_bytes(), &mut tell);
    let mut fed = 0;
    while fed < bytes {
        stream.feed_with(&chunk, &mut tell);
        fed += chunk.len();
        if fed <= bytes / 10 {
            early = peak_kib();
        }
    }
    stream.feed_with(kind.back.as_bytes(), &mut tell);
    stream.finish_with(&mut tell);
    let after = peak_kib();
    // The kernel's count is a little behind at times.
    let (above, growth) = (after.saturating_sub(before), after.saturating_sub(early));
    let is_whole = !kind.is_told || told == fed;
    let is_within = above <= MOST_KIB && (kind.is_limited || growth <= GROWTH_KIB);
    let word = match (is_whole, is_within) {
        (false, _) => "TOO LITTLE TOLD",
        (_, false) => "TOO MUCH MEMORY",
        _ => "ok",
    };
    let line = format!(
        "{:<12} {fed} bytes in, {told} told; {above} KiB above {before}, \
         {growth} of them after the first tenth: {word}",
        kind.name
    );
    // Whoever closed the output does not want to know.
    let _ = writeln!(io::stdout(), "{line}");
    is_whole && is_within
}

/// The most memory that this process has had so far.
fn peak_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
