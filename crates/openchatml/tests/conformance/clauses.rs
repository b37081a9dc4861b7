//! The list of clauses, and whether each of them has a case.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use openchatml_testkit::markdown;
use serde::Deserialize;

use crate::case::{CLAUSES, Case, folders, root};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The file of the specification, for tests with the specifications.
    specification: Option<String>,
    clause: Vec<Clause>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Clause {
    id: String,
    says: String,
    /// The reason why no transcript can test the clause.
    beyond: Option<String>,
    /// The headings of the specification above the clause, if they have no numbers.
    #[serde(default)]
    sections: Vec<String>,
}

/// Every clause has a case, every case names clauses that exist, and no name is used twice.
pub(crate) fn check(cases: &[Case]) {
    let clauses: Vec<Clause> = load().into_iter().flat_map(|file| file.clause).collect();
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

/// Loads the lists of clauses: that of the suite, and those of the dialects.
fn load() -> Vec<File> {
    let of_folders = folders().into_iter().map(|folder| root().join(folder).join(CLAUSES));
    let paths = std::iter::once(root().join(CLAUSES)).chain(of_folders);
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a list of clauses");
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    paths.filter(|path| path.exists()).map(read).collect()
}

/// Checks that every heading of the specifications in `folder` has a clause, and that every heading
/// named by a clause exists. A heading without a clause must have clauses below it.
pub(crate) fn complete(folder: &Path) {
    let mut wrong = Vec::new();
    for File { specification, clause } in load() {
        let Some(file) = specification else { continue };
        let text = std::fs::read_to_string(folder.join(&file));
        let text = text.unwrap_or_else(|error| panic!("{file}: {error}"));
        let headings: Vec<_> = markdown::lines(&text)
            .filter(|line| line.level > 1)
            .map(|line| line.text[line.level..].trim())
            .collect();
        let has_clause = |title: &str| clause.iter().any(|clause| clause.is_under(title));
        let is_exempt =
            |title: &str| ["End of Specification", "Table of Contents"].contains(&title);
        for title in headings.iter().filter(|title| !has_clause(title) && !is_exempt(title)) {
            wrong.push(format!("{file}: no clause for {title:?}"));
        }
        for clause in &clause {
            for section in clause.sections.iter().filter(|it| !headings.contains(&it.as_str())) {
                wrong.push(format!("{}: {file} has no heading {section:?}", clause.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

impl Clause {
    /// Whether the clause is under this heading or one below it. If headings have numbers, the id
    /// of a clause starts with that of its heading.
    fn is_under(&self, title: &str) -> bool {
        let Some((_, number)) = self.id.split_once('§') else {
            return self.sections.iter().any(|it| it == title);
        };
        let of_title = title.split([' ', '\u{a0}']).next().unwrap_or_default();
        let rest = number.strip_prefix(of_title.trim_end_matches('.'));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    }
}
