//! The lints that are checked, and the findings that are ignored.

use clap::Args;
use openchatml::{Code, Diagnostic, Document, lint};
use openchatml_data::record::add_lints;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Lints")]
pub(super) struct LintArgs {
    /// Also check these lints, by code; `all` are all of them
    ///
    /// Without this option, documents are checked for W-EMPTY-MESSAGE, W-LATE-SYSTEM,
    /// W-VISIBLE-REASONING, W-HIDDEN-UNICODE and W-UNBALANCED-PAIR. Lines of JSONL, which are
    /// samples of a data set, are also checked for W-OPEN-MESSAGE, W-NO-ASSISTANT, W-REPEATED-ROLE and
    /// W-DUPLICATE.
    #[arg(long, value_name = "CODE,…", value_delimiter = ',', value_parser = selected)]
    select: Vec<Selected>,

    /// Do not report these warnings and notes, by code; `all` are all lints, except those that
    /// `--select` names
    ///
    /// Calls without a reply (E-CALL-UNANSWERED) and replies without a call (E-REPLY-UNMATCHED) can
    /// be ignored, too.
    #[arg(long, value_name = "CODE,…", value_delimiter = ',', value_parser = ignored)]
    ignore: Vec<Selected>,
}

/// Codes of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selected {
    All,
    One(Code),
}

impl Selected {
    fn has(self, code: Code) -> bool {
        match self {
            Self::All => is_lint(code),
            Self::One(one) => one == code,
        }
    }
}

fn is_lint(code: Code) -> bool {
    lint::SAMPLE.contains(&code) || code == Code::Duplicate
}

/// Parses the code of a lint.
fn selected(word: &str) -> Result<Selected, String> {
    match parsed(word)? {
        Selected::One(code) if !is_lint(code) => {
            Err(format!("{code} is not a lint: it is always checked"))
        }
        selected => Ok(selected),
    }
}

/// Parses the code of a warning or note.
fn ignored(word: &str) -> Result<Selected, String> {
    match parsed(word)? {
        Selected::One(code)
            if code.as_str().starts_with("E-") && !lint::PAIRING.contains(&code) =>
        {
            Err(format!("{code} can be an error, which cannot be ignored"))
        }
        ignored => Ok(ignored),
    }
}

fn parsed(word: &str) -> Result<Selected, String> {
    match word {
        "all" => Ok(Selected::All),
        word => word
            .parse()
            .map(Selected::One)
            .map_err(|_| format!("unknown code `{word}`: `ocml explain` lists all codes")),
    }
}

/// The codes of the lints to check, and those to ignore.
#[derive(Clone, Debug)]
pub(super) struct Lints {
    document: Vec<Code>,
    sample: Vec<Code>,
    pub(super) finds_duplicates: bool,
    ignored: Vec<Code>,
}

impl LintArgs {
    pub(super) fn lints(&self) -> Lints {
        let is_selected = |code: Code| self.select.iter().any(|it| it.has(code));
        let of = |usual: &[Code]| {
            let wanted = |code: &&Code| usual.contains(code) || is_selected(**code);
            let codes = lint::SAMPLE.iter().filter(wanted).copied();
            codes.filter(|code| !self.is_ignored(*code)).collect::<Vec<_>>()
        };
        Lints {
            document: of(lint::DOCUMENT),
            sample: of(lint::SAMPLE),
            finds_duplicates: !self.is_ignored(Code::Duplicate),
            ignored: Code::ALL.iter().copied().filter(|code| self.is_ignored(*code)).collect(),
        }
    }

    /// Whether findings with this code are not reported. A lint that is selected by its code is, even
    /// if all lints are ignored.
    fn is_ignored(&self, code: Code) -> bool {
        let one = Selected::One(code);
        let all = Selected::All;
        self.ignore.contains(&one)
            || self.ignore.contains(&all) && all.has(code) && !self.select.contains(&one)
    }
}

impl Lints {
    /// Adds the findings of the lints to those of the reader, and removes what is ignored.
    pub(super) fn complete(
        &self,
        document: &Document<'_>,
        is_sample: bool,
        found: &mut Vec<Diagnostic>,
    ) {
        let codes = if is_sample { &self.sample } else { &self.document };
        add_lints(document, codes, found);
        found.retain(|found| !self.ignored.contains(&found.code));
        found.sort_by_key(|found| found.span.start);
    }
}
