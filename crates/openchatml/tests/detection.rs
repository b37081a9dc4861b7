//! Detects random documents of each format, alone and as the lines of a file.
//!
//! The documents are generated from the specifications. A document can be correct in several
//! formats: another format is as good if it gives the same messages.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::cell::RefCell;

use openchatml::{Format, detect, detect_records, parse};
use openchatml_testkit::cases;
use openchatml_testkit::grammar::{self, GeneratorOptions, Sample};

/// The number of documents of each format.
const DOCUMENTS: usize = 2000;

/// Generates well-formed documents of a format.
fn documents(format: &'static str) -> Vec<String> {
    let texts = RefCell::new(Vec::new());
    cases(DOCUMENTS, |source| {
        let options = GeneratorOptions::well_formed(source);
        texts.borrow_mut().push(Sample::draw(source, &[format], options).text);
    });
    texts.into_inner()
}

/// Whether a text has the same meaning in both formats.
fn is_same(text: &str, one: Format, other: Format) -> bool {
    let [one, other] = [one, other].map(|format| parse(text, format, &Default::default()));
    one.document == other.document
}

#[test]
fn the_detected_format_of_a_document_is_right() {
    for name in grammar::formats() {
        let format: Format = name.parse().unwrap();
        let (mut right, mut same, mut open) = (0, 0, 0);
        for text in documents(name) {
            let found = detect(&text);
            match found.first().filter(|best| best.is_certain()) {
                None => open += 1,
                Some(best) if best.format == format => right += 1,
                Some(best) if is_same(&text, format, best.format) => same += 1,
                Some(best) => {
                    eprintln!("{name}: {} {:?}: {text:?}", best.format, best.evidence);
                }
            }
        }
        eprintln!("{name}: {right} right, {same} the same, {open} open");
    }
}

#[test]
fn the_detected_format_of_many_lines_is_right() {
    for name in grammar::formats() {
        let format: Format = name.parse().unwrap();
        let (mut right, mut same, mut open) = (0, 0, 0);
        for texts in documents(name).chunks(20) {
            let found = detect_records(texts.iter().map(String::as_str));
            match found.first().filter(|best| best.is_certain()) {
                None => open += 1,
                Some(best) if best.format == format => right += 1,
                Some(best) if texts.iter().all(|it| is_same(it, format, best.format)) => same += 1,
                Some(best) => eprintln!("{name}: {} {:?}", best.format, best.evidence),
            }
        }
        eprintln!("lines of {name}: {right} right, {same} the same, {open} open");
    }
}
