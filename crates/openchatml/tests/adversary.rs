//! Runs the laws with documents from the grammars of the specifications, which are independent of
//! the readers and writers of the library.
//!
//! `OPENCHATML_CASES` is the number of documents, `OPENCHATML_SEED` the first seed. Each kind of
//! failure is printed once with a small text. `OPENCHATML_FORMATS=harmony,openai` selects formats.

use openchatml_testkit::{grammar, laws, seeds};

/// The number of documents for a law, over all formats.
const CASES: u64 = 50_000;

fn holds(name: &str) {
    let law = laws::Law::named(name).expect("a law");
    let wanted = std::env::var("OPENCHATML_FORMATS").ok();
    let is_wanted = |format: &&str| match &wanted {
        Some(wanted) => wanted.split(',').any(|it| it == *format),
        None => true,
    };
    let formats: Vec<_> = grammar::formats().filter(is_wanted).collect();
    let findings = laws::survey(law, seeds(CASES), &formats);
    let broken: usize = findings.iter().map(|finding| finding.count).sum();
    let told: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{broken} documents break it:\n{}", told.join("\n"));
}

macro_rules! laws {
    ($($name:ident)*) => {
        $(#[test] fn $name() { holds(stringify!($name)); })*

        #[test]
        fn every_law_has_a_test() {
            let mut tested = [$(stringify!($name),)*];
            let mut laws: Vec<_> = laws::ALL.iter().map(|law| law.name).collect();
            tested.sort_unstable();
            laws.sort_unstable();
            assert_eq!(tested.as_slice(), laws);
        }
    };
}

laws! {
    detected nocrash meaning violations chunks strict roundtrip identity fmt leak hidden secret completion fix
    consent pairs tools
}
