//! The findings of a file: the first of each kind in full, and the number of the others.

use std::collections::{BTreeMap, HashMap};

use openchatml::{Code, Diagnostic, Severity};

use crate::args::Verbosity;
use crate::input::Page;
use crate::report::{Style, Tally};
use crate::visible::{visible, visible_line};

/// How findings are shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub(super) style: Style,
    pub(super) verbosity: Verbosity,
    /// The maximum number of findings of a kind that are shown for a file.
    pub(super) most: usize,
}

/// The findings of a part of a file.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) tally: Tally,
    pub(super) counts: Counts,
    shown: Vec<Shown>,
    /// The number of shown findings of each kind.
    kinds: HashMap<Kind, usize>,
    more: Vec<(Kind, More)>,
}

/// The number of findings of each code.
pub(super) type Counts = BTreeMap<(Code, Severity), usize>;

/// A written finding.
#[derive(Debug)]
struct Shown {
    kind: Kind,
    message: String,
    line: usize,
    text: String,
}

/// Findings of a kind differ only in their places, and in the names that they quote.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kind {
    code: Code,
    severity: Severity,
    message: String,
}

/// Findings that are not shown.
#[derive(Clone, Debug)]
struct More {
    /// The message of the first one.
    message: String,
    count: usize,
    first: usize,
    last: usize,
}

impl Kind {
    fn of(found: &Diagnostic) -> Self {
        let mut message = String::with_capacity(found.message.len());
        for (at, words) in found.message.split('`').enumerate() {
            match at % 2 {
                0 => without_numbers(words, &mut message),
                _ => message.push_str("`…`"),
            }
        }
        Self { code: found.code, severity: found.severity, message }
    }
}

/// Appends a text in which numbers are replaced.
fn without_numbers(text: &str, out: &mut String) {
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    for (at, word) in text.split(' ').enumerate() {
        out.push_str(if at > 0 { " " } else { "" });
        out.push_str(if is_number(word.trim_start_matches('(')) { "…" } else { word });
    }
}

impl More {
    fn of(message: String, line: usize) -> Self {
        Self { message, count: 1, first: line, last: line }
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }
}

impl Findings {
    /// Adds the findings of a page.
    pub(super) fn add(&mut self, page: &Page<'_>, found: &[Diagnostic], manner: Manner) {
        self.tally.add(Tally::of(found));
        let is_quiet = manner.style == Style::Text && manner.verbosity == Verbosity::Quiet;
        for found in found {
            *self.counts.entry((found.code, found.severity)).or_default() += 1;
            if is_quiet && found.severity != Severity::Error {
                continue;
            }
            let (kind, line) = (Kind::of(found), page.locate(found.span.start).line);
            let shown = self.kinds.entry(kind.clone()).or_default();
            if *shown < manner.most {
                *shown += 1;
                let mut text = String::new();
                manner.style.write(page, found, &mut text);
                self.shown.push(Shown { kind, message: found.message.clone(), line, text });
            } else {
                push(&mut self.more, kind, More::of(found.message.clone(), line));
            }
        }
    }
}

/// The findings of a file so far.
#[derive(Debug)]
pub(super) struct OfFile {
    manner: Manner,
    shown: HashMap<Kind, usize>,
    more: Vec<(Kind, More)>,
}

impl OfFile {
    pub(super) fn new(manner: Manner) -> Self {
        Self { manner, shown: HashMap::new(), more: Vec::new() }
    }

    /// Appends the findings of the next part to the report.
    pub(super) fn take(&mut self, findings: Findings, report: &mut String) {
        for Shown { kind, message, line, text } in findings.shown {
            let shown = self.shown.entry(kind.clone()).or_default();
            if *shown < self.manner.most {
                *shown += 1;
                if !report.is_empty() {
                    report.push_str(self.manner.style.between());
                }
                report.push_str(&text);
            } else {
                push(&mut self.more, kind, More::of(message, line));
            }
        }
        for (kind, more) in findings.more {
            push(&mut self.more, kind, more);
        }
    }

    /// Appends a line for people for each kind with findings that are not shown.
    pub(super) fn finish(self, name: &str, report: &mut String) {
        for (Kind { code, severity, .. }, more) in self.more {
            let More { message, count, first, last } = more;
            let lines = match first == last {
                true => format!("line {first}"),
                false => format!("lines {first} to {last}"),
            };
            let name = visible_line(name);
            let message = visible(&message);
            let text = format!("{severity}[{code}]: {name}: {count} more in {lines}: {message}\n");
            report.push_str(&text);
        }
        if !report.is_empty() && !report.ends_with("\n\n") {
            report.push('\n');
        }
    }
}

fn push(all: &mut Vec<(Kind, More)>, kind: Kind, more: More) {
    match all.iter_mut().find(|it| it.0 == kind) {
        Some((_, known)) => known.add(&more),
        None => all.push((kind, more)),
    }
}
