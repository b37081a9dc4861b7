//! Writes grammars with completions that they must accept or reject, for engines that are not
//! written in Rust: `cases gbnf|structural-tag COUNT` writes one JSON object per line.

#[path = "../tests/cases/mod.rs"]
mod cases;

use std::cell::RefCell;
use std::io::Write as _;

use openchatml_grammars::{Language, Requirement, grammar};
use openchatml_tokens::{Encoding as _, Token};
use serde_json::{Value, json};

fn main() {
    let mut words = std::env::args().skip(1);
    let language = words.next().and_then(|word| Language::from_word(&word));
    let count = words.next().and_then(|word| word.parse().ok());
    let (Some(language), Some(count)) = (language, count) else {
        panic!("usage: cases gbnf|structural-tag COUNT");
    };
    let lines = RefCell::new(Vec::new());
    for (case, _) in cases::listed(language) {
        lines.borrow_mut().push(line(&case, language));
    }
    for case in cases::spelled() {
        lines.borrow_mut().push(line(&case, language));
    }
    openchatml_testkit::cases(count, |source| {
        lines.borrow_mut().push(line(&cases::random(source, language), language));
    });
    let mut out = std::io::stdout().lock();
    for line in lines.into_inner() {
        writeln!(out, "{line}").expect("somebody reads it");
    }
}

fn line(case: &cases::Case, language: Language) -> Value {
    let grammar = grammar(case.format, &case.tools, language, &case.options);
    let grammar = grammar.expect("there is one");
    // Unenforced requirements are not tested.
    let is_loose =
        grammar.unenforced.iter().any(|it| matches!(it.requirement, Requirement::Keyword(_)));
    let encoding = cases::encoding(case.format, &case.options);
    let tokens = (256..).map_while(|id| match encoding.token(id)? {
        Token::Control(spelling) => Some(spelling),
        Token::Text(_) | Token::Bytes(_) => None,
    });
    let controls = case.format.dialect().controls;
    let stops = cases::stops(case, language).into_iter();
    let bad = case.bad.iter().filter(|(what, _)| !is_loose || *what != cases::AGAINST_SCHEMA);
    let bad: Vec<_> = bad.map(|(what, ids)| json!({"what": what, "ids": ids})).collect();
    json!({
        "format": case.format.to_string(),
        "grammar": grammar.text,
        // The tokens with ids from 256; smaller ids are bytes.
        "tokens": tokens.collect::<Vec<_>>(),
        "stops": stops.filter_map(|stop| controls.spelling(stop)).collect::<Vec<_>>(),
        "good": case.good,
        "bad": bad,
    })
}
