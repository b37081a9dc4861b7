//! Reads damaged encoding files, and encodes with those that are still valid.

use openchatml_testkit::ids;
use openchatml_testkit::{Source, mutate, one_in, pick, text};
use openchatml_tokens::{Encoding, HuggingFace, Tiktoken};

/// The original files. The fuzzed input is too short for a whole file.
const FILES: &[&str] = &[
    include_str!("../../crates/openchatml-tokens/tests/encodings/byte_level.json"),
    include_str!("../../crates/openchatml-tokens/tests/encodings/sentencepiece.json"),
    include_str!("../../crates/openchatml-tokens/tests/encodings/unigram.json"),
];
const RANKS: &str = include_str!("../../crates/openchatml-tokens/tests/encodings/ranks.tiktoken");

/// Replacements for JSON values.
const VALUES: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "255",
    "65536",
    "4294967295",
    "4294967296",
    "1e9",
    "\"\"",
    "\"a\"",
    "\"<|end|>\"",
    "\"▁\"",
    "\".*\"",
    "\"(\"",
    "[]",
    "{}",
    "[[]]",
    "[\"a\",\"b\"]",
    "{\"type\":\"NFC\"}",
    "{\"type\":\"ByteLevel\"}",
    "{\"type\":\"Sequence\",\"pretokenizers\":[]}",
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\"},\"behavior\":\"Isolated\",\"invert\":false}",
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"aa\"}",
];

/// Patterns for rank files; some are invalid.
const PATTERNS: &[&str] = &[r"\w+|\s+", r"\s+(?!\S)|\S+|\s+", "", "a*", "^", "(", "."];

/// Reads a damaged encoding file.
pub(crate) fn run(bytes: &[u8]) {
    let source = &mut Source::new(bytes);
    if one_in(source, 4) {
        let rest = bytes.get(1..).unwrap_or_default();
        let _ = HuggingFace::from_json(rest);
        let _ = Tiktoken::from_known(rest);
    } else if one_in(source, 3) {
        let ranks = damaged(source, RANKS);
        let controls = [("<|start|>", 1000), ("<|end|>", source.arbitrary().unwrap_or(1001))];
        if let Ok(read) = Tiktoken::from_ranks(ranks.as_bytes(), pick(source, PATTERNS), controls) {
            ids::encodes(&read, &text::hostile(source));
        }
    } else {
        let file = pick(source, FILES);
        let file = damaged(source, file);
        if let Ok(read) = HuggingFace::from_json(file.as_bytes()) {
            // A normalizer may change text, so its ids may represent other bytes.
            let text = text::hostile(source);
            assert_eq!(read.count(&text), ids::of(&read, &text).len(), "{text:?}");
        }
    }
}

/// Damages a file: replaces a value, or any bytes.
fn damaged(source: &mut Source<'_>, file: &str) -> String {
    let mut file = file.to_owned();
    for _ in 0..source.int_in_range(1..=3).unwrap_or(1) {
        let at = source.int_in_range(0..=file.len()).unwrap_or(0);
        let at = file.floor_char_boundary(at);
        let Some(start) = file[at..].find("\":").map(|found| at + found + 2) else { continue };
        let end = file[start..].find([',', '}', '\n']).map_or(file.len(), |found| start + found);
        file.replace_range(start..end, pick(source, VALUES));
    }
    if one_in(source, 2) { mutate::mutate(source, &file) } else { file }
}
