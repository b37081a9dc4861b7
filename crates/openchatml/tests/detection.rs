//! Detects random documents of each format, alone and as the lines of a file.
//!
//! The documents are generated from the specifications. A document can be correct in several
//! formats: another format is as good if it gives the same conversation. Lists with calls in
//! `openchatml-2.0:json` can be lists of `openai`, which also says that arguments are JSON.

use std::cell::RefCell;

use openchatml::{Document, Format, detect_records, parse};
use openchatml_testkit::cases;
use openchatml_testkit::grammar::{self, GeneratorOptions, Sample};

/// The number of documents of each format.
const DOCUMENTS: usize = 2000;

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

/// Returns the document in a text, without the content types of calls.
fn meaning(text: &str, format: Format) -> Document<'static> {
    let mut document = parse(text, format, &Default::default()).document.into_owned();
    if let Document::Conversation(conversation) = &mut document {
        let calls = conversation.messages.iter_mut().filter(|it| it.is_call());
        calls.for_each(|call| call.content_type = None);
    }
    document
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
                let [one, other] = [format, best.format].map(|it| meaning(text, it));
                one == other
            };
            if best.format != format && !file.iter().all(is_same) {
                wrong.push(best.format.to_string());
            }
        }
        let is_decided = decided * 100 >= DECIDED * all.len() / lines;
        assert!(is_decided || UNDECIDED.contains(&(name, lines)), "{name}: {decided} of {lines}");
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
