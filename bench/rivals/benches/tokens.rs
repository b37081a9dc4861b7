//! Token ids: encoders beside encoders, and conversations beside the reference.

use std::cell::RefCell;
use std::hint::black_box;
use std::io;
use std::process::{Command, ExitCode};

use openai_harmony::chat::Role as Speaker;
use openchatml::{Conversation, Document, Event, Keep, ReadOptions, Role};
use openchatml_bench::clock::{Job, report_ids};
use openchatml_bench::{machine, sources};
use openchatml_rivals::encoders::{self, Encode, RIVALS};
use openchatml_rivals::harmony::Harmony;
use openchatml_rivals::vocabulary;
use openchatml_tokens::{O200kHarmony, Tokenizer};

const ROUNDS: usize = 7;
/// How much is encoded by the encoders.
const BYTES: usize = 12_000_000;
/// How much of it the reference gets.
const FEW_BYTES: usize = 1_000_000;

fn main() -> io::Result<ExitCode> {
    if std::env::var_os(vocabulary::VARIABLE).is_some() {
        compare_all();
        return Ok(ExitCode::SUCCESS);
    }
    let folder = vocabulary::write()?;
    let mut this = Command::new(std::env::current_exe()?);
    let status = this.env(vocabulary::VARIABLE, folder.path()).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn compare_all() {
    let packages: Vec<_> =
        RIVALS.iter().map(|rival| rival.package).chain(["openai-harmony"]).collect();
    machine::describe("cargo bench --bench tokens", &packages);
    let bodies = sources::bodies(3, BYTES);
    encoders(&bodies);
    let harmony = Harmony::load();
    let ours = Ours::new();
    conversations(&bodies, &ours, &harmony);
    streams(&bodies, &ours, &harmony);
}

/// Text to ids: with caches that have seen the text, and with new ones.
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

/// What `ocml` does with Harmony ids.
struct Ours {
    tokenizer: Tokenizer<O200kHarmony>,
    completion: ReadOptions,
}

impl Ours {
    fn new() -> Self {
        let format = "harmony".parse().expect("a format");
        let tokenizer = Tokenizer::new(format, O200kHarmony::default()).expect("a text format");
        let mut completion = ReadOptions::default();
        completion.continues = Some(Role::Assistant);
        Self { tokenizer, completion }
    }

    fn render(&self, document: &Document<'_>) -> Vec<u32> {
        self.tokenizer.render(document, &Default::default()).expect("Harmony can say it").ids
    }
}

/// Conversations to ids and back.
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

/// One answer, id by id, with what each of them adds.
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
    for length in [1_000, 16_000, 64_000] {
        let ids = &ids_of_text[..length];
        let bytes = length * 4;
        let read = |keep: Keep| {
            let mut stream = ours.tokenizer.stream(&ours.completion).keep(keep);
            let mut said = 0;
            for id in ids {
                stream.feed(std::slice::from_ref(id), |event| {
                    if let Event::Delta { text, .. } = event {
                        said += text.len();
                    }
                });
            }
            stream.finish(|_| ());
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
        report_ids(&format!("An answer of {length} ids, id by id"), bytes, length, jobs, ROUNDS);
    }
}
