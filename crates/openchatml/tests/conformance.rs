//! The conformance suite: the cases in `conformance/`, run against this implementation.
//!
//! The format of cases, and the rules for all of them, are in `conformance/README.md`.

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

use std::collections::BTreeSet;
use std::thread;

use openchatml::dialects;
use openchatml_testkit::external_files;

use self::case::Case;
use self::diff::Failures;

/// Every case of every folder passes. Failures are reported by folder, file and name.
/// `OPENCHATML_CONFORMANCE` can contain the names of cases, with commas between them: only these are
/// tried.
#[test]
fn every_case_holds() {
    let folders = case::folders();
    let failures = thread::scope(|scope| {
        let start = |folder| {
            let thread = thread::Builder::new().name(format!("conformance/{folder}"));
            thread.spawn_scoped(scope, move || failures_of(folder)).expect("a thread")
        };
        // All threads start before the first one is joined.
        let threads: Vec<_> = folders.iter().map(String::as_str).map(start).collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended.collect::<Result<Vec<Failures>, _>>()
    });
    match failures {
        Ok(failures) => Failures::report(failures),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Returns the failures of the cases in one folder.
fn failures_of(folder: &str) -> Failures {
    let mut failures = Failures::default();
    let wanted = std::env::var("OPENCHATML_CONFORMANCE").ok();
    let is_wanted = |case: &&Case| {
        wanted.as_ref().is_none_or(|names| names.split(',').any(|name| name == case.name))
    };
    for case in case::load(folder).iter().filter(is_wanted) {
        failures.begin(case);
        check::case(case, &mut failures);
        invariant::case(case, &mut failures);
    }
    failures
}

/// Every dialect has a folder with cases, and every folder belongs to a dialect.
#[test]
fn every_dialect_has_cases() {
    let folders: BTreeSet<String> = case::folders().into_iter().collect();
    let ids: BTreeSet<String> = dialects::ALL.iter().map(|it| it.id.to_owned()).collect();
    assert_eq!(folders, ids, "the folders of conformance/, and the dialects");
    for folder in &folders {
        assert!(!case::load(folder).is_empty(), "there are no cases in conformance/{folder}");
    }
}

/// Every clause has a case, every case names clauses that exist, and no name is used twice.
#[test]
fn every_clause_has_a_case() {
    let cases: Vec<Case> = case::folders().iter().flat_map(|folder| case::load(folder)).collect();
    clauses::check(&cases);
}

/// Every heading of the specifications has a clause, if `OPENCHATML_SPECS` names their folder or
/// they are next to the repository.
#[test]
fn every_heading_has_a_clause() {
    let what = "the headings of the specifications";
    if let Some(folder) = external_files::folder("OPENCHATML_SPECS", Some("../shared/specs"), what)
    {
        clauses::complete(&folder);
    }
}
