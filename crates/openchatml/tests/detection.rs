//! Detects random documents of each format, alone and as the lines of a file.
//!
//! The documents are generated from the specifications. A document can be correct in several
//! formats: another format is as good if it gives the same document.

use std::cell::RefCell;

use openchatml::{Format, detect_records, parse};
use openchatml_testkit::cases;
use openchatml_testkit::grammar::{self, GeneratorOptions, Sample};

/// The number of documents of each format.
const DOCUMENTS: usize = 2000;

/// Formats with documents that look like those of another format, and how many of a hundred
/// documents are taken for it. Name the format of such a file.
const LOOK_ALIKES: &[(&str, &str, usize)] = &[
    // Without a header, and with a line break after each message.
    ("harmony", "openchatml-2.2", 2),
    // Lists of messages with calls, but without a key that only one of the formats has.
    ("openchatml-2.0:json", "openai", 12),
    ("openai", "openchatml-2.0:json", 1),
    ("harmony:json", "openchatml-2.2:json", 7),
    ("harmony:json", "json", 1),
    // Lists of messages whose keys are those of OpenAI. Only the names of their roles differ.
    ("sharegpt", "openai", 7),
];

/// Files whose format usually stays undecided, and their number of lines: requests, responses and
/// lists of messages have nothing in common.
const UNDECIDED: &[(&str, usize)] = &[("anthropic", 20)];

/// How many of a hundred files of any other format are at least decided.
const DECIDED: usize = 85;

/// Generates well-formed documents of a format.
fn documents(format: &'static str) -> Vec<String> {
    let texts = RefCell::new(Vec::new());
    cases(DOCUMENTS, |source| {
        let options = GeneratorOptions { hostile: false, ..GeneratorOptions::well_formed(source) };
        texts.borrow_mut().push(Sample::draw(source, &[format], options).text);
    });
    texts.into_inner()
}

/// Detects the format of files of so many lines. No file is taken for one of another format.
fn each_file_is_detected(lines: usize) {
    for name in grammar::formats() {
        let format: Format = name.parse().expect("a format");
        let (mut wrong, mut decided) = (Vec::new(), 0);
        let all = documents(name);
        for file in all.chunks(lines) {
            let found = detect_records(file.iter().map(String::as_str));
            let Some(best) = found.first().filter(|best| best.is_certain()) else { continue };
            decided += 1;
            let is_same = |text: &String| {
                let [one, other] =
                    [format, best.format].map(|it| parse(text, it, &Default::default()));
                one.document == other.document
            };
            if best.format != format && !file.iter().all(is_same) {
                wrong.push(best.format.to_string());
            }
        }
        let is_decided = decided * 100 >= DECIDED * all.len() / lines;
        assert!(is_decided || UNDECIDED.contains(&(name, lines)), "{name}: {decided} of {lines}");
        for (from, to, most) in LOOK_ALIKES {
            let before = wrong.len();
            wrong.retain(|it| *from != name || it != to);
            let taken = (before - wrong.len()) * 100;
            assert!(taken <= most * all.len() / lines, "{taken} of {from} for {to}");
        }
        assert!(wrong.is_empty(), "{name} as {wrong:?}");
    }
}

#[test]
fn documents_are_not_taken_for_those_of_another_format() {
    each_file_is_detected(1);
}

#[test]
fn files_are_not_taken_for_those_of_another_format() {
    each_file_is_detected(20);
}
