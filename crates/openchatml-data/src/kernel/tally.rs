//! Counts of what was found and lost.

use std::collections::BTreeMap;

use openchatml::convert::{Loss, Lost};
use openchatml::{Diagnostic, Severity};
use serde::{Deserialize, Serialize};

/// What was found in some records, and what their conversion lost. Tallies of parts of a data set
/// can be added in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tally {
    /// The number of records.
    pub records: u64,
    /// The number of rejected records.
    pub rejected: u64,
    /// The number of records with errors.
    pub with_errors: u64,
    /// The number of records with warnings, but without errors.
    pub with_warnings: u64,
    /// The diagnostics, by their severity and code, such as `error E-UNKNOWN-KEY`.
    pub found: BTreeMap<String, Count>,
    /// The losses, by their names, such as `channel`, and of a field with its key.
    pub lost: BTreeMap<String, Count>,
}

/// How often something occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// In how many records.
    pub records: u64,
    /// How often.
    pub times: u64,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.records += other.records;
        self.times += other.times;
    }
}

impl Tally {
    /// Counts one more record.
    pub(crate) fn record(&mut self, found: &[Diagnostic], losses: &[Loss], is_rejected: bool) {
        self.records += 1;
        self.rejected += u64::from(is_rejected);
        match found.iter().map(|found| found.severity).max() {
            Some(Severity::Error) => self.with_errors += 1,
            Some(Severity::Warning) => self.with_warnings += 1,
            _ => {}
        }
        let found = found.iter().map(|found| format!("{} {}", found.severity, found.code));
        count(found, &mut self.found);
        count(losses.iter().map(name_of), &mut self.lost);
    }

    /// Counts one more diagnostic of a record. `before` is the most severe of those that are already
    /// counted.
    pub(crate) fn add_finding(&mut self, found: &Diagnostic, before: Option<Severity>) {
        match (found.severity, before) {
            (_, Some(Severity::Error)) => {}
            (Severity::Error, before) => {
                self.with_errors += 1;
                self.with_warnings -= u64::from(before == Some(Severity::Warning));
            }
            (Severity::Warning, Some(Severity::Warning)) => {}
            (Severity::Warning, _) => self.with_warnings += 1,
            _ => {}
        }
        let found = format!("{} {}", found.severity, found.code);
        count(std::iter::once(found), &mut self.found);
    }

    /// Adds the counts of other records.
    pub fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.rejected += other.rejected;
        self.with_errors += other.with_errors;
        self.with_warnings += other.with_warnings;
        for (from, to) in [(&other.found, &mut self.found), (&other.lost, &mut self.lost)] {
            for (name, count) in from {
                slot(to, name.clone()).add(*count);
            }
        }
    }
}

/// Returns the name of a loss, and that of the field.
fn name_of(loss: &Loss) -> String {
    match loss.detail.as_deref().filter(|_| loss.lost == Lost::Field) {
        Some(field) => format!("{} `{}`", loss.lost.word(), field.escape_debug()),
        None => loss.lost.word(),
    }
}

/// Counts the names that occur in one record.
fn count(names: impl Iterator<Item = String>, counts: &mut BTreeMap<String, Count>) {
    let mut own: Vec<(String, u64)> = Vec::new();
    for name in names {
        match own.iter_mut().find(|(known, _)| *known == name) {
            Some((_, times)) => *times += 1,
            None => own.push((name, 1)),
        }
    }
    for (name, times) in own {
        slot(counts, name).add(Count { records: 1, times });
    }
}

/// How many names are counted. The keys of records can be any.
const MOST_NAMES: usize = 256;

/// Returns the count of a name. If there are too many, further fields are counted together.
fn slot(counts: &mut BTreeMap<String, Count>, name: String) -> &mut Count {
    let is_full = counts.len() >= MOST_NAMES && !counts.contains_key(&name);
    let is_field = name.starts_with("field ");
    counts.entry(if is_full && is_field { Lost::Field.word() } else { name }).or_default()
}

#[cfg(test)]
mod tests {
    use openchatml::Span;
    use openchatml::convert::{Loss, Lost};

    use super::{MOST_NAMES, Tally};

    #[test]
    fn names_of_fields_are_told_but_not_without_limit() {
        let mut tally = Tally::default();
        for number in 0..2 * MOST_NAMES {
            let mut loss = Loss::new(None, Span::default(), Lost::Field);
            loss.detail = Some(format!("f{number}").into());
            tally.record(&[], &[loss], false);
        }
        assert_eq!(tally.lost["field `f0`"].records, 1);
        assert_eq!(tally.lost.len(), MOST_NAMES + 1);
        let more = tally.clone();
        tally.add(&more);
        assert_eq!(tally.lost.len(), MOST_NAMES + 1);
        let all: u64 = tally.lost.values().map(|count| count.times).sum();
        assert_eq!(all, 4 * MOST_NAMES as u64);
    }
}
