//! `check`: finds errors and fixes them.

mod findings;
mod lines;
mod lints;
mod report;

use std::cell::Cell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use openchatml::{
    Applicability, Code, Diagnostic, Fixed, Format, Mode, Severity, Span, detect, fix_if,
};

use self::findings::{Counts, Findings, Manner, OfFile};
use self::lines::{OneLine, Plan, Reporting};
use self::lints::{LintArgs, Lints};
use self::report::Report;
use crate::args::{Choice, DenyArgs, FilesArgs, JsonlArgs, ReadArgs};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::input::{Decoded, Input, Opened, Origin, Page, Unreadable, format_of, origins};
use crate::jsonl::LineReader;
use crate::output::Target;
use crate::reader::Reader;
use crate::report::{Style, Tally, count};

/// Find errors, and fix them
///
/// Each diagnostic has a code, a place and, if possible, a fix. Diagnostics as text go to standard
/// error. Diagnostics in a format for programs go to standard output.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml check chat.txt
  ocml check --fix *.txt
  ocml check --fix --unsafe-fixes half-written.txt
  ocml check --statistics data/*.jsonl
  ocml check --ignore W-REPEATED-ROLE train.jsonl
  ocml check --output-format sarif -o report.sarif data/*.jsonl
  ocml check --lenient -f openchatml-2.2 model-output.txt")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    files: FilesArgs,
    /// The format of the diagnostics
    #[arg(long, value_name = "STYLE", default_value = "text")]
    output_format: Style,
    /// Apply safe fixes: change the files, or write the fixed standard input to standard output
    #[arg(long)]
    fix: bool,
    /// Also apply suggested fixes, which can change the meaning of a conversation (such as an end
    /// token for an incomplete message)
    #[arg(long, requires = "fix")]
    unsafe_fixes: bool,
    /// Show at most this number of findings of each kind for a file, and the number of the others;
    /// 0 shows all (default: 3 as text, all otherwise)
    #[arg(long, value_name = "N")]
    max_findings: Option<usize>,
    /// Write the number of findings of each code instead of the findings
    #[arg(long)]
    statistics: bool,
    /// Write the diagnostics to this file; on an error the file stays unchanged
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    lints: LintArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    jsonl: JsonlArgs,
    #[command(flatten)]
    deny: DenyArgs,
}

/// The number of findings of a kind that are shown as text.
const SHOWN: usize = 3;

impl CheckArgs {
    /// How findings are shown.
    fn manner(&self, console: &Console) -> Manner {
        let most = match self.max_findings {
            Some(0) => usize::MAX,
            Some(most) => most,
            None if self.output_format == Style::Text => SHOWN,
            None => usize::MAX,
        };
        Manner { style: self.output_format, verbosity: console.verbosity(), most }
    }

    /// The maximum applicability of the fixes to apply, if any.
    fn applied(&self) -> Applicability {
        match self.unsafe_fixes {
            true => Applicability::Unsafe,
            false => Applicability::Safe,
        }
    }
}

/// The certainty of a format that the text names, in per cent.
const SETTLED: u8 = 100;

/// Checks fixes for a text of a detected format. Returns a reason if they must not be applied.
fn unsettled(
    text: &str,
    after_fixes: &str,
    format: Format,
    most: Applicability,
) -> Option<&'static str> {
    // The next reader that detects the format would see different messages.
    let Some(after) = confidence(after_fixes, format) else {
        return Some("the file would then be detected as another format");
    };
    // A guessed format stays a guess, unless the user names the format.
    let was_guess = confidence(text, format).is_some_and(|before| before < SETTLED);
    let settles = most == Applicability::Safe && was_guess && after == SETTLED;
    settles.then_some("the format of the file was only guessed, and the fix depends on it")
}

/// Returns the certainty of this format in per cent, if it is the detected format of the text.
fn confidence(text: &str, format: Format) -> Option<u8> {
    let best = detect(text).into_iter().next();
    best.filter(|best| best.is_certain() && best.format == format).map(|best| best.confidence)
}

/// Runs `check`.
pub(crate) fn run(args: &CheckArgs, console: &Console) -> Result<Status, Failure> {
    let origins = origins(&args.files, console)?;
    let writes_text = args.fix && origins.contains(&Origin::Stdin);
    if writes_text && args.output.is_none() && args.output_format != Style::Text {
        let text = "the fixed text goes to standard output: name a file for the diagnostics with `--output`";
        return Err(Failure::Usage(text.to_owned()));
    }
    if args.statistics && matches!(args.output_format, Style::Sarif | Style::Github) {
        let text = "--statistics has the output formats `text` and `json`";
        return Err(Failure::Usage(text.to_owned()));
    }
    if args.fix && matches!(args.read.from, Choice::Tokens(_)) {
        return Err(Failure::Usage("cannot fix token ids: remove --fix".into()));
    }
    let mut check = Check {
        args,
        console,
        reader: Reader::new(&args.read, Mode::Strict, console)?,
        input_bytes: args.read.reader.bounds().input_bytes,
        report: Report::open(args.output_format, args.output.as_deref(), args.statistics, console)?,
        manner: args.manner(console),
        lints: args.lints.lints(),
        tally: Tally::default(),
        counts: Counts::new(),
        known: HashMap::new(),
        fixed: 0,
    };
    let (mut status, mut unreadable) = (Status::Fine, 0);
    for origin in &origins {
        match check.origin(origin) {
            Ok(()) => {}
            Err(Failure::Closed) => return Err(Failure::Closed),
            Err(Failure::Unknown(lines)) => check.unknown(&origin.name(), &lines)?,
            Err(failure) => {
                console.failure(&failure);
                unreadable += 1;
                status = status.max(failure.status());
            }
        }
    }
    check.finish(origins.len(), unreadable, status)
}

struct Check<'a> {
    args: &'a CheckArgs,
    console: &'a Console,
    reader: Reader,
    input_bytes: usize,
    report: Report<'a>,
    manner: Manner,
    lints: Lints,
    tally: Tally,
    counts: Counts,
    /// The conversations of all files by their fingerprints: the file and the number of the line.
    known: HashMap<u128, (Arc<str>, usize)>,
    /// The number of fixed problems.
    fixed: usize,
}

impl Check<'_> {
    /// Checks one file.
    fn origin(&mut self, origin: &Origin) -> Result<(), Failure> {
        let name = origin.name();
        let bytes = match self.input(origin)? {
            Input::Lines(opened) if opened.is_array && self.args.fix => {
                let text = format!(
                    "{name}: cannot fix the records of a JSON array: convert it to JSONL first"
                );
                return Err(Failure::Refused(text));
            }
            Input::Lines(opened) => return self.lines(origin, opened),
            Input::Document(bytes) => bytes,
        };
        let decoded = Decoded::new(&bytes, 0);
        let page = Page::new(&name, &decoded, 1);
        let format = match format_of(self.args.read.from, &decoded, &name, self.console) {
            Ok(format) => format,
            Err(Unreadable::NoText(found)) => return self.tell(&page, found),
            Err(Unreadable::NoFormat(failure)) => return Err(failure),
        };
        // A fix of input that is not text would lose more data.
        if self.args.fix && decoded.found.is_empty() {
            if let Some(mended) = self.fix(origin, page.text, format)? {
                let decoded = Decoded::new(mended.as_bytes(), 0);
                let page = Page::new(&name, &decoded, 1);
                return self.tell(&page, &self.findings(page.text, format));
            }
        } else if self.args.fix && *origin == Origin::Stdin {
            Target::stdout().write(&bytes)?;
        }
        let mut found = decoded.found.clone();
        found.extend(self.findings(page.text, format));
        self.tell(&page, &found)
    }

    /// Returns the findings of a document.
    fn findings(&self, text: &str, format: Format) -> Vec<Diagnostic> {
        let parsed = self.reader.parse(text, format);
        let mut found = parsed.diagnostics;
        self.lints.complete(&parsed.document, false, &mut found);
        found
    }

    /// Reports a file whose format is unknown, for the reasons in `lines`.
    fn unknown(&mut self, name: &str, lines: &[String]) -> Result<(), Failure> {
        if self.args.output_format == Style::Text {
            self.tally.count(Severity::Error);
            self.console.failure(&Failure::Unknown(lines.to_vec()));
            return Ok(());
        }
        let decoded = Decoded::new(b"", 0);
        let found = Code::FormatUnknown.at(Span::default(), lines.join("; "));
        self.tell(&Page::new(name, &decoded, 1), &[found])
    }

    fn input(&self, origin: &Origin) -> Result<Input, Failure> {
        let CheckArgs { read, jsonl, .. } = self.args;
        origin.input(read.from, jsonl.jsonl, self.input_bytes, self.console)
    }

    /// Applies the fixes to a document. Returns the fixed document if it has changed.
    fn fix(
        &mut self,
        origin: &Origin,
        text: &str,
        format: Format,
    ) -> Result<Option<String>, Failure> {
        let most = self.args.applied();
        let refusal = Cell::new(None);
        let is_named = self.args.read.from != Choice::Auto;
        let admits = |mended: &str| {
            let why = if is_named { None } else { unsettled(text, mended, format, most) };
            if why.is_some() {
                refusal.set(why);
            }
            why.is_none()
        };
        let Fixed { text: mended, applied, .. } =
            fix_if(text, format, &self.reader.options_for(text, format), most, admits);
        if let Some(why) = refusal.get() {
            let name = origin.name();
            self.console.error(&format!(
                "{name}: a fix was not applied: {why}; if the format is right, use `--from {format}`"
            ));
        }
        match (origin, &mended) {
            (Origin::Stdin, mended) => {
                Target::stdout().write_text(mended.as_deref().unwrap_or(text))?;
            }
            (Origin::File(path), Some(mended)) => {
                let mut target = Target::open(Some(path))?;
                target.write_text(mended)?;
                target.finish()?;
            }
            (Origin::File(_), None) => {}
        }
        self.fixed += applied;
        Ok(mended)
    }

    /// Checks a file line by line. A file that is fixed is read twice, so that the places of the
    /// remaining diagnostics are those in the fixed file.
    fn lines(&mut self, origin: &Origin, opened: Opened) -> Result<(), Failure> {
        let name = origin.name();
        match (self.args.fix, origin) {
            (false, _) => self.pass(name, opened, None, Reporting::All),
            (true, Origin::Stdin) => {
                self.pass(name, opened, Some(Target::stdout()), Reporting::All)
            }
            (true, Origin::File(path)) => {
                let target = Target::open(Some(path))?;
                self.pass(name.clone(), opened, Some(target), Reporting::Nothing)?;
                self.pass(name, origin.open(self.console)?, None, Reporting::All)
            }
        }
    }

    /// Reads a file line by line, and writes the fixed lines if there is a target.
    fn pass(
        &mut self,
        name: String,
        opened: Opened,
        mut target: Option<Target>,
        telling: Reporting,
    ) -> Result<(), Failure> {
        let CheckArgs { read, jsonl, .. } = self.args;
        let input_bytes = self.input_bytes;
        let feed =
            LineReader::open(name.clone(), opened, read.from, input_bytes, jsonl, self.console)?;
        let Some(feed) = feed else { return Ok(()) };
        let plan = Plan {
            reader: self.reader.clone(),
            manner: self.manner,
            lints: self.lints.clone(),
            fixes: target.is_some().then(|| self.args.applied()),
            telling,
        };
        let name: Arc<str> = name.into();
        let mut of_file = OfFile::new(self.manner);
        let mut fixed = 0;
        feed.run(
            self.console,
            move |entry, lines| plan.line(entry, lines),
            |raw, lines| lines.text.extend_from_slice(raw),
            |mut lines| {
                self.duplicates(&name, &lines.conversations, &mut lines.findings);
                fixed += lines.fixed;
                self.add(lines.findings, &mut of_file)?;
                target.as_mut().map_or(Ok(()), |target| target.write(&lines.text))
            },
        )?;
        self.end_file(&name, of_file)?;
        self.fixed += fixed;
        target.filter(|_| fixed > 0).map_or(Ok(()), Target::finish)
    }

    /// Finds conversations that occurred before, in this file or in another one.
    fn duplicates(&mut self, name: &Arc<str>, lines: &[OneLine], findings: &mut Findings) {
        for OneLine { fingerprint, number, offset, beginning } in lines {
            let Some((file, first)) = self.known.get(fingerprint) else {
                self.known.insert(*fingerprint, (Arc::clone(name), *number));
                continue;
            };
            let file = if file == name { String::new() } else { format!(" of {file}") };
            let text = format!("the same conversation as in line {first}{file}");
            let decoded = Decoded::new(beginning.as_bytes(), *offset);
            let found = Code::Duplicate.at(Span::new(0, beginning.len()), text);
            findings.add(&Page::new(name, &decoded, *number), &[found], self.manner);
        }
    }

    /// Adds findings to the report.
    fn add(&mut self, findings: Findings, of_file: &mut OfFile) -> Result<(), Failure> {
        self.tally.add(findings.tally);
        for (kind, count) in &findings.counts {
            *self.counts.entry(*kind).or_default() += count;
        }
        let mut report = String::new();
        of_file.take(findings, &mut report);
        self.write(&report)
    }

    /// Ends the findings of a file.
    fn end_file(&mut self, name: &str, of_file: OfFile) -> Result<(), Failure> {
        let mut report = String::new();
        of_file.finish(name, &mut report);
        if self.args.output_format == Style::Text {
            return self.write(&report);
        }
        // The formats for programs have no words for this.
        if !report.is_empty() && !self.args.statistics {
            self.console.print(&report);
        }
        Ok(())
    }

    fn write(&mut self, report: &str) -> Result<(), Failure> {
        if self.args.statistics { Ok(()) } else { self.report.write(report) }
    }

    /// Reports the diagnostics of a document.
    fn tell(&mut self, page: &Page<'_>, found: &[Diagnostic]) -> Result<(), Failure> {
        let mut findings = Findings::default();
        findings.add(page, found, self.manner);
        let mut of_file = OfFile::new(self.manner);
        self.add(findings, &mut of_file)?;
        self.end_file(page.name, of_file)
    }

    /// Prints a summary.
    fn finish(self, files: usize, unreadable: usize, status: Status) -> Result<Status, Failure> {
        let Self { args, console, report, tally, counts, fixed, .. } = self;
        report.finish(Some(&counts).filter(|_| args.statistics))?;
        if args.output_format == Style::Text {
            let fixed = match fixed {
                0 => String::new(),
                fixed => format!(", {} fixed", count(fixed, "problem")),
            };
            let left = match args.applied() {
                Applicability::Safe if args.fix && tally.suggestions > 0 => {
                    let left = count(tally.suggestions, "suggestion");
                    format!("; {left} can be fixed with --fix --unsafe-fixes")
                }
                _ => String::new(),
            };
            let files_read = files - unreadable;
            let checked = count(files_read, "file");
            let unreadable = match unreadable {
                0 => String::new(),
                unreadable => format!("; {} unreadable", count(unreadable, "file")),
            };
            let words = match unreadable.is_empty() || files_read > 0 {
                true => format!(": {}", tally.words()),
                false => String::new(),
            };
            console.summary(&format!("{checked} checked{words}{fixed}{left}{unreadable}"));
        }
        Ok(status.max(tally.status(args.deny.deny_warnings)))
    }
}
