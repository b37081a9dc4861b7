//! Mutation tests: each of many small changes of the core must make some test fail.
//!
//! All changes are compiled once, each behind a number that a variable names. A first run of every
//! test records which changes it reaches, so each change is tried only with the tests that reach
//! it. The whole core takes less than two hours on two cores.
//!
//! `cargo xtask mutants` tries all changes, `cargo xtask mutants REVISION` those in lines that
//! differ from a revision. The changes that no test notices are written to
//! `target/mutants/survivors.txt`, and the results so far to `target/mutants/results.txt`, where
//! the next run continues. `xtask/mutants.toml` names the changes that no test needs to notice,
//! with reasons.

mod build;
mod edit;
mod find;
mod reasons;
mod run;

use std::io::Write as _;
use std::path::Path;

/// A change.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// The file, below the source folder of the core.
    file: String,
    /// The line, from 1.
    line: usize,
    /// The function.
    function: String,
    /// What is changed into what.
    change: String,
    /// How many equal changes of this function are before it.
    before: usize,
    /// A hash of the function: results of another version say nothing.
    version: u64,
}

impl Mutant {
    /// Returns the name, which stays the same when code around the function moves.
    fn name(&self) -> String {
        let Self { file, function, change, before, .. } = self;
        match before {
            0 => format!("{file}: {function}: {change}"),
            _ => format!("{file}: {function}: {change} [{}]", before + 1),
        }
    }
}

/// Tries the changes in lines that differ from a revision, or all.
pub(crate) fn try_all(revision: Option<&str>) -> Vec<String> {
    let folder = Path::new("target/mutants");
    let found = build::prepare(folder, revision)
        .and_then(|build| run::run(folder, &build))
        .map_err(|error| format!("mutants: {error}"));
    match found {
        Ok(survivors) => survivors,
        Err(error) => vec![error],
    }
}

/// Says how far it is, if anybody listens.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
