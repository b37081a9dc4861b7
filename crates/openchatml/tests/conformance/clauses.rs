//! The list of clauses, and whether each of them has a case.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use openchatml_testkit::markdown;
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
    /// The headings of its specification that it is under, where these have no numbers.
    #[serde(default)]
    sections: Vec<String>,
}

/// Every clause has a case, every case names clauses that exist, and no name is used twice.
pub(crate) fn check(cases: &[Case]) {
    let clauses = load();
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut names = BTreeSet::new();
    let known: BTreeSet<&str> = clauses.iter().map(|clause| clause.id.as_str()).collect();
    if known.len() != clauses.len() {
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
    for Clause { id, says, beyond, .. } in &clauses {
        match (named.get(id.as_str()), beyond) {
            (None, None) => wrong.push(format!("no case for {id}: {says}")),
            (Some(_), Some(_)) => wrong.push(format!("{id} is beyond transcripts, and has a case")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn load() -> Vec<Clause> {
    let text = std::fs::read_to_string(root().join("clauses.toml")).expect("a list of clauses");
    let file: File = toml::from_str(&text).unwrap_or_else(|error| panic!("clauses: {error}"));
    file.clause
}

/// The specifications, and what the ids of their clauses begin with.
const SPECIFICATIONS: &[(&str, &str)] = &[
    ("openchatml-2.2.md", "2.2"),
    ("openchatml-2.0.md", "2.0"),
    ("openchatml-0.1.md", "0.1"),
    ("chatml.md", "chatml"),
    ("apertus.md", "apertus"),
];

/// Every heading of the specifications in `folder` has a clause, and every heading that a clause
/// names is there. Headings without a clause of their own have clauses below them.
pub(crate) fn complete(folder: &Path) {
    let clauses = load();
    let mut wrong = Vec::new();
    for (file, of) in SPECIFICATIONS {
        let text = std::fs::read_to_string(folder.join(file)).expect("a specification");
        let headings: Vec<_> = markdown::lines(&text).filter(|line| line.level > 1).collect();
        let named = |title: &str| {
            clauses.iter().any(|clause| {
                clause.id.starts_with(of) && clause.sections.iter().any(|it| it == title)
            })
        };
        for heading in &headings {
            let title = heading.text[heading.level..].trim();
            let number = title.split([' ', '\u{a0}']).next().unwrap_or_default();
            let is_numbered = of.starts_with(|c: char| c.is_ascii_digit());
            let found = match is_numbered {
                true => {
                    let id = format!("{of} §{}", number.trim_end_matches('.'));
                    let follows = |clause: &Clause| {
                        let rest = clause.id.strip_prefix(&id)?;
                        Some(!rest.starts_with(|c: char| c.is_ascii_digit()))
                    };
                    clauses.iter().any(|clause| follows(clause) == Some(true))
                }
                false => named(title),
            };
            if !found && title != "End of Specification" && title != "Table of Contents" {
                wrong.push(format!("{file}: no clause for {title:?}"));
            }
        }
        for clause in clauses.iter().filter(|clause| clause.id.starts_with(of)) {
            for section in &clause.sections {
                if !headings.iter().any(|it| it.text[it.level..].trim() == section) {
                    wrong.push(format!("{}: {file} has no heading {section:?}", clause.id));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
