//! The conformance suite: the cases in `conformance/`, run against this implementation.
//!
//! What a case says, and what holds for all of them, is in `conformance/README.md`.

#[path = "conformance/case.rs"]
mod case;
#[path = "conformance/check.rs"]
mod check;
#[path = "conformance/clauses.rs"]
mod clauses;
#[path = "conformance/diff.rs"]
mod diff;
#[path = "conformance/invariant.rs"]
mod invariant;
#[path = "conformance/live.rs"]
mod live;
#[path = "conformance/tokens.rs"]
mod tokens;
#[path = "conformance/wire.rs"]
mod wire;

use openchatml_testkit::elsewhere;

use self::case::Case;
use self::diff::Failures;

/// Runs the cases of one folder and reports every one that fails.
fn run(dialect: &str) {
    let mut failures = Failures::default();
    let cases = case::load(dialect);
    assert!(!cases.is_empty(), "no cases in {dialect}");
    for case in &cases {
        failures.begin(case);
        check::case(case, &mut failures);
        invariant::case(case, &mut failures);
    }
    failures.report(cases.len());
}

#[test]
fn openchatml_2_2() {
    run("openchatml-2.2");
}

#[test]
fn openchatml_2_0() {
    run("openchatml-2.0");
}

#[test]
fn openchatml_0_1() {
    run("openchatml-0.1");
}

#[test]
fn chatml() {
    run("chatml");
}

#[test]
fn harmony() {
    run("harmony");
}

#[test]
fn apertus() {
    run("apertus");
}

#[test]
fn im() {
    run("im");
}

#[test]
fn json() {
    run("json");
}

#[test]
fn openai() {
    run("openai");
}

#[test]
fn sharegpt() {
    run("sharegpt");
}

#[test]
fn responses() {
    run("responses");
}

/// Every clause has a case, every case names clauses that exist, and no name is used twice.
#[test]
fn every_clause_has_a_case() {
    let cases: Vec<Case> = case::DIALECTS.iter().flat_map(|dialect| case::load(dialect)).collect();
    clauses::check(&cases);
}

/// Every heading of the specifications has a clause, where `OPENCHATML_SPECS` names their folder or
/// they stand beside the repository.
#[test]
fn every_heading_has_a_clause() {
    let what = "the headings of 5 specifications";
    if let Some(folder) = elsewhere::folder("OPENCHATML_SPECS", Some("../shared/specs"), what) {
        clauses::complete(&folder);
    }
}
