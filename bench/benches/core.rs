//! The core beside what a machine can do at best: `memcpy`, JSON without any chat work.

use std::hint::black_box;

use openchatml::{Conversation, Document, Format, ReadOptions, RenderOptions, parse, render};
use openchatml_bench::clock::{Job, gigabytes, medians, report};
use openchatml_bench::corpus::{Random, corpus, text};

const ROUNDS: usize = 15;

fn format(name: &str) -> Format {
    name.parse().expect("a format")
}

fn texts(conversations: &[Conversation<'static>], format: Format) -> Vec<String> {
    let options = RenderOptions::default();
    let write = |conversation: &Conversation<'static>| {
        render(&conversation.clone().into(), format, &options).expect("the corpus can be written")
    };
    conversations.iter().map(write).collect()
}

fn main() {
    parse_and_render("bodies of about 1 KiB", 1024, 4);
    parse_and_render("bodies of about 20 bytes", 20, 12);
    jsonl();
    streaming();
}

fn parse_and_render(name: &str, bytes: usize, turns: usize) {
    let conversations = corpus(1, 20_000_000, turns, bytes);
    let format = format("openchatml-2.2");
    let texts = texts(&conversations, format);
    let documents: Vec<Document<'_>> = texts
        .iter()
        .map(|text| parse(text, format, &ReadOptions::default()).document)
        .collect();
    let total: usize = texts.iter().map(String::len).sum();
    for (document, conversation) in documents.iter().zip(&conversations) {
        assert_eq!(document.as_conversation(), Some(conversation));
    }
    let all = texts.concat();
    let read = ReadOptions::default();
    let write = RenderOptions::default();
    report(
        &format!("OpenChatML 2.2, {name}"),
        total,
        &mut [
            Job::new("memcpy, fresh memory", || {
                for text in &texts {
                    black_box(text.as_bytes().to_vec());
                }
            }),
            Job::new("memchr `<` (the least that any lexer does)", || {
                black_box(all.bytes().filter(|byte| *byte == b'<').count());
            }),
            Job::new("parse", || {
                for text in &texts {
                    black_box(parse(text, format, &read));
                }
            }),
            Job::new("render", || {
                for document in &documents {
                    black_box(render(document, format, &write).expect("it was read"));
                }
            }),
        ],
        ROUNDS,
    );
}

/// The same JSON in structs without any chat work.
#[derive(serde::Deserialize, serde::Serialize)]
struct PlainConversation<'a> {
    #[serde(borrow)]
    header: PlainHeader<'a>,
    #[serde(borrow)]
    messages: Vec<PlainMessage<'a>>,
}

#[derive(serde::Deserialize, serde::Serialize)]
struct PlainHeader<'a> {
    #[serde(borrow)]
    version: std::borrow::Cow<'a, str>,
}

#[derive(serde::Deserialize, serde::Serialize)]
struct PlainMessage<'a> {
    #[serde(borrow)]
    role: std::borrow::Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    name: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    recipient: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    channel: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    call_id: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    content_type: Option<std::borrow::Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    constrained: Option<bool>,
    #[serde(borrow)]
    content: std::borrow::Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    end: Option<std::borrow::Cow<'a, str>>,
}

fn jsonl() {
    let conversations = corpus(2, 20_000_000, 4, 1024);
    let (json, text) = (format("json"), format("openchatml-2.2"));
    let lines = texts(&conversations, json);
    let total: usize = lines.iter().map(String::len).sum();
    let read = ReadOptions::default();
    let write = RenderOptions::default();
    let convert = |line: &String, from: Format, to: Format| {
        let parsed = parse(line, from, &read);
        assert!(parsed.diagnostics.is_empty());
        openchatml::convert::convert(&parsed.document, to, &write).expect("it was read").output
    };
    assert_eq!(convert(&lines[0], json, json), lines[0]);
    let plain: PlainConversation<'_> = serde_json::from_str(&lines[0]).expect("plain JSON");
    assert_eq!(serde_json::to_string(&plain).expect("plain JSON"), lines[0]);
    report(
        "JSONL, line by line on one core",
        total,
        &mut [
            Job::new("serde_json, plain structs: read and write", || {
                for line in &lines {
                    let plain: PlainConversation<'_> = serde_json::from_str(line).expect("JSON");
                    black_box(serde_json::to_string(&plain).expect("JSON"));
                }
            }),
            Job::new("serde_json, plain structs: read", || {
                for line in &lines {
                    black_box(serde_json::from_str::<PlainConversation<'_>>(line).expect("JSON"));
                }
            }),
            Job::new("parse `json`", || {
                for line in &lines {
                    black_box(parse(line, json, &read));
                }
            }),
            Job::new("convert `json` to `json`", || {
                for line in &lines {
                    black_box(convert(line, json, json));
                }
            }),
            Job::new("convert `json` to `openchatml-2.2`", || {
                for line in &lines {
                    black_box(convert(line, json, text));
                }
            }),
        ],
        ROUNDS,
    );
}

fn streaming() {
    use openchatml::{Keep, Role, Stream};
    let format = format("openchatml-2.2");
    let mut options = ReadOptions::default();
    options.continues = Some(Role::Assistant);
    options.limits.message_bytes = usize::MAX;
    println!("\n## Streaming one message, deltas only\n");
    println!("| message | chunk | ns a byte | ns a chunk | GB/s |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    for size in [1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26] {
        let body = text(&mut Random::new(3), size);
        let whole = format!("<|channel|>final<|message|>{body}<|return|>");
        for chunk in [1, 4, 64, 4096] {
            if size / chunk > 1 << 23 {
                continue;
            }
            let run = || {
                let mut stream = Stream::new(format, &options).expect("text").keep(Keep::Nothing);
                let mut bytes = 0;
                let mut count = |event: openchatml::Event<'_>| {
                    if let openchatml::Event::Delta { text, .. } = event {
                        bytes += text.len();
                    }
                };
                for chunk in whole.as_bytes().chunks(chunk) {
                    stream.feed(chunk, &mut count);
                }
                stream.finish(&mut count);
                assert_eq!(bytes, body.len());
            };
            let repeat = ((1 << 20) / size).max(1);
            let rounds = if size > 1 << 23 { 3 } else { 7 };
            let mut jobs = [Job::new("stream", || (0..repeat).for_each(|_| run()))];
            let time = medians(&mut jobs, rounds)[0] / u32::try_from(repeat).expect("small");
            let nanos = time.as_nanos() as f64;
            println!(
                "| {size} | {chunk} | {:.3} | {:.1} | {:.3} |",
                nanos / whole.len() as f64,
                nanos / whole.len().div_ceil(chunk) as f64,
                gigabytes(whole.len(), time),
            );
        }
    }
}
