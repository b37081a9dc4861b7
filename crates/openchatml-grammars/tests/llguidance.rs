//! Grammars in Lark, as llguidance reads them: it accepts what our writers write, and nothing else.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod cases;

use std::sync::Arc;

use cases::Case;
use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};
use llguidance::{Matcher, ParserFactory};
use openchatml_grammars::{Language, grammar};
use openchatml_testkit::cases as run;
use openchatml_tokens::{Encoding as _, Token};

/// A tokenizer with an id for each byte and each control token, and one that ends a text.
fn environment(case: &Case) -> TokEnv {
    let encoding = cases::encoding(case.format, &case.options);
    let mut words = Vec::new();
    while let Some(token) = encoding.token(u32::try_from(words.len()).unwrap()) {
        words.push(match token {
            Token::Text(text) => text.as_bytes().to_vec(),
            Token::Bytes(bytes) => bytes.to_vec(),
            Token::Control(spelling) => {
                [&[TokTrie::SPECIAL_TOKEN_MARKER], spelling.as_bytes()].concat()
            }
        });
    }
    words.push([&[TokTrie::SPECIAL_TOKEN_MARKER], b"<|eos|>".as_slice()].concat());
    let count = u32::try_from(words.len()).unwrap();
    let trie = TokTrie::from(&TokRxInfo::new(count, count - 1), &words);
    Arc::new(ApproximateTokEnv::new(trie))
}

struct Engine {
    matcher: Matcher,
}

impl Engine {
    fn new(case: &Case) -> Self {
        let grammar = grammar(case.format, &case.tools, Language::Lark, &case.options).unwrap();
        let mut factory = ParserFactory::new_simple(&environment(case)).unwrap();
        factory.quiet();
        let parser = factory.create_parser(TopLevelGrammar::from_lark(grammar.text.clone()));
        let matcher = Matcher::new(parser);
        assert!(matcher.get_error().is_none(), "{:?}\n{}", matcher.get_error(), grammar.text);
        Self { matcher }
    }

    /// How many ids are accepted, and whether the text may end there.
    fn accepts(&self, ids: &[u32]) -> (usize, bool) {
        let mut matcher = self.matcher.deep_clone();
        let count = matcher.try_consume_tokens(ids).unwrap_or(0);
        (count, count == ids.len() && matcher.is_accepting().unwrap_or(matcher.is_stopped()))
    }
}

fn show(case: &Case, ids: &[u32]) -> String {
    let encoding = cases::encoding(case.format, &case.options);
    let mut bytes = Vec::new();
    for id in ids {
        match encoding.token(*id).unwrap() {
            Token::Text(text) => bytes.extend(text.as_bytes()),
            Token::Bytes(part) => bytes.extend(part),
            Token::Control(spelling) => bytes.extend(format!("⟦{spelling}⟧").bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[track_caller]
fn check(case: &Case) {
    assert_eq!(cases::stops(case, Language::Lark), [], "the engine stops nowhere by itself");
    let engine = Engine::new(case);
    let text = || grammar(case.format, &case.tools, Language::Lark, &case.options).unwrap().text;
    for good in &case.good {
        let (count, ends) = engine.accepts(good);
        let [before, after] = [show(case, &good[..count]), show(case, &good[count..])];
        assert!(ends, "{}: refused after\n{before}\n---\n{after}\n{}", case.format, text());
    }
    for (what, bad) in &case.bad {
        let (_, ends) = engine.accepts(bad);
        assert!(!ends, "{}: {what}, accepted:\n{}\n{}", case.format, show(case, bad), text());
    }
}

#[test]
fn what_a_writer_writes_is_accepted_and_nothing_else() {
    run(1_000, |source| check(&cases::random(source, Language::Lark)));
}

#[test]
fn spelled_tokens_are_escaped_or_stand_in_literal_blocks() {
    cases::spelled().iter().for_each(check);
}

#[test]
fn schemas_are_enforced() {
    for (case, sample) in cases::listed(Language::Lark) {
        check(&case);
        assert!(sample.bad.is_none() || !case.bad.is_empty());
    }
}
