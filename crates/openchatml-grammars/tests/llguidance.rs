//! Grammars in Lark, as llguidance reads them: they accept what the writers of this project write,
//! and nothing else.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod cases;

use std::cell::Cell;
use std::sync::Arc;

use cases::Case;
use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};
use llguidance::{Matcher, ParserFactory};
use openchatml_grammars::{Language, grammar};
use openchatml_testkit::cases as run;
use openchatml_tokens::{Encoding, O200kHarmony, Token};

/// Parsers of the engine for an encoding, and its id for the end of a text.
fn factory(encoding: &impl Encoding) -> ParserFactory {
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
    let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
    let mut factory = ParserFactory::new_simple(&environment).unwrap();
    factory.quiet();
    factory
}

struct Engine {
    matcher: Matcher,
}

impl Engine {
    /// An engine for ids of [`cases::encoding`].
    fn new(case: &Case) -> Self {
        Self::of(case, &factory(&cases::encoding(case.format, &case.options)))
    }

    fn of(case: &Case, factory: &ParserFactory) -> Self {
        let grammar = grammar(case.format, &case.tools, Language::Lark, &case.options).unwrap();
        let parser = factory.create_parser(TopLevelGrammar::from_lark(grammar.text.clone()));
        let matcher = Matcher::new(parser);
        assert!(matcher.get_error().is_none(), "{:?}\n{}", matcher.get_error(), grammar.text);
        Self { matcher }
    }

    /// The number of accepted ids, and whether the text may end there.
    fn accepts(&self, ids: &[u32]) -> (usize, bool) {
        let mut matcher = self.matcher.deep_clone();
        let count = matcher.try_consume_tokens(ids).unwrap_or(0);
        (count, count == ids.len() && matcher.is_accepting().unwrap_or(matcher.is_stopped()))
    }
}

fn show(case: &Case, ids: &[u32]) -> String {
    text_of(&cases::encoding(case.format, &case.options), ids)
}

fn text_of(encoding: &impl Encoding, ids: &[u32]) -> String {
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
fn grammars_accept_exactly_the_output_of_writers() {
    run(1_000, |source| check(&cases::random(source, Language::Lark)));
}

#[test]
fn spelled_tokens_are_escaped_or_inside_literal_blocks() {
    cases::spelled().iter().for_each(check);
}

#[test]
fn schemas_are_enforced() {
    for (case, sample) in cases::listed(Language::Lark) {
        check(&case);
        assert!(sample.bad.is_none() || !case.bad.is_empty());
    }
}

/// The vocabulary of gpt-oss, whose tokens are long and may cross the boundaries of a grammar.
#[test]
fn grammars_accept_model_ids_like_byte_ids() {
    let o200k = O200kHarmony::default();
    let factory = factory(&o200k);
    let (good, bad) = (Cell::new(0), Cell::new(0));
    run(300, |source| {
        let case = cases::random(source, Language::Lark);
        let spelled = &case.options.spelled;
        let mut controls = case.format.dialect().controls.entries().iter();
        if !controls.all(|it| spelled.contains(&it.0) == o200k.control(it.1).is_none()) {
            return;
        }
        let engine = Engine::of(&case, &factory);
        for ids in &case.good {
            let Some(ids) = of_model(&case, ids, &o200k) else { continue };
            assert!(engine.accepts(&ids).1, "refused: {:?}", text_of(&o200k, &ids));
            good.set(good.get() + 1);
        }
        for (what, ids) in &case.bad {
            let Some(ids) = of_model(&case, ids, &o200k) else { continue };
            assert!(!engine.accepts(&ids).1, "{what}, accepted: {:?}", text_of(&o200k, &ids));
            bad.set(bad.get() + 1);
        }
    });
    assert!(good.get() > 50 && bad.get() > 50, "{good:?} good and {bad:?} bad");
}

/// The model's ids for the text of these byte ids, if it is UTF-8.
fn of_model(case: &Case, ids: &[u32], model: &O200kHarmony) -> Option<Vec<u32>> {
    let encoding = cases::encoding(case.format, &case.options);
    let (mut of_model, mut text) = (Vec::new(), Vec::new());
    for id in ids {
        match encoding.token(*id)? {
            Token::Text(more) => text.extend(more.as_bytes()),
            Token::Bytes(bytes) => text.extend(bytes),
            Token::Control(spelling) => {
                model.encode(std::str::from_utf8(&text).ok()?, &mut of_model);
                text.clear();
                of_model.push(model.control(spelling)?);
            }
        }
    }
    model.encode(std::str::from_utf8(&text).ok()?, &mut of_model);
    Some(of_model)
}
