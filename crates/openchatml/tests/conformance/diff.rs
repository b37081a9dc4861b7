//! Failures in a readable form.

use std::fmt::Write as _;

use crate::case::Case;

/// The maximum number of printed failures of one case. The others are usually the same.
const TOLD: usize = 3;

/// The failures, by case.
#[derive(Default)]
pub(crate) struct Failures {
    case: String,
    /// The number of cases.
    cases: usize,
    /// The number of failures of this case.
    count: usize,
    failed: Vec<String>,
    text: String,
}

impl Failures {
    /// Starts a case. Further failures belong to it.
    pub(crate) fn begin(&mut self, case: &Case) {
        self.case = format!("{}: {}", case.place, case.name);
        self.cases += 1;
        self.count = 0;
    }

    /// Records a failure.
    pub(crate) fn fail(&mut self, what: &str, details: &str) {
        if self.failed.last() != Some(&self.case) {
            self.failed.push(self.case.clone());
        }
        self.count += 1;
        if self.count <= TOLD {
            let _ = writeln!(self.text, "\n--- {} --- {what}\n{}", self.case, details.trim_end());
        }
    }

    /// Records a failure if two texts differ.
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

/// Returns the lines of two texts: `-` for expected lines, `+` for actual lines.
fn lines(expected: &str, got: &str) -> String {
    let one: Vec<String> = expected.split_inclusive('\n').map(visible).collect();
    let two: Vec<String> = got.split_inclusive('\n').map(visible).collect();
    // The length of the longest common subsequence of the following lines.
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

/// Returns a line with visible control characters.
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
