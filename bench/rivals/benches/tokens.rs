//! Benchmarks token ids: encoders compared with other encoders, and conversations compared with the
//! reference.
//!
//! The arguments select benchmarks: `encoders`, `conversations`, `turns`, `streams`, `hostile`,
//! `footprints`. Without arguments, all of them run.

use std::cell::RefCell;
use std::hint::black_box;
use std::io::{self, Read as _, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use openai_harmony::chat::Role as Speaker;
use openchatml::{Conversation, Document, Event, Keep, ReadOptions, Role, TextFormat};
use openchatml_bench::clock::{Job, digits, report_ids};
use openchatml_bench::{machine, sources};
use openchatml_rivals::encoders::{self, Encode, RIVALS};
use openchatml_rivals::harmony::Harmony;
use openchatml_rivals::vocabulary;
use openchatml_tokens::{O200kHarmony, PromptCache, Tokenizer};

const ROUNDS: usize = 7;
/// The size of the text for encoders, in bytes.
const BYTES: usize = 12_000_000;
/// The size of the part for the reference, in bytes.
const FEW_BYTES: usize = 1_000_000;

fn main() -> io::Result<ExitCode> {
    if let Ok(name) = std::env::var("FOOTPRINT") {
        footprint(&name)?;
        return Ok(ExitCode::SUCCESS);
    }
    if std::env::var_os(vocabulary::VARIABLE).is_some() {
        compare_all()?;
        return Ok(ExitCode::SUCCESS);
    }
    let folder = vocabulary::write()?;
    let mut this = Command::new(std::env::current_exe()?);
    this.args(std::env::args().skip(1));
    let status = this.env(vocabulary::VARIABLE, folder.path()).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn compare_all() -> io::Result<()> {
    let packages: Vec<_> =
        RIVALS.iter().map(|rival| rival.package).chain(["openai-harmony"]).collect();
    machine::describe("cargo bench --bench tokens", &packages);
    let wanted: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|it| it == name);
    let bodies = sources::bodies(3, BYTES);
    if is_wanted("encoders") {
        encoders(&bodies);
    }
    let harmony = Harmony::load();
    let ours = Ours::new();
    if is_wanted("conversations") {
        conversations(&bodies, &ours, &harmony);
    }
    if is_wanted("turns") {
        next_turns(&bodies, &ours, &harmony);
    }
    if is_wanted("streams") {
        streams(&bodies, &ours, &harmony);
    }
    if is_wanted("hostile") {
        hostile();
    }
    if is_wanted("footprints") {
        footprints(&bodies)?;
    }
    Ok(())
}

/// Benchmarks encoding with warm and with cold caches.
fn encoders(bodies: &[String]) {
    let bytes = bodies.iter().map(String::len).sum();
    let encode_all = |encode: &Encode| {
        let mut ids = Vec::with_capacity(bytes);
        bodies.iter().for_each(|body| encode(body, &mut ids));
        ids
    };
    let ranks = vocabulary::file();
    let mut makers: Vec<(String, Box<dyn Fn() -> Encode>)> = vec![
        ("**ours**, a cache of 16 MiB".to_owned(), Box::new(|| encoders::ours(16 << 20))),
        ("**ours**, of 256 MiB".to_owned(), Box::new(|| encoders::ours(256 << 20))),
        ("**ours**, of 1 MiB".to_owned(), Box::new(|| encoders::ours(1 << 20))),
    ];
    for rival in RIVALS {
        let ranks = ranks.clone();
        makers.push((rival.name.to_owned(), Box::new(move || (rival.make)(&ranks))));
    }
    let encoders: Vec<Encode> = makers.iter().map(|(_, make)| make()).collect();
    let expected = encode_all(&encoders[0]);
    for ((name, _), encode) in makers.iter().zip(&encoders) {
        assert!(encode_all(encode) == expected, "{name} gives other ids");
    }
    let title = "Text to ids, seen before";
    let mut jobs: Vec<_> = makers
        .iter()
        .zip(&encoders)
        .map(|((name, _), encode)| Job::new(name, || drop(black_box(encode_all(encode)))))
        .collect();
    report_ids(title, bytes, expected.len(), &mut jobs, ROUNDS);
    let title = "Text to ids, at first sight";
    let fresh: Vec<RefCell<Option<Encode>>> = makers.iter().map(|_| RefCell::default()).collect();
    let mut jobs: Vec<_> = makers
        .iter()
        .zip(&fresh)
        .map(|((name, make), fresh)| {
            let run = || {
                black_box(encode_all(fresh.borrow().as_ref().expect("it was prepared")));
            };
            Job::new(name, run).prepare(|| *fresh.borrow_mut() = Some(make()))
        })
        .collect();
    report_ids(title, bytes, expected.len(), &mut jobs, ROUNDS);
}

/// The tokenizers of this project for Harmony.
struct Ours {
    tokenizer: Tokenizer<O200kHarmony>,
    completion: ReadOptions,
}

impl Ours {
    fn new() -> Self {
        let tokenizer = Tokenizer::new(TextFormat::HARMONY, O200kHarmony::default());
        let mut completion = ReadOptions::default();
        completion.continues = Some(Role::Assistant);
        Self { tokenizer, completion }
    }

    fn render(&self, document: &Document<'_>) -> Vec<u32> {
        self.tokenizer.render(document, &Default::default()).expect("Harmony can say it").ids
    }
}

/// Benchmarks writing and reading conversations as ids.
fn conversations(bodies: &[String], ours: &Ours, harmony: &Harmony) {
    let all = sources::conversations(bodies, 4);
    let documents: Vec<Document<'_>> = all.iter().cloned().map(Document::from).collect();
    let theirs: Vec<_> = all.iter().map(|it| Harmony::conversation(it)).collect();
    let ids: Vec<Vec<u32>> = documents.iter().map(|document| ours.render(document)).collect();
    let mut bytes = 0;
    let few = all.iter().take_while(|it| {
        bytes += size(it);
        bytes < FEW_BYTES
    });
    let few = few.count();
    for at in 0..few {
        assert!(ids[at] == harmony.render(&theirs[at]), "the reference gives other ids");
        let read = ours.tokenizer.parse(&ids[at], &ReadOptions::default()).into_conversation();
        assert_eq!(read.messages, all[at].messages);
        assert_eq!(harmony.messages(&ids[at], None).len(), all[at].messages.len());
    }
    let (few_load, load) = (load(&all[..few]), load(&all));
    let count = ids.iter().map(Vec::len).sum();
    let jobs = &mut [
        Job::new("**render**", || {
            documents.iter().for_each(|document| drop(black_box(ours.render(document))));
        }),
        Job::new("`openai-harmony`", || {
            theirs[..few].iter().for_each(|it| drop(black_box(harmony.render(it))));
        })
        .on(few_load),
    ];
    report_ids("Conversations to ids", load.bytes, count, jobs, ROUNDS);
    let jobs = &mut [
        Job::new("**parse**", || {
            for ids in &ids {
                black_box(ours.tokenizer.parse(ids, &ReadOptions::default()));
            }
        }),
        Job::new("`openai-harmony`", || {
            for ids in &ids[..few] {
                black_box(harmony.messages(ids, None));
            }
        })
        .on(few_load),
    ];
    report_ids("Ids to messages", load.bytes, count, jobs, ROUNDS);
}

fn size(conversation: &Conversation<'_>) -> usize {
    conversation.messages.iter().map(|message| message.body.len()).sum()
}

fn load(conversations: &[Conversation<'_>]) -> openchatml_bench::clock::Load {
    let messages = conversations.iter().map(|it| it.messages.len()).sum();
    openchatml_bench::clock::Load { bytes: conversations.iter().map(size).sum(), messages }
}

/// Benchmarks streaming one answer id by id, with the text of each.
fn streams(bodies: &[String], ours: &Ours, harmony: &Harmony) {
    let text: String = bodies.concat();
    let ids_of_text = ours.render(
        &Conversation::from_messages([openchatml::Message::answer(
            &text[..text.floor_char_boundary(400_000)],
        )])
        .into(),
    );
    // Without `<|start|>assistant`.
    let ids_of_text = &ids_of_text[2..];
    // One message that repeats the same words.
    let (opening, few) = (&ids_of_text[..3], &ids_of_text[3..1_000]);
    let repeated: Vec<u32> =
        opening.iter().chain(few.iter().cycle()).copied().take(64_000).collect();
    let lengths = [1_000, 16_000, 64_000].map(|length| (&ids_of_text[..length], ""));
    for (ids, which) in lengths.into_iter().chain([(&repeated[..], ", the first 1000 repeated")]) {
        let length = ids.len();
        let bytes = length * 4;
        let read = |keep: Keep| {
            let mut stream = ours.tokenizer.stream(&ours.completion).keep(keep);
            let mut said = 0;
            for id in ids {
                stream.feed_with(std::slice::from_ref(id), |event| {
                    if let Event::Delta { text, .. } = event {
                        said += text.len();
                    }
                });
            }
            stream.finish_with(|_| ());
            said
        };
        let theirs = || harmony.stream(ids, Speaker::Assistant);
        assert_eq!(read(Keep::Nothing), theirs());
        let repeat = (64_000 / length) as u32;
        let jobs = &mut [
            Job::new("**stream**", || {
                black_box(read(Keep::Nothing));
            })
            .repeat(repeat),
            Job::new("**stream**, with the message at its end", || {
                black_box(read(Keep::Bodies));
            })
            .repeat(repeat),
            Job::new("`openai-harmony`", || {
                black_box(theirs());
            }),
        ];
        report_ids(
            &format!("An answer of {length} ids{which}, id by id"),
            bytes,
            length,
            jobs,
            ROUNDS,
        );
    }
}

/// Benchmarks the fiftieth turn of a conversation after rendering the others.
fn next_turns(bodies: &[String], ours: &Ours, harmony: &Harmony) {
    const TURNS: usize = 50;
    let base = &sources::conversations(bodies, TURNS)[0];
    let new = sources::conversations(&bodies[TURNS * 3..], 1);
    let continued = new.iter().take(100).map(|turn| {
        let mut conversation = base.clone();
        conversation.messages.extend(turn.messages.iter().cloned());
        conversation
    });
    let conversations: Vec<Conversation<'_>> = continued.collect();
    let theirs: Vec<_> = conversations.iter().map(|it| Harmony::conversation(it)).collect();
    let documents: Vec<Document<'_>> = conversations.iter().cloned().map(Into::into).collect();
    let ids: usize = documents.iter().map(|document| ours.render(document).len()).sum();
    let primed = || {
        let mut prompts = PromptCache::new(Ours::new().tokenizer, 16 << 20);
        prompts.render(&base.clone().into(), &Default::default()).expect("Harmony can say it");
        prompts
    };
    let mut prompts = primed();
    for (document, theirs) in documents.iter().zip(&theirs) {
        let rendered = prompts.render(document, &Default::default()).expect("as above");
        assert!(rendered.ids == harmony.render(theirs));
    }
    let prompts = RefCell::new(prompts);
    let load = load(&conversations);
    let few = openchatml_bench::clock::Load { bytes: load.bytes / 10, ..load };
    let jobs = &mut [
        Job::new("**render**, with a prompt cache", || {
            for document in &documents {
                let rendered = prompts.borrow_mut().render(document, &Default::default());
                black_box(rendered.expect("as above"));
            }
        })
        .prepare(|| *prompts.borrow_mut() = primed()),
        Job::new("**render**, without one", || {
            documents.iter().for_each(|document| drop(black_box(ours.render(document))));
        }),
        Job::new("`openai-harmony`", || {
            theirs[..10].iter().for_each(|it| drop(black_box(harmony.render(it))));
        })
        .on(few),
    ];
    let title = format!("The next turn after {TURNS}, of 100 conversations");
    report_ids(&title, load.bytes, ids, jobs, ROUNDS);
}

/// Benchmarks hostile text of several kinds.
fn hostile() {
    const FEW: usize = 20_000;
    const MANY: usize = 1_000_000;
    let parts =
        ["a", " ", "\n", "0", "!", "中", "A", "\t", "ab", "aA", "\u{301}", "a\u{301}", "😀", "e'"];
    let ours = encoders::ours(16 << 20);
    let ranks = vocabulary::file();
    let rivals: Vec<Encode> = RIVALS.iter().map(|rival| (rival.make)(&ranks)).collect();
    let time = |encode: &Encode, part: &str, bytes: usize| {
        let text = part.repeat(bytes / part.len());
        let mut ids = Vec::new();
        let start = Instant::now();
        encode(&text, &mut ids);
        black_box(ids);
        digits(start.elapsed().as_secs_f64() * 1e3)
    };
    println!("\n### Text made to be slow: milliseconds\n");
    print!("| text | **ours**, 1 MB | **ours**, 20 KB |");
    RIVALS.iter().for_each(|rival| print!(" {}, 20 KB |", rival.name));
    println!("\n| --- | ---: | ---: |{}", " ---: |".repeat(rivals.len()));
    for part in parts {
        let shown = part.escape_debug();
        print!("| `{shown}` | {} |", time(&ours, part, MANY));
        // The caches are cold.
        print!(" {} |", time(&encoders::ours(16 << 20), part, FEW));
        rivals.iter().for_each(|rival| print!(" {} |", time(rival, part, FEW)));
        println!();
    }
}

/// Measures the time to the first encoded text, and the memory of a process that encodes its input.
fn footprints(bodies: &[String]) -> io::Result<()> {
    println!("\n### A process that encodes\n");
    let bytes: usize = bodies.iter().map(String::len).sum();
    let megabytes = bytes as f64 / 1e6;
    println!(
        "The time until the first text is encoded; the memory after {megabytes:.0} MB of text, for \
         `openai-harmony` after a twentieth of that.\n"
    );
    println!("| process | ready in ms | resident MB |");
    println!("| --- | ---: | ---: |");
    for name in ["**ours**", "`openai-harmony`"] {
        let mut runs = Vec::new();
        for _ in 0..ROUNDS {
            let mut child = Command::new(std::env::current_exe()?)
                .env("FOOTPRINT", name)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let mut stdin = child.stdin.take().expect("it was asked for");
            let given = if name == "**ours**" { bodies } else { &bodies[..bodies.len() / 20] };
            for body in given {
                stdin.write_all(&(body.len() as u32).to_le_bytes())?;
                stdin.write_all(body.as_bytes())?;
            }
            drop(stdin);
            let output = child.wait_with_output()?;
            let text = String::from_utf8(output.stdout).expect("two numbers");
            let numbers: Vec<f64> =
                text.split_whitespace().map(|it| it.parse().expect("a number")).collect();
            runs.push((numbers[0], numbers[1]));
        }
        runs.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (ready, resident) = runs[runs.len() / 2];
        println!("| {name} | {} | {} |", digits(ready), digits(resident));
    }
    Ok(())
}

/// Measures one of these processes.
fn footprint(name: &str) -> io::Result<()> {
    let start = Instant::now();
    let encode: Encode = match name {
        "**ours**" => encoders::ours(16 << 20),
        _ => {
            let harmony = Harmony::load();
            Box::new(move |text, ids| ids.extend(harmony.tokens(text)))
        }
    };
    let mut ids = Vec::new();
    encode("Hello, world!", &mut ids);
    let ready = start.elapsed();
    let (mut stdin, mut length, mut text) = (io::stdin().lock(), [0; 4], Vec::new());
    while stdin.read_exact(&mut length).is_ok() {
        text.resize(u32::from_le_bytes(length) as usize, 0);
        stdin.read_exact(&mut text)?;
        ids.clear();
        encode(std::str::from_utf8(&text).expect("it is text"), &mut ids);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = resident.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok());
    println!("{} {}", ready.as_secs_f64() * 1e3, kilobytes.unwrap_or(f64::NAN) / 1e3);
    Ok(())
}
