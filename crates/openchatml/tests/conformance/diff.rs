//! Failures, told so that a person can mend them.

use std::fmt::Write as _;

use crate::case::Case;

/// How many failures of one case are told: the others are mostly the same once more.
const TOLD: usize = 3;

/// What failed, case by case.
#[derive(Default)]
pub(crate) struct Failures {
    case: String,
    /// How many cases there were.
    cases: usize,
    /// How much of this case failed.
    count: usize,
    failed: Vec<String>,
    text: String,
}

impl Failures {
    /// What fails from here on is of this case.
    pub(crate) fn begin(&mut self, case: &Case) {
        self.case = format!("{}: {}", case.place, case.name);
        self.cases += 1;
        self.count = 0;
    }

    /// Notes something that does not hold.
    pub(crate) fn fail(&mut self, what: &str, details: &str) {
        if self.failed.last() != Some(&self.case) {
            self.failed.push(self.case.clone());
        }
        self.count += 1;
        if self.count <= TOLD {
            let _ = writeln!(self.text, "\n--- {} --- {what}\n{}", self.case, details.trim_end());
        }
    }

    /// Notes two texts that should be equal and are not.
    pub(crate) fn equal(&mut self, what: &str, expected: &str, got: &str) {
        if expected != got {
            self.fail(what, &lines(expected, got));
        }
    }

    /// Ends the test.
    #[track_caller]
    pub(crate) fn report(all: Vec<Self>) {
        let cases: usize = all.iter().map(|it| it.cases).sum();
        let text: String = all.iter().map(|it| it.text.as_str()).collect();
        let failed: Vec<String> = all.into_iter().flat_map(|it| it.failed).collect();
        let count = failed.len();
        let list = failed.join("\n  ");
        assert!(failed.is_empty(), "{text}\n\n{count} of {cases} cases failed:\n  {list}");
    }
}

/// The lines of two texts, `-` for what was expected and `+` for what came instead.
fn lines(expected: &str, got: &str) -> String {
    let one: Vec<String> = expected.split_inclusive('\n').map(visible).collect();
    let two: Vec<String> = got.split_inclusive('\n').map(visible).collect();
    // The length of the longest common subsequence of what follows.
    let mut common = vec![vec![0_usize; two.len() + 1]; one.len() + 1];
    for i in (0..one.len()).rev() {
        for j in (0..two.len()).rev() {
            common[i][j] = match one[i] == two[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let mut out = String::new();
    let (mut i, mut j) = (0, 0);
    while i < one.len() || j < two.len() {
        if i < one.len() && j < two.len() && one[i] == two[j] {
            let _ = writeln!(out, "   {}", one[i]);
            (i, j) = (i + 1, j + 1);
        } else if j == two.len() || i < one.len() && common[i + 1][j] >= common[i][j + 1] {
            let _ = writeln!(out, " - {}", one[i]);
            i += 1;
        } else {
            let _ = writeln!(out, " + {}", two[j]);
            j += 1;
        }
    }
    out
}

/// A line with what cannot be seen made visible.
fn visible(line: &str) -> String {
    let mut out = String::new();
    for c in line.chars() {
        match c {
            '\n' => out.push('⏎'),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}
