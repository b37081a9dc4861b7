//! Writes diagnostics for people and for programs.

mod excerpt;
mod github;
mod losses;
mod sarif;
mod text;

pub(crate) use self::losses::Losses;
pub(crate) use openchatml_data::record::PlaceSpan;

#[cfg(feature = "run")]
use openchatml::Span;
use openchatml::{Applicability, Diagnostic, Fix, Severity};
use openchatml_data::record;

use crate::failure::Status;
use crate::input::Page;

/// How findings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Style {
    /// For people, with the place in question
    Text,
    /// One JSON object per line
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// Workflow commands of GitHub Actions
    Github,
}

impl Style {
    /// Writes the beginning of a report.
    pub(crate) fn head(self) -> String {
        if self == Self::Sarif { sarif::head() } else { String::new() }
    }

    /// Writes the end of a report.
    pub(crate) fn tail(self) -> &'static str {
        if self == Self::Sarif { sarif::TAIL } else { "" }
    }

    /// Writes the separator between two diagnostics.
    pub(crate) fn between(self) -> &'static str {
        if self == Self::Sarif { "," } else { "" }
    }

    /// Writes one diagnostic with places in `page`.
    pub(crate) fn write(self, page: &Page<'_>, found: &Diagnostic, out: &mut String) {
        match self {
            Self::Text => text::write(page, found, out),
            Self::Json => record::write(page, found, out),
            Self::Sarif => sarif::write(page, found, out),
            Self::Github => github::write(page, found, out),
        }
    }
}

/// Writes an error without a code, with its place.
#[cfg(feature = "run")]
pub(crate) fn located(page: &Page<'_>, span: Span, message: &str, out: &mut String) {
    text::write_error(page, span, message, out);
}

/// The number of diagnostics of each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    pub(crate) notes: usize,
    /// The number of diagnostics with a suggested fix.
    pub(crate) suggestions: usize,
}

impl Tally {
    /// Counts diagnostics.
    pub(crate) fn of(found: &[Diagnostic]) -> Self {
        let mut tally = Self::default();
        for found in found {
            tally.count(found.severity);
            let suggests = |fix: &Fix| fix.applicability == Applicability::Unsafe;
            tally.suggestions += usize::from(found.fix.as_ref().is_some_and(suggests));
        }
        tally
    }

    /// Counts one more diagnostic.
    pub(crate) fn count(&mut self, severity: Severity) {
        *match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
            Severity::Note => &mut self.notes,
        } += 1;
    }

    /// Adds another tally.
    pub(crate) fn add(&mut self, other: Self) {
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.notes += other.notes;
        self.suggestions += other.suggestions;
    }

    /// Returns the exit status for these diagnostics.
    pub(crate) fn status(self, deny_warnings: bool) -> Status {
        match self.errors > 0 || deny_warnings && self.warnings > 0 {
            true => Status::Found,
            false => Status::Fine,
        }
    }

    /// Returns `2 errors, 1 warning`, or `no problems`.
    pub(crate) fn words(self) -> String {
        let kinds = [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")];
        let words: Vec<_> = kinds
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, word)| count(number, word))
            .collect();
        if words.is_empty() { "no problems".to_owned() } else { words.join(", ") }
    }
}

/// Returns `1 file`, `2 files`.
pub(crate) fn count(number: usize, word: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {word}{plural}")
}
