//! The list of clauses, and whether each of them has a case.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::case::{Case, root};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    clause: Vec<Clause>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clause {
    id: String,
    says: String,
    /// Why no transcript can show it.
    beyond: Option<String>,
}

/// Every clause has a case, every case names clauses that exist, and no name is used twice.
pub(crate) fn check(cases: &[Case]) {
    let text = std::fs::read_to_string(root().join("clauses.toml")).expect("a list of clauses");
    let file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("clauses: {error}"));
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut names = BTreeSet::new();
    let known: BTreeSet<&str> = file.clause.iter().map(|clause| clause.id.as_str()).collect();
    if known.len() != file.clause.len() {
        wrong.push("a clause is listed twice".to_owned());
    }
    for case in cases {
        if !names.insert(case.name.as_str()) {
            wrong.push(format!("{}: the name {} is used twice", case.place, case.name));
        }
        for clause in &case.clause {
            *named.entry(clause).or_default() += 1;
            if !known.contains(clause.as_str()) {
                wrong.push(format!("{}: {} names no clause: {clause}", case.place, case.name));
            }
        }
    }
    for Clause { id, says, beyond } in &file.clause {
        match (named.get(id.as_str()), beyond) {
            (None, None) => wrong.push(format!("no case for {id}: {says}")),
            (Some(_), Some(_)) => wrong.push(format!("{id} is beyond transcripts, and has a case")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
