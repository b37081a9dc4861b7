//! Completions that the parsers of inference servers turn into errors, empty messages or calls that
//! the model did not make, and how the same ids are read here: `engines/cases.jsonl` and
//! `docs/engines.md`.
//!
//! The answers were recorded from the real servers with a model that produces these completions.

use openchatml::{Document, Format, Policy, ReadOptions, RenderOptions, Role, TextFormat, render};
use openchatml_testkit::conversion::is_made;
use openchatml_testkit::markdown;
use openchatml_tokens::{O200kHarmony, ParsedIds, Tokenizer};
use serde_json::Value;

fn cases() -> Vec<Value> {
    let text = include_str!("engines/cases.jsonl");
    text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect()
}

fn read(case: &Value) -> ParsedIds {
    let tokenizer = Tokenizer::new(TextFormat::HARMONY, O200kHarmony::default());
    let ids: Vec<u32> = serde_json::from_value(case["ids"].clone()).expect("ids");
    let mut options = ReadOptions::default();
    options.continues = Some(Role::Assistant);
    tokenizer.parse(&ids, &options)
}

/// The messages, as canonical JSON has them.
fn messages(document: &Document<'_>) -> Value {
    let text =
        render(document, Format::JSON, &RenderOptions::default()).expect("it can be written");
    let mut written: Value = serde_json::from_str(&text).expect("JSON");
    written["messages"].take()
}

#[test]
fn completions_lose_nothing_and_gain_no_call() {
    for case in cases() {
        let what = case["what"].as_str().expect("words");
        let read = read(&case);
        assert_eq!(messages(read.document()), case["messages"], "{what}");
        let found = read.diagnostics().iter();
        let found: Vec<_> = found
            .map(|it| format!("{}[{}]: {}", it.severity.as_str(), it.code, it.message))
            .collect();
        assert_eq!(serde_json::to_value(&found).expect("JSON"), case["findings"], "{what}");
    }
}

#[test]
fn the_page_shows_the_results_of_servers() {
    let path = markdown::docs().join("engines.md");
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    let (before, _) = stored.split_once(BEGIN).expect("the page has a place for them");
    let mut page = format!("{before}{BEGIN}\n");
    for (number, case) in cases().iter().enumerate() {
        page.push_str(&section(number + 1, case));
    }
    markdown::keep(&path, &page);
}

/// The text after this line is written by the test.
const BEGIN: &str = "<!-- What follows is made of the cases: UPDATE_DOCS=1 writes it. -->\n";

fn section(number: usize, case: &Value) -> String {
    let words = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
    let read = read(case);
    let conversation = read.document().as_conversation().expect("a conversation").clone();
    let made = conversation.messages.iter().filter(|it| is_made(it)).count();
    let seen: Vec<_> =
        Policy::default().view(&conversation).messages().map(|it| it.text().to_owned()).collect();
    let quoted = |text: &str| serde_json::to_string(text).expect("a string");
    let seen: Vec<_> = seen.iter().map(|text| quoted(text)).collect();
    let found = read.diagnostics().iter().map(|it| format!("- {it}\n")).collect::<String>();
    let answer = &case["answer"];
    let answer = match answer["error"].as_str() {
        Some(error) => format!("HTTP {}: {error}", answer["status"]),
        None => format!(
            "`finish_reason` `{}`: {}",
            answer["finish_reason"].as_str().unwrap_or_default(),
            answer["message"]
        ),
    };
    format!(
        "\n## {number}. {}\n\nThe completion:\n\n```harmony\n{}\n```\n\n{} ({}, {} tool in the request) answers:\n\n```text\n{answer}\n```\n\n\
        Read by this project: {}, {} that may be made; a user sees {}.\n{}{found}",
        words("what"),
        read.text(),
        words("server"),
        words("asked"),
        if case["tools"] == true { "with a" } else { "no" },
        count(conversation.messages.len(), "message"),
        count(made, "call"),
        if seen.is_empty() { "nothing".to_owned() } else { seen.join(", ") },
        if found.is_empty() { "" } else { "\n" },
    )
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
