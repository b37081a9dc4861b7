//! Checks hostile input: the cost of a byte must not grow with the length of the input.

use std::hint::black_box;
use std::time::{Duration, Instant};

use openchatml::{
    Format, Keep, Lines, ReadOptions, RenderOptions, Stream, apply_fixes, convert, detect, history,
    parse, render,
};
use openchatml_templates::ResponseTemplate;

/// A name, a format, the text before, the repeated text, and the text after.
type Family = (&'static str, &'static str, &'static str, fn(usize) -> String, &'static str);

const FAMILIES: &[Family] = &[
    ("runs of `<`", "openchatml-2.2", "<|start|>user<|message|>", |_| "<".into(), "<|end|>"),
    ("almost tokens", "openchatml-2.2", "<|start|>user<|message|>", |_| "<|end|".into(), "<|end|>"),
    ("escapes", "openchatml-2.2", "<|start|>user<|message|>", |_| "<<|end|>".into(), "<|end|>"),
    (
        "literal blocks",
        "openchatml-2.2",
        "<|start|>user<|message|>",
        |_| "<|literal|>x<|endliteral|>".into(),
        "<|end|>",
    ),
    (
        "unclosed blocks",
        "openchatml-2.2",
        "<|start|>user<|message|><|literal|>",
        |_| "<|endlitera".into(),
        "",
    ),
    ("starts", "openchatml-2.2", "", |_| "<|start|>".into(), ""),
    ("ends", "openchatml-2.2", "", |_| "<|end|>".into(), ""),
    ("channels", "openchatml-2.2", "", |_| "<|channel|>".into(), ""),
    ("stray text", "openchatml-2.2", "", |_| "stray <|end|>\n".into(), ""),
    ("space", "openchatml-2.2", "<|start|>user<|message|>Hi<|end|>", |_| "\n".into(), ""),
    (
        "header words",
        "openchatml-2.2",
        "<|start|>user ",
        |_| "word ".into(),
        "<|message|>Hi<|end|>",
    ),
    (
        "attributes",
        "openchatml-2.2",
        "<|start|>user ",
        |_| "name=a ".into(),
        "<|message|>Hi<|end|>",
    ),
    (
        "markers",
        "openchatml-2.2",
        "<|start|>assistant<|channel|>analysis<|message|>",
        |_| "<|start_reason|>a".into(),
        "<|end|>",
    ),
    (
        "markers in answers",
        "openchatml-2.2",
        "<|start|>assistant<|channel|>final<|message|>",
        |_| "<|start_reason|>a".into(),
        "<|end|>",
    ),
    (
        "calls never answered",
        "openchatml-2.2",
        "",
        |n| {
            format!(
                "<|start|>assistant to=functions.f call_id=c{n}<|channel|>commentary<|message|>{{}}<|call|>\n"
            )
        },
        "",
    ),
    (
        "the same call",
        "openchatml-2.2",
        "",
        |_| {
            "<|start|>assistant to=functions.f call_id=c<|channel|>commentary<|message|>{}<|call|>\n".into()
        },
        "",
    ),
    (
        "replies to nothing",
        "openchatml-2.2",
        "",
        |n| {
            format!(
                "<|start|>tool name=f call_id=c{n} to=assistant<|channel|>commentary<|message|>{{}}<|end|>\n"
            )
        },
        "",
    ),
    (
        "calls without ids",
        "openchatml-2.0",
        "",
        |_| {
            "<|start|>assistant to=functions.f<|channel|>commentary<|message|>{}<|call|>\n<|start|>functions.f to=assistant<|channel|>commentary<|message|>{}<|end|>\n".into()
        },
        "",
    ),
    (
        "header lines",
        "openchatml-2.2",
        "version: 2.2\n",
        |n| format!("k{n}: v\n"),
        "\n<|start|>user<|message|>Hi<|end|>\n",
    ),
    (
        "header depth",
        "openchatml-2.2",
        "version: 2.2\nk: ",
        |_| "[".into(),
        "\n<|start|>user<|message|>Hi<|end|>\n",
    ),
    ("lines without a header", "openchatml-2.2", "", |_| "no header\n".into(), ""),
    (
        "JSON depth",
        "openchatml-2.2",
        "<|start|>assistant to=functions.f call_id=a<|channel|>commentary<|constrain|>json<|message|>",
        |_| "[".into(),
        "<|call|>",
    ),
    (
        "JSON keys",
        "openchatml-2.2",
        "<|start|>assistant to=functions.f call_id=a<|channel|>commentary<|constrain|>json<|message|>{\"a\":1",
        |n| format!(",\"k{n}\":1"),
        "}<|call|>",
    ),
    (
        "JSON same keys",
        "openchatml-2.2",
        "<|start|>assistant to=functions.f call_id=a<|channel|>commentary<|constrain|>json<|message|>{\"a\":1",
        |_| ",\"k\":1".into(),
        "}<|call|>",
    ),
    (
        "JSON escapes",
        "openchatml-2.2",
        "<|start|>assistant to=functions.f call_id=a<|channel|>commentary<|constrain|>json<|message|>\"",
        |_| "\\u00e9".into(),
        "\"<|call|>",
    ),
    ("turns", "chatml", "", |_| "<|im_start|>user\nHi<|im_end|>\n".into(), ""),
    ("turns without ends", "chatml", "", |_| "<|im_start|>user\nHi\n".into(), ""),
    ("ends of turns", "chatml", "", |_| "<|im_end|>\n".into(), ""),
    (
        "line breaks in turns",
        "openchatml-0.1",
        "<s>\n<|im_start|>user\n",
        |_| "\n".into(),
        "<|im_end|>\n</s>",
    ),
    ("files", "openchatml-0.1", "", |_| "a<|file_separator|>".into(), ""),
    (
        "infill tokens",
        "openchatml-0.1",
        "",
        |_| "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>c".into(),
        "",
    ),
    ("slips", "chatml-wire:text", "", |_| "<|start|>Assistant<|end_message|>Hi<|end_message|>".into(), ""),
    (
        "wire tokens",
        "chatml-wire",
        "[\"\"",
        |_| {
            ",{\"token\":\"<|start|>\"},\"user\",{\"token\":\"<|message|>\"},\"a\",{\"token\":\"<|end_message|>\"}".into()
        },
        "]",
    ),
    (
        "canonical messages",
        "json",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}",
        |_| ",{\"role\":\"user\",\"content\":\"a\"}".into(),
        "]}",
    ),
    (
        "wrong bodies",
        "openchatml-2.2:json",
        "[null",
        |_| {
            ",{\"role\":\"user\",\"content_type\":\"json\",\"constrained\":true,\"content\":\"x\"}"
                .into()
        },
        "]",
    ),
    (
        "unknown roles",
        "openchatml-2.0:json",
        "[null",
        |n| format!(",{{\"role\":\"r{n}\",\"content\":\"x\"}}"),
        "]",
    ),
    ("canonical depth", "json", "{\"messages\":", |_| "[".into(), ""),
    ("canonical keys", "json", "{\"messages\":[]", |n| format!(",\"k{n}\":1"), "}"),
    (
        "segments",
        "json",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"}",
        |_| ",{\"type\":\"text\",\"text\":\"a<\"}".into(),
        "]}]}",
    ),
];

/// A response template, and the repeated texts that it is tried with.
const RESPONSE_TEMPLATE: &str = r#"{"fields": {
    "thinking": {"open": "<think>", "close": "</think>"},
    "mood": {"open_pattern": "<(?P<name>a+)>", "close_pattern": "</a+>"},
    "tool_calls": {
        "open": "<tool_call>", "close": "</tool_call>", "repeats": true, "content": "json",
        "transform": {"type": "function", "function": "{content}"}
    },
    "content": {"close": "<|end|>"}
}}"#;

const RESPONSES: &[(&str, &str)] = &[
    ("runs of `<`", "<"),
    ("almost anchors", "<think"),
    ("empty reasoning", "<think></think>"),
    ("calls without ends", "<tool_call>"),
    ("calls", "<tool_call>{\"name\": \"f\"}</tool_call>"),
    ("long matches", "<aaaa"),
    ("line breaks", "\n"),
    ("characters of two bytes", "é<"),
];

/// The lengths of the inputs.
const SIZES: [usize; 2] = [1 << 14, 1 << 18];

/// The allowed ratio for effects of caches and memory. A cost that grows linearly with the length
/// gives about 16.
const MOST: f64 = 8.0;

fn main() {
    println!("\n## Input made to be slow: 16 KiB and 256 KiB of it\n");
    println!("{} families. Shown are the rows with the largest ratios.\n", FAMILIES.len() + RESPONSES.len());
    println!("| input | job | ns a byte, 16 KiB | ns a byte, 256 KiB | ratio |");
    println!("| --- | --- | ---: | ---: | ---: |");
    let mut rows = Vec::new();
    for family in FAMILIES {
        let texts = SIZES.map(|bytes| input(family, bytes));
        let format: Format = family.1.parse().expect("a format");
        for (job, run) in jobs(format) {
            let [small, large] = [(&texts[0], 8), (&texts[1], 1)]
                .map(|(text, rounds)| nanos(&run, text, rounds) / text.len() as f64);
            rows.push((large / small, family.0, job, small, large));
        }
    }
    let template = ResponseTemplate::from_json(RESPONSE_TEMPLATE).expect("a response template");
    let read: Run = Box::new(move |text| {
        drop(black_box(template.read(None, text, &ReadOptions::default())));
    });
    for (name, unit) in RESPONSES {
        let [small, large] = [(SIZES[0], 8), (SIZES[1], 1)].map(|(bytes, rounds)| {
            let text = unit.repeat(bytes / unit.len());
            nanos(&read, &text, rounds) / text.len() as f64
        });
        rows.push((large / small, name, "response template", small, large));
    }
    rows.sort_by(|one, two| two.0.total_cmp(&one.0));
    for (ratio, family, job, small, large) in rows.iter().take(12) {
        println!("| {family} | {job} | {small:.2} | {large:.2} | {ratio:.1} |");
    }
    let worst = rows.first().map_or(0.0, |row| row.0);
    assert!(worst < MOST, "the cost of a byte grows with the length of the input");
}

fn input((_, _, before, unit, after): &Family, bytes: usize) -> String {
    let mut text = (*before).to_owned();
    let mut number = 0;
    while text.len() < bytes {
        text.push_str(&unit(number));
        number += 1;
    }
    text.push_str(after);
    text
}

/// Without limits, which would stop most of these inputs early.
fn unlimited() -> ReadOptions {
    let mut options = ReadOptions::default();
    let limits = &mut options.limits;
    let unlimited = [
        &mut limits.messages,
        &mut limits.message_bytes,
        &mut limits.header_bytes,
        &mut limits.attributes,
        &mut limits.diagnostics,
    ];
    unlimited.into_iter().for_each(|limit| *limit = usize::MAX);
    options.limits.json_depth = 10_000;
    options
}

type Run = Box<dyn Fn(&str)>;

fn jobs(format: Format) -> Vec<(&'static str, Run)> {
    let read = unlimited();
    let write = RenderOptions::default();
    let document = move |text: &str, then: &dyn Fn(&openchatml::Document<'_>)| {
        then(&parse(text, format, &read).document);
    };
    let to = |name: &str| name.parse::<Format>().expect("a format");
    let convert_to = |target: Format| -> Run {
        let (document, write) = (document.clone(), write.clone());
        Box::new(move |text| {
            document(text, &|it| drop(black_box(convert::convert(it, target, &write))));
        })
    };
    let mut jobs: Vec<(&'static str, Run)> = vec![
        ("convert to json", convert_to(to("json"))),
        ("convert to chatml", convert_to(to("chatml"))),
        ("convert to openchatml-2.2", convert_to(to("openchatml-2.2"))),
    ];
    let limited = ReadOptions::default();
    jobs.push(("parse", Box::new(move |text| drop(black_box(parse(text, format, &limited))))));
    let whole = document.clone();
    jobs.push((
        "parse, no limits",
        Box::new(move |text| {
            whole(text, &|it| {
                black_box(it);
            })
        }),
    ));
    let whole = document.clone();
    jobs.push((
        "render",
        Box::new(move |text| {
            whole(text, &|it| drop(black_box(render(it, format, &write))));
        }),
    ));
    jobs.push((
        "next prompt",
        Box::new(move |text| {
            document(text, &|it| {
                black_box(it.as_conversation().map(history::next_prompt));
            });
        }),
    ));
    jobs.push(("detect", Box::new(|text| drop(black_box(detect(text))))));
    jobs.push(("fix", Box::new(move |text| fix(text, format))));
    jobs.push(("lines and columns", Box::new(move |text| locate(text, format))));
    if format.text().is_ok() {
        jobs.push(("stream in chunks of 7 bytes", Box::new(move |text| stream(text, format))));
    }
    jobs
}

fn fix(text: &str, format: Format) {
    let found = parse(text, format, &unlimited()).diagnostics;
    let fixes: Vec<_> = found.into_iter().filter_map(|found| found.fix).collect();
    drop(black_box(apply_fixes(text, &fixes)));
}

fn locate(text: &str, format: Format) {
    let lines = Lines::new(text);
    for found in parse(text, format, &unlimited()).diagnostics {
        black_box([found.span.start, found.span.end].map(|at| lines.locate(at)));
    }
}

fn stream(text: &str, format: Format) {
    let format = format.text().expect("a text format");
    let mut stream = Stream::new(format, &unlimited()).keep(Keep::Nothing);
    for chunk in text.as_bytes().chunks(7) {
        stream.feed_with(chunk, |event| {
            black_box(&event);
        });
    }
    stream.finish_with(|event| {
        black_box(&event);
    });
}

/// Returns the shortest of several runs, in nanoseconds.
fn nanos(run: &Run, text: &str, rounds: u32) -> f64 {
    let time = |_| {
        let start = Instant::now();
        (0..rounds).for_each(|_| run(text));
        start.elapsed() / rounds
    };
    (0..2).map(time).min().unwrap_or(Duration::ZERO).as_nanos() as f64
}
