//! Benchmarks Apertus: prompts compared with the reference chat template in Jinja, and reading
//! compared with other formats.

mod engines;

use std::hint::black_box;

use openchatml::convert::convert;
use openchatml::{
    Conversation, Document, Format, Message, Parsed, ReadOptions, RenderOptions, Role, parse,
};
use openchatml_bench::clock::{Job, Load, report};
use openchatml_bench::corpus::{converted, corpus, tools};
use openchatml_bench::machine;

use self::engines::{Given, Guarded, Jinja, Python};

/// The template is not part of this repository.
const TEMPLATE: &str = "APERTUS_TEMPLATE";
/// Jinja for Python takes 0.1 s for one round of this size.
const BYTES: usize = 1_000_000;
const ROUNDS: usize = 11;

fn format(name: &str) -> Format {
    name.parse().expect("a format")
}

fn main() {
    machine::describe("cargo bench --bench apertus", &["minijinja", "serde_json"]);
    let template = std::env::var_os(TEMPLATE).map(|path| {
        let source = std::fs::read_to_string(&path).expect("the template can be read");
        (path, source)
    });
    let mut python = match &template {
        Some((path, _)) => Python::start(path),
        None => Err(format!("`{TEMPLATE}` names no template: without it there are no rivals")),
    };
    match &python {
        Ok(python) => println!("{}", python.made_of()),
        Err(why) => println!("- Left out: {why}."),
    }
    let source = template.as_ref().map(|(_, source)| source.as_str());
    for (name, bytes, turns) in [("1 KiB", 1024, 4), ("20 bytes", 20, 12)] {
        let mut conversations = corpus(6, BYTES, turns, bytes);
        for conversation in &mut conversations {
            conversation.tools = tools();
            // The text format has no call ids, and rendering refuses to drop them.
            conversation.messages.iter_mut().for_each(|message| message.call_id = None);
        }
        let title = format!("Prompts of Apertus, bodies of about {name}");
        prompts(&title, &conversations, source, python.as_mut().ok());
    }
    for (name, bytes, turns) in [("1 KiB", 1024, 4), ("20 bytes", 20, 12)] {
        let title = format!("Text of Apertus to messages, bodies of about {name}");
        texts(&title, &corpus(7, BYTES * 20, turns, bytes));
    }
}

fn read<'a>(text: &'a str, format: Format, options: &ReadOptions) -> Parsed<'a> {
    let parsed = parse(text, format, options);
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    parsed
}

/// Benchmarks writing messages JSON as the text of the template.
fn prompts(
    title: &str,
    conversations: &[Conversation<'static>],
    template: Option<&str>,
    python: Option<&mut Python>,
) {
    let (json, text) = (format("apertus:json"), format("apertus"));
    let options = ReadOptions::default();
    let mut prompt = RenderOptions::default();
    prompt.thinking = Some(true);
    let lines = converted(conversations, json, &prompt);
    // The call ids are reported as losses.
    let write =
        |document: &Document<'_>| convert(document, text, &prompt).expect("it has words").output;
    let documents: Vec<Document<'_>> =
        lines.iter().map(|line| read(line, json, &options).document).collect();
    let texts: Vec<String> = documents.iter().map(write).collect();
    for (text_of, conversation) in texts.iter().zip(conversations) {
        agree(text_of, text, conversation);
    }
    let load = Load {
        bytes: texts.iter().map(String::len).sum(),
        messages: conversations.iter().map(|it| it.messages.len()).sum(),
    };
    let engines = template.map(|source| (Jinja::new(source), Guarded::new(source)));
    let given: Vec<Given> = lines.iter().map(|line| Given::read(line)).collect();
    let python = python.map(|python| {
        python.load(&lines);
        PYTHON.iter().for_each(|(_, job)| assert!(python.texts(job) == texts, "{job} differs"));
        std::cell::RefCell::new(python)
    });
    let mut jobs = vec![
        Job::new("**render**", || documents.iter().for_each(|it| drop(black_box(write(it))))),
        Job::new("**parse** messages JSON and **render**", || {
            for line in &lines {
                black_box(write(&parse(line, json, &options).document));
            }
        }),
    ];
    if let Some((jinja, guarded)) = &engines {
        for (it, text) in given.iter().zip(&texts) {
            assert_eq!(jinja.render(&it.context), *text);
            assert_eq!(guarded.render(it), *text);
        }
        jobs.push(Job::new("`minijinja`", || {
            given.iter().for_each(|it| drop(black_box(jinja.render(&it.context))));
        }));
        jobs.push(Job::new("`serde_json` and `minijinja`", || {
            lines.iter().for_each(|line| drop(black_box(jinja.render(&Given::context(line)))));
        }));
        jobs.push(Job::new("`minijinja` in the sandbox of `openchatml-templates`", || {
            given.iter().for_each(|it| drop(black_box(guarded.render(it))));
        }));
    }
    if let Some(python) = &python {
        let time = |job| move || python.borrow_mut().time(job);
        jobs.extend(PYTHON.iter().map(|(name, job)| Job::elsewhere(name, time(*job))));
    }
    report(title, load, &mut jobs, ROUNDS);
}

const PYTHON: &[(&str, &str)] = &[
    ("Jinja for Python", "plain"),
    ("Jinja for Python, sandboxed as `transformers` has it", "sandboxed"),
    ("`json` and Jinja for Python", "json"),
];

/// Returns the content of a message that all formats have.
fn content_of(message: &Message<'_>) -> (Role, Option<String>, String) {
    let recipient = message.recipient.as_deref().map(str::to_owned);
    (message.role, recipient, message.body.text().into_owned())
}

/// Checks that the text has the content of the conversation, apart from additions of the template.
fn agree(text: &str, format: Format, conversation: &Conversation<'_>) {
    let parsed = read(text, format, &ReadOptions::default()).into_conversation();
    let is_here = |message: &&Message<'_>| message.role != Role::Developer;
    let found: Vec<_> = parsed.messages.iter().filter(is_here).map(content_of).collect();
    let wanted: Vec<_> = conversation.messages.iter().map(content_of).collect();
    assert_eq!(found, wanted);
}

/// Benchmarks reading text, compared with the same conversations in other formats.
fn texts(title: &str, conversations: &[Conversation<'static>]) {
    let options = ReadOptions::default();
    let formats = ["apertus", "openchatml-2.2", "harmony"].map(format);
    let all = formats.map(|format| {
        let texts = converted(conversations, format, &RenderOptions::default());
        let mut load = Load::default();
        for (text, conversation) in texts.iter().zip(conversations) {
            agree(text, format, conversation);
            load.bytes += text.len();
            load.messages += read(text, format, &options).into_conversation().messages.len();
        }
        (format, texts, load)
    });
    let options = &options;
    let names = all.each_ref().map(|(format, ..)| format!("**parse** `{format}`"));
    let mut jobs: Vec<Job<'_>> = all
        .iter()
        .zip(&names)
        .map(|((format, texts, load), name)| {
            let run = move || {
                for text in texts {
                    black_box(parse(text, *format, options));
                }
            };
            Job::new(name, run).on(*load)
        })
        .collect();
    report(title, all[0].2, &mut jobs, ROUNDS);
}
