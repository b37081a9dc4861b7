//! All fuzz targets in one program, so that it is built once: `FUZZ_TARGET` says which one runs.
//!
//! `.ci/fuzz NAME` builds the program, writes the seeds of the target, and runs it. The names are
//! in `xtask/src/seeds.rs`.

#![no_main]

mod chat_template;
mod encoding_files;
mod router_schedule;
mod schema;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use openchatml::Format;
use openchatml_testkit::{Source, ids, laws, run};
use openchatml_tokens::O200kHarmony;

static O200K: LazyLock<O200kHarmony> = LazyLock::new(O200kHarmony::default);
static UNCACHED: LazyLock<O200kHarmony> = LazyLock::new(|| O200kHarmony::with_cache(0));

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names what is fuzzed");
    target(&name).unwrap_or_else(|| panic!("there is no target `{name}`"))
});

fuzz_target!(|bytes: &[u8]| match &*TARGET {
    Target::Bytes(run) => run(bytes),
    Target::Text(run) => run(text(bytes)),
    Target::Reader(format) => run::reads(text(bytes), format),
    Target::Choices(run) => run(&mut Source::new(bytes)),
    Target::Laws(group) => laws::holds(group, &mut Source::new(bytes)),
});

/// How a target uses its bytes.
enum Target {
    Bytes(fn(&[u8])),
    /// The valid text at their beginning.
    Text(fn(&str)),
    /// The reader of the format of this name.
    Reader(String),
    /// Random choices.
    Choices(fn(&mut Source<'_>)),
    /// The laws of this group, over documents from the grammars of the specifications.
    Laws(&'static str),
}

fn target(name: &str) -> Option<Target> {
    if let Some(format) = name.strip_prefix("read_") {
        let names = Format::all().map(|format| format.to_string());
        let is_it = |name: &String| name.replace(['-', '.', ':'], "_") == format;
        return names.into_iter().find(is_it).map(Target::Reader);
    }
    if let Some(group) = name.strip_prefix("laws_") {
        return laws::ALL.iter().map(|law| law.group).find(|it| *it == group).map(Target::Laws);
    }
    Some(match name {
        "chat_template" => Target::Bytes(chat_template::run),
        "completion" => Target::Bytes(|bytes| {
            run::completions_stop(&mut Source::new(bytes));
            let source = &mut Source::new(bytes);
            let tokenizer = ids::tokenizer(source, |it, format| ids::pairs_or(it, format, &*O200K));
            ids::completions_stop(source, &tokenizer);
        }),
        "convert" => Target::Choices(run::conversions),
        "encode_o200k" => Target::Text(encodes),
        "encoding_files" => Target::Bytes(encoding_files::run),
        "header" => Target::Text(run::reads_header),
        "ids" => Target::Text(run::keeps_ids),
        "ids_round_trip" => Target::Choices(|source| {
            let tokenizer = ids::tokenizer(source, |it, format| ids::pairs_or(it, format, &*O200K));
            ids::round_trips(source, &tokenizer);
        }),
        "ids_stream" => Target::Choices(|source| {
            let tokenizer = ids::tokenizer(source, |it, format| ids::pairs_or(it, format, &*O200K));
            ids::streams(source, &tokenizer);
        }),
        "round_trip" => Target::Choices(run::round_trips),
        "router_schedule" => Target::Choices(router_schedule::run),
        "schema" => Target::Text(schema::run),
        "sidecar" => Target::Text(run::reads_sidecar),
        "stream" => Target::Bytes(|bytes| {
            run::streams(&mut Source::new(bytes));
            run::writes(&mut Source::new(bytes));
        }),
        "stream_bytes" => Target::Bytes(streams_bytes),
        "visibility" => Target::Choices(run::hides),
        _ => return None,
    })
}

/// Returns the valid text at the beginning of `bytes`.
fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Streams bytes in one format, which the last byte picks: reading an input in all formats takes as
/// long as the time limit.
fn streams_bytes(bytes: &[u8]) {
    let formats = run::text_formats();
    let picked = bytes.last().map_or(0, |last| usize::from(*last) % formats.len());
    run::streams_bytes(bytes, formats[picked]);
}

/// A cache does not change the ids of text.
fn encodes(text: &str) {
    ids::encodes(&*O200K, text);
    ids::encodes(&*UNCACHED, text);
    let [cached, uncached] = [&O200K, &UNCACHED].map(|encoding| ids::of(&**encoding, text));
    assert_eq!(cached, uncached);
}
