//! The number of cases of each kind that are read as their authors expect.

use serde_json::Value;

/// The cases with different results, and the result of their project.
pub(super) const DIFFERENT: &[(&str, &str)] = &[
    ("vllm-gptoss-017-malformed-recovers-raw", "shows a header that lost its end to the user"),
    ("vllm-gptoss-021-dup-recipient", "drops a call that names its recipient twice, and the same"),
    ("llamacpp-gptoss-005-none-format", "has an option that shows reasoning as content"),
    ("llamacpp-gptoss-024-none2", "has an option that shows reasoning as content"),
    ("llamacpp-gptoss-028-stray-header", "reads a message with two channels by the second"),
    ("dynamo-no-header", "gives nothing of an output with one message that lost its header"),
    ("dynamo-truncated-json", "completes the arguments of a call that was cut off"),
    ("ollama-header-3", "reads a header without a role as a tool's"),
    ("vllm-gptoss-037-malformed", "shows a header that lost its end to the user"),
    ("tinker-no-channels", "shows text without a header to the user"),
    ("harmony-up-streamable_parser", "takes a tool's reply in a completion for the tool's own"),
    ("sglang-01-interspersed", "shows text outside of any message to the user"),
    ("sglang-03-partial-suffix", "shows text without a header to the user"),
    ("sglang-04-tool-response", "shows a tool's reply in a completion to the user"),
    ("sglang-17-unknown-token", "shows text in front of a channel to the user"),
    ("sglang-18-stripped-analysis-final", "finds channels in text whose control tokens are gone"),
    ("sglang-19-stripped-commentary-final", "finds channels in text whose control tokens are gone"),
    ("sglang-20-stripped-final-only", "finds channels in text whose control tokens are gone"),
    ("sglang-21-stripped-plain", "shows text without a header to the user"),
    ("sglang-22-stripped-nospace", "finds channels in text whose control tokens are gone"),
    ("ollama-fnname-spaces", "renames tools to identifiers"),
    ("ollama-fnname-hyphens", "renames tools to identifiers"),
    ("ollama-fnname-periods", "renames tools to identifiers"),
    ("ollama-fnname-nonword", "renames tools to identifiers"),
    ("ollama-fnname-emoji", "renames tools to identifiers"),
    ("ollama-fnname-only-invalid", "renames tools to identifiers"),
    ("ollama-fnname-leading-number", "renames tools to identifiers"),
    ("ollama-fnname-not-id", "renames tools to identifiers"),
    ("ollama-fnmap-dupe", "renames tools to identifiers"),
    ("ollama-fnmap-dupe-diff", "renames tools to identifiers"),
    ("ollama-fnmap-nondupe-after", "renames tools to identifiers"),
    ("ollama-fnmap-sets", "renames tools to identifiers"),
    ("ollama-fnmap-builtin", "renames tools to identifiers"),
    ("vllm-gptoss-057-in-missing-fn", "calls a function that has no name"),
    ("vllm-gptoss-060-in-asst-empty", "drops an answer that is empty"),
    ("vllm-gptoss-068-in-call-reasoning-content", "puts a preamble before the reasoning"),
    ("ds-euphony-2", "reads content that the reference library refuses"),
    ("ds-euphony-5", "reads content that the reference library refuses"),
    ("ds-euphony-6", "reads content that the reference library refuses"),
    ("ds-euphony-7", "reads content that the reference library refuses"),
];

/// The results of the cases of one kind.
pub(super) struct Score {
    kind: &'static str,
    same: usize,
    all: usize,
    wrong: Vec<String>,
}

impl Score {
    pub(super) fn new(kind: &'static str) -> Self {
        Self { kind, same: 0, all: 0, wrong: Vec::new() }
    }

    /// Returns the cases of this kind in these files, or none if they are not available.
    pub(super) fn cases(&self, files: &[&str]) -> Vec<Value> {
        let count = self.published();
        let all = files.iter().filter_map(|file| super::cases(file, count)).flatten();
        all.filter(|case| case["kind"] == self.kind).collect()
    }

    /// Returns the published number of cases of this kind.
    pub(super) fn published(&self) -> usize {
        let row = format!("| `{}` | ", self.kind);
        let count = published();
        let count = count.split_once(&row).and_then(|(_, rest)| rest.split(' ').next());
        count.and_then(|count| count.parse().ok()).expect("a row of docs/reliability.md")
    }

    pub(super) fn take(&mut self, id: &Value, is_same: bool, told: impl FnOnce() -> String) {
        let id = id.as_str().expect("an id");
        let listed = DIFFERENT.iter().any(|(name, _)| *name == id);
        self.all += 1;
        self.same += usize::from(is_same);
        match (is_same, listed) {
            (false, false) => self.wrong.push(format!("{id}: {}", told())),
            (true, true) => self.wrong.push(format!("{id} is listed as different, and is not")),
            _ => {}
        }
    }

    /// Checks that all differences are listed, and that the score equals the published one.
    pub(super) fn finish(self) {
        let Self { kind, same, all, wrong } = self;
        assert!(wrong.is_empty(), "{same} of {all}\n{}", wrong.join("\n"));
        // With the folder, there must be cases.
        if all > 0 || std::env::var_os("OPENCHATML_THIRD_PARTY").is_some() {
            let row = format!("| `{kind}` | {all} | {same} | {} |", all - same);
            assert!(published().contains(&row), "docs/reliability.md should say {row}");
        }
    }
}

fn published() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reliability.md");
    std::fs::read_to_string(path).expect("the page")
}

/// Returns the numbers of all cases, of equal results, and of different results: the sums of the
/// table on the page.
fn sums() -> [usize; 3] {
    let page = published();
    let (_, table) = page.split_once("## What other projects expect").expect("the table");
    let mut sums = [0; 3];
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = row.split(" | ").skip(1).take(3).map(str::parse).collect();
        if let [Ok(all), Ok(same), Ok(different)] = cells[..] {
            let row: [usize; 3] = [all, same, different];
            assert_eq!(all, same + different, "{row:?}");
            (0..3).for_each(|at| sums[at] += row[at]);
        }
    }
    sums
}

/// Each listed case exists, and the page contains the result of its project.
#[test]
fn differences_to_other_projects_are_published() {
    let files = ["vllm", "llamacpp", "dynamo", "tinker", "sglang"].map(|it| format!("{it}_gptoss"));
    let files = files.into_iter().chain([
        "ollama_harmony".into(),
        "harmony_upstream".into(),
        "dataset_samples".into(),
    ]);
    let [all, same, _] = sums();
    let cases = |file: String| super::cases(&format!("{file}.jsonl"), all).unwrap_or_default();
    let ids: Vec<Value> = files.flat_map(cases).map(|case| case["id"].clone()).collect();
    let page = published();
    let sentence = format!("Of {all} cases {same} are as we do.");
    assert!(page.contains(&sentence), "docs/reliability.md should say: {sentence}");
    for (id, reason) in DIFFERENT {
        assert!(ids.is_empty() || ids.iter().any(|it| it == id), "there is no case {id}");
        let row = format!("| `{id}` | {reason} |");
        assert!(page.contains(&row), "docs/reliability.md should say {row}");
    }
}
