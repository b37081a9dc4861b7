//! `fmt`: writes the canonical layout.

use clap::Args;
use openchatml::render::LayoutChoice;
use openchatml::{
    Conversation, Diagnostic, Format, Mode, RenderOptions, Severity, TextFormat, parse, render,
};

use crate::args::{Choice, FilesArgs, JsonlArgs, ReadArgs, Verbosity};
use crate::console::{Console, error_line};
use crate::failure::{Failure, Status};
use crate::input::{
    Decoded, Input, Opened, Origin, Page, Slot, Unreadable, format_of, is_json, origins,
};
use crate::jsonl::{Entry, LineReader};
use crate::output::Target;
use crate::reader::Reader;
use crate::report::{Style, count};

/// Format files in the canonical layout
///
/// Rewrites files in place (each file atomically), and standard input to standard output. The
/// meaning of a file stays the same. A file with errors stays unchanged.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml fmt *.txt
  ocml fmt --check data/*.jsonl
  ocml fmt < chat.txt")]
pub(crate) struct FmtArgs {
    #[command(flatten)]
    files: FilesArgs,
    /// Change nothing: list the files that would change, and exit with status 1 if there is one
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    jsonl: JsonlArgs,
}

/// Runs `fmt`.
pub(crate) fn run(args: &FmtArgs, console: &Console) -> Result<Status, Failure> {
    if matches!(args.read.from, Choice::Tokens(_)) {
        return Err(Failure::Usage("cannot format token ids".to_owned()));
    }
    let reader = Reader::with(&args.read, Mode::Lenient, None, console)?;
    let layout = Layout { reader, verbosity: console.verbosity() };
    let mut run = Run { args, console, layout, changed: 0, unchanged: 0, refused: 0 };
    let mut status = Status::Fine;
    for origin in &origins(&args.files, console)? {
        match run.origin(origin) {
            Ok(()) => {}
            Err(Failure::Closed) => return Err(Failure::Closed),
            Err(failure) => {
                console.failure(&failure);
                run.refused += usize::from(failure.status() == Status::Found);
                status = status.max(failure.status());
            }
        }
    }
    run.summary();
    let is_found = run.refused > 0 || args.check && run.changed > 0;
    Ok(status.max(if is_found { Status::Found } else { Status::Fine }))
}

struct Run<'a> {
    args: &'a FmtArgs,
    console: &'a Console,
    layout: Layout,
    changed: usize,
    unchanged: usize,
    refused: usize,
}

impl Run<'_> {
    fn origin(&mut self, origin: &Origin) -> Result<(), Failure> {
        let name = origin.name();
        let most = self.args.read.reader.bounds().input_bytes;
        let (from, jsonl) = (self.args.read.from, self.args.jsonl.jsonl);
        let bytes = match origin.input(from, jsonl, most, self.console)? {
            Input::Lines(opened) if opened.is_array => {
                let text = "this is a JSON array of records: convert it to JSONL first";
                return Err(Failure::Refused(format!("{}: {text}", origin.name())));
            }
            Input::Lines(opened) => return self.lines(origin, opened),
            Input::Document(bytes) => bytes,
        };
        let decoded = Decoded::new(&bytes, 0);
        let page = Page::new(&name, &decoded, 1);
        let mut report = String::new();
        let format = format_of(self.args.read.from, &decoded, &name, self.console);
        let laid_out = match format {
            Ok(format) if decoded.found.is_empty() => {
                self.layout.lay_out(&page, &Slot::whole(page.text), format, &mut report)
            }
            Ok(_) | Err(Unreadable::NoText(_)) => {
                self.layout.tell(&page, &decoded.found, &mut report);
                None
            }
            Err(Unreadable::NoFormat(failure)) => return Err(failure),
        };
        self.console.print(&report);
        let Some(text) = laid_out else {
            self.refused += 1;
            return Ok(());
        };
        // A text that begins with U+FEFF needs a byte order mark before it.
        let lead = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let is_changed = bytes.get(lead..) != Some(text.as_bytes());
        let mut target = match origin {
            _ if self.args.check => None,
            Origin::Stdin => Some(Target::stdout()),
            Origin::File(path) if is_changed => Some(Target::open(Some(path))?),
            Origin::File(_) => None,
        };
        if let Some(target) = &mut target {
            target.write_text(&text)?;
        }
        target.map_or(Ok(()), Target::finish)?;
        self.count(&name, is_changed)
    }

    /// Formats a file line by line.
    fn lines(&mut self, origin: &Origin, opened: Opened) -> Result<(), Failure> {
        let name = origin.name();
        let most = self.args.read.reader.bounds().input_bytes;
        let (from, jsonl) = (self.args.read.from, &self.args.jsonl);
        let feed = LineReader::open(name.clone(), opened, from, most, jsonl, self.console)?;
        let Some(feed) = feed else { return self.count(&name, false) };
        let mut target = match origin {
            _ if self.args.check => None,
            Origin::Stdin => Some(Target::stdout()),
            Origin::File(path) => Some(Target::open(Some(path))?),
        };
        let layout = self.layout.clone();
        let mut all = Lines::default();
        feed.run(
            self.console,
            move |entry, lines: &mut Lines| lines.add(&layout, entry),
            |raw, lines| {
                lines.text.push(b'\n');
                lines.is_changed |= raw != b"\n";
            },
            |lines| {
                self.console.print(&lines.report);
                all.refused += lines.refused;
                all.is_changed |= lines.is_changed;
                target.as_mut().map_or(Ok(()), |target| target.write(&lines.text))
            },
        )?;
        if all.refused > 0 {
            self.refused += 1;
            return Ok(());
        }
        target.filter(|_| all.is_changed).map_or(Ok(()), Target::finish)?;
        self.count(&name, all.is_changed)
    }

    /// Counts a file that can be formatted, and lists it with `--check`.
    fn count(&mut self, name: &str, is_changed: bool) -> Result<(), Failure> {
        if !is_changed {
            self.unchanged += 1;
            return Ok(());
        }
        self.changed += 1;
        if !self.args.check {
            self.console.detail(&format!("{name}: formatted"));
            return Ok(());
        }
        Target::stdout().write(format!("{name}\n").as_bytes())
    }

    /// Prints a summary, if there are files.
    fn summary(&self) {
        if self.args.files.files.is_empty() {
            return;
        }
        let would = if self.args.check { "would be changed" } else { "changed" };
        let mut words = vec![format!("{} {would}", count(self.changed, "file"))];
        if self.unchanged > 0 {
            words.push(format!("{} unchanged", self.unchanged));
        }
        if self.refused > 0 {
            words.push(format!("{} refused", self.refused));
        }
        self.console.summary(&words.join(", "));
    }
}

/// Formats documents.
#[derive(Clone, Debug)]
struct Layout {
    reader: Reader,
    verbosity: Verbosity,
}

impl Layout {
    /// Returns the page with the document in `slot` formatted, unless the document has an error.
    fn lay_out(
        &self,
        page: &Page<'_>,
        slot: &Slot<'_>,
        format: Format,
        report: &mut String,
    ) -> Option<String> {
        let (parsed, format) = self.reader.parse_as(&slot.text, format);
        let has_errors = parsed.has_errors();
        let mut found = parsed.diagnostics;
        let is_completion =
            TextFormat::try_from(format).is_ok_and(|it| it.is_completion(&slot.text) == Some(true));
        if is_completion && !has_errors {
            // What a model has written has no other layout.
            self.tell(page, &found, report);
            return Some(page.text.to_owned());
        }
        let mut options = RenderOptions::default();
        options.layout = LayoutChoice::Canonical;
        options.ids = true;
        let rendered = if has_errors {
            None
        } else {
            render(&parsed.document, format, &options)
                .map_err(|error| {
                    let nothing = Conversation::default();
                    let conversation = parsed.document.as_conversation().unwrap_or(&nothing);
                    found.push(error.to_diagnostic(conversation));
                })
                .ok()
        };
        for found in &mut found {
            slot.place(found);
        }
        self.tell(page, &found, report);
        let rendered = rendered?;
        // Only the layout may change.
        let options = self.reader.options_for(&slot.text, format);
        if parse(&rendered, format, &options).document != parsed.document {
            let text = "the canonical layout would change the meaning of this document, so it stays unchanged";
            report.push_str(&error_line(&format!("{}:{}: {text}", page.name, page.first_line())));
            return None;
        }
        let mut text = String::with_capacity(page.text.len());
        if rendered == slot.text {
            text.push_str(page.text);
        } else {
            slot.replace(page.text, &rendered, &mut text);
        }
        if is_json(format) {
            text.push('\n');
        }
        Some(text)
    }

    /// Prints the errors, and the other diagnostics if more output is requested.
    fn tell(&self, page: &Page<'_>, found: &[Diagnostic], report: &mut String) {
        for found in found {
            if found.severity == Severity::Error || self.verbosity == Verbosity::Verbose {
                Style::Text.write(page, found, report);
            }
        }
    }
}

/// The result of some lines.
#[derive(Debug, Default)]
struct Lines {
    text: Vec<u8>,
    report: String,
    is_changed: bool,
    refused: usize,
}

impl Lines {
    /// Formats one more line. A line with errors is not changed.
    fn add(&mut self, layout: &Layout, entry: &Entry<'_>) {
        let before = self.text.len();
        let laid_out = match &entry.slot {
            Some(slot) if entry.found.is_empty() => {
                layout.lay_out(entry.page, slot, entry.format, &mut self.report)
            }
            _ => {
                layout.tell(entry.page, &entry.found, &mut self.report);
                None
            }
        };
        match laid_out {
            Some(line) => {
                self.text.extend_from_slice(line.trim_end_matches('\n').as_bytes());
                self.text.push(b'\n');
            }
            None => {
                self.text.extend_from_slice(entry.raw);
                self.refused += 1;
            }
        }
        self.is_changed |= self.text[before..] != *entry.raw;
    }
}
