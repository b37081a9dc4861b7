//! Converts files one by one, each as a whole or line by line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use openchatml::{Carrier, Mode};
use openchatml_data::record::{Consent, unknown_reject};

use super::converter::Converter;
use super::document::{DocumentLayout, Outcome, OutputRules, refusal};
use crate::args::{Choice, DenyArgs, FilesArgs, JsonlArgs, OutArgs, ReadArgs};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::file_name;
use crate::input::{Decoded, Input, Opened, Origin, Page, Slot, Unreadable, format_of, origins};
use crate::jsonl::{Entry, LineReader};
use crate::output::Target;
use crate::report::{Losses, Tally, count};
use crate::visible::visible_line;

/// The work for all files.
pub(super) struct Job<'a> {
    from: Choice,
    /// The formats to detect if none is named.
    input_bytes: usize,
    is_strict: bool,
    consent: Consent,
    jsonl: &'a JsonlArgs,
    out: &'a OutArgs,
    deny_warnings: bool,
    /// The file for sidecars.
    sidecar: Option<&'a Path>,
}

/// The output.
struct Targets {
    output: Target,
    rejects: Option<Target>,
    /// Whether there are several files, each of which becomes one line.
    several: bool,
    /// Whether there is any output. Without output, no file is replaced.
    has_output: bool,
    /// Whether the output is one JSON document, so that records of an array remain an array.
    is_array: bool,
}

impl Targets {
    fn finish(self) -> Result<(), Failure> {
        self.rejects.map_or(Ok(()), Target::finish)?;
        if self.has_output {
            self.output.finish()?;
        }
        Ok(())
    }
}

impl<'a> Job<'a> {
    pub(super) fn new(
        read: &ReadArgs,
        jsonl: &'a JsonlArgs,
        out: &'a OutArgs,
        deny: DenyArgs,
    ) -> Self {
        Self {
            from: read.from,
            input_bytes: read.reader.bounds().input_bytes,
            is_strict: read.reader.options(Mode::Lenient).mode == Mode::Strict,
            consent: read.reader.consent(&out.consent),
            jsonl,
            out,
            deny_warnings: deny.deny_warnings,
            sidecar: None,
        }
    }

    /// Sets a file for sidecars.
    pub(super) fn beside(self, sidecar: Option<&'a Path>) -> Self {
        Self { sidecar, ..self }
    }

    /// Converts the files.
    pub(super) fn run(
        &self,
        converter: &Converter,
        origins: &[Origin],
        console: &Console,
    ) -> Result<Status, Failure> {
        let is_lines = |origin: &Origin| self.jsonl.jsonl || origin.is_jsonl();
        if self.sidecar.is_some() && (origins.len() > 1 || origins.iter().any(is_lines)) {
            let text = "a sidecar belongs to one conversation; for several, use `tokens --mask`, which writes one into each line";
            return Err(Failure::Usage(text.to_owned()));
        }
        self.are_apart(origins)?;
        let ending = self.out.output.as_deref().and_then(Path::extension);
        if ending.is_some_and(|it| it == "parquet" || it == "arrow") {
            let text = "this command writes no tables: use `ocml data convert` with `--output-format parquet` or `arrow`";
            return Err(Failure::Usage(text.to_owned()));
        }
        let output = Target::open(self.out.output.as_deref())?;
        if output.is_terminal() {
            console.hide_progress();
        }
        let several = origins.len() > 1;
        let rejects = self.rejects()?;
        let is_array =
            self.out.output.as_deref().is_some_and(|path| self.is_array(path, converter));
        let is_array = is_array && !several;
        let mut targets = Targets { output, rejects, several, has_output: several, is_array };
        let done = self.each(converter, origins, &mut targets, console);
        match done {
            Ok((tally, status)) => {
                targets.finish()?;
                Ok(status.max(tally.status(self.deny_warnings)))
            }
            Err(failure) => {
                // Only rejected documents are written.
                targets.rejects.map_or(Ok(()), Target::finish)?;
                Err(failure)
            }
        }
    }

    /// Converts the files that the command line names. If the output is a folder, each file has its
    /// own output there.
    pub(super) fn run_files(
        &self,
        converter: &Converter,
        files: &FilesArgs,
        console: &Console,
    ) -> Result<Status, Failure> {
        let mut origins = origins(files, console)?;
        let has_folder = files.files.iter().any(|file| file.is_dir());
        let output = self.out.output.as_deref();
        let folder = output.filter(|path| is_folder(path) || has_folder && !has_extension(path));
        let Some(folder) = folder else { return self.run(converter, &origins, console) };
        if self.sidecar.is_some() {
            let text = "a sidecar belongs to one conversation, but the output is a folder";
            return Err(Failure::Usage(text.to_owned()));
        }
        leave_out(folder, files, &mut origins, console);
        let work = outputs(&origins, folder, |path| converter.name_of_output(files.inside(path)))?;
        let mut rejects = self.rejects()?;
        let (mut tally, mut status) = (Tally::default(), Status::Fine);
        for (origin, target) in work {
            if let Some(parent) = target.parent() {
                let quoted = format!("`{}`", parent.display());
                let made = std::fs::create_dir_all(parent);
                made.map_err(|error| Failure::write(&quoted, &error))?;
            }
            let output = Target::open(Some(&target))?;
            let is_array = self.is_array(&target, converter);
            let rejected = rejects.take();
            let (several, has_output) = (false, false);
            let mut targets = Targets { output, rejects: rejected, several, has_output, is_array };
            let done = self.each(converter, std::slice::from_ref(origin), &mut targets, console);
            rejects = targets.rejects.take();
            match done {
                Ok((counted, own)) => {
                    targets.finish()?;
                    tally.add(counted);
                    status = status.max(own);
                }
                // Other files are written even if one cannot be read.
                Err(failure) if !matches!(failure, Failure::Closed) => {
                    console.failure(&failure);
                    status = status.max(failure.status());
                }
                Err(failure) => {
                    rejects.map_or(Ok(()), Target::finish)?;
                    return Err(failure);
                }
            }
        }
        rejects.map_or(Ok(()), Target::finish)?;
        Ok(status.max(tally.status(self.deny_warnings)))
    }

    /// Whether a file of this name is one JSON document, so that records of an array remain an array.
    fn is_array(&self, path: &Path, converter: &Converter) -> bool {
        let is_json = converter.carrier() == Carrier::Json && !converter.writes_tokens();
        is_json && !self.jsonl.jsonl && file_name::is_json(path)
    }

    fn rejects(&self) -> Result<Option<Target>, Failure> {
        self.out.rejects.as_deref().map(|path| Target::open(Some(path))).transpose()
    }

    /// Converts files to the same output.
    fn each(
        &self,
        converter: &Converter,
        origins: &[Origin],
        targets: &mut Targets,
        console: &Console,
    ) -> Result<(Tally, Status), Failure> {
        let (mut tally, mut status) = (Tally::default(), Status::Fine);
        for origin in origins {
            let most = self.input_bytes;
            let done = match origin.input(self.from, self.jsonl.jsonl, most, console) {
                Ok(input) => self.input(converter, origin, input, targets, console)?,
                Err(failure) => Err(failure),
            };
            match done {
                Ok(counted) => tally.add(counted),
                // Other files are written even if one has an unknown format.
                Err(failure) if targets.several && failure.status() == Status::Found => {
                    console.failure(&failure);
                    status = status.max(failure.status());
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok((tally, status))
    }

    /// Converts a file. Returns an error of the file; errors of the output are in `Err`.
    fn input(
        &self,
        converter: &Converter,
        origin: &Origin,
        input: Input,
        targets: &mut Targets,
        console: &Console,
    ) -> Result<Result<Tally, Failure>, Failure> {
        let bytes = match input {
            Input::Lines(opened) => {
                let lines = (origin.name(), opened);
                targets.has_output = true;
                return self.lines(converter, lines, targets, console).map(Ok);
            }
            Input::Document(bytes) => bytes,
        };
        let shape = match (targets.several, targets.output.is_terminal()) {
            _ if converter.writes_tokens() => DocumentLayout::Line,
            (true, _) => DocumentLayout::Line,
            (_, true) => DocumentLayout::Pretty,
            _ => DocumentLayout::Document,
        };
        let output_rules = self.output_rules(shape, console);
        let outcome = match self.file(converter, origin, &bytes, output_rules, console) {
            Ok(outcome) => outcome,
            Err(failure) => {
                if let (Some(rejects), Failure::Unknown(reasons)) = (&mut targets.rejects, &failure)
                {
                    let name = origin.name();
                    let decoded = Decoded::new(&bytes, 0);
                    let page = Page::new(&name, &decoded, 1);
                    rejects.write(unknown_reject(&page, reasons).as_bytes())?;
                }
                return Ok(Err(failure));
            }
        };
        console.print(&outcome.report);
        outcome.losses.say(&origin.name(), console);
        if !outcome.refused.is_empty() {
            let what = "nothing was written";
            console.summary(&refusal(&origin.name(), what, &outcome.refused));
        }
        if let (Some(rejects), Some(reject)) = (&mut targets.rejects, &outcome.reject) {
            rejects.write(reject.as_bytes())?;
        }
        if let (Some(path), Some(sidecar)) = (self.sidecar, &outcome.sidecar) {
            let mut target = Target::open(Some(path))?;
            target.write(format!("{}\n", sidecar.to_json()).as_bytes())?;
            target.finish()?;
        }
        if let Some(output) = outcome.output {
            targets.has_output = true;
            targets.output.write_text(&output)?;
        }
        Ok(Ok(outcome.tally))
    }

    /// Rejects an output file that is also an input, or that is written twice.
    fn are_apart(&self, origins: &[Origin]) -> Result<(), Failure> {
        let sources = origins.iter().filter_map(Origin::path);
        let output = self.out.output.as_deref();
        if let Some(path) = output.filter(|output| sources.clone().any(|it| is_same(it, output))) {
            return Err(is_input(path));
        }
        let others: Vec<&Path> = sources.chain(output).collect();
        let rejects = self.out.rejects.as_deref();
        let more = [("--rejects", rejects, self.sidecar), ("--sidecar", self.sidecar, rejects)];
        for (option, path, other) in more {
            let Some(path) = path else { continue };
            if others.iter().copied().chain(other).any(|other| is_same(path, other)) {
                let path = path.display();
                let text = format!("`{option} {path}` names a file that is also input or output");
                return Err(Failure::Usage(text));
            }
        }
        Ok(())
    }

    /// Converts a file that is one document.
    fn file(
        &self,
        converter: &Converter,
        origin: &Origin,
        bytes: &[u8],
        output_rules: OutputRules,
        console: &Console,
    ) -> Result<Outcome, Failure> {
        let name = origin.name();
        let decoded = Decoded::new(bytes, 0);
        let page = Page::new(&name, &decoded, 1);
        let format = match format_of(self.from, &decoded, &name, console) {
            Ok(format) => format,
            Err(Unreadable::NoText(found)) => return Ok(output_rules.unreadable(&page, found)),
            Err(Unreadable::NoFormat(failure)) => return Err(failure),
        };
        let converter = &*converter.reading(format)?;
        let slot = Slot::whole(page.text);
        let mut outcome = output_rules.convert(converter, &page, &slot, format, &decoded.found);
        let carrier = outcome.carrier(converter);
        outcome.output = outcome.output.map(|text| {
            if output_rules.shape == DocumentLayout::Document && carrier != Carrier::Json {
                return text;
            }
            let mut written = String::with_capacity(text.len() + 1);
            output_rules.write(&text, &page, &slot, carrier, &mut written);
            written
        });
        Ok(outcome)
    }

    /// Converts a file line by line.
    fn lines(
        &self,
        converter: &Converter,
        (name, opened): (String, Opened),
        targets: &mut Targets,
        console: &Console,
    ) -> Result<Tally, Failure> {
        let (from, most) = (self.from, self.input_bytes);
        let is_array = opened.is_array;
        let feed = LineReader::open(name.clone(), opened, from, most, self.jsonl, console)?;
        let Some(feed) = feed else { return Ok(Tally::default()) };
        let output_rules = self.output_rules(DocumentLayout::Line, console);
        let converter = converter.reading(feed.format())?.into_owned();
        let mut all = Lines::default();
        let mut array = (is_array && targets.is_array).then(Array::default);
        feed.run(
            console,
            move |entry, lines: &mut Lines| lines.add(output_rules, &converter, entry),
            |_, lines| lines.output.push('\n'),
            |lines| {
                console.print(&lines.report);
                match &mut array {
                    Some(array) => targets.output.write(array.add(&lines.output).as_bytes())?,
                    None => targets.output.write(lines.output.as_bytes())?,
                }
                if let Some(rejects) = &mut targets.rejects {
                    rejects.write(lines.rejects.as_bytes())?;
                }
                all.sum(lines);
                Ok(())
            },
        )?;
        if let Some(array) = array {
            targets.output.write(array.end().as_bytes())?;
        }
        all.losses.say(&name, console);
        if all.refused > 0 {
            let refused = count(all.refused, "line");
            let of = all.lines;
            console.summary(&match all.dropped.is_empty() {
                true => format!("{}: {refused} of {of} refused", visible_line(&name)),
                false => refusal(&name, &format!("{refused} of {of} refused"), &all.dropped),
            });
        }
        Ok(all.tally)
    }

    fn output_rules(&self, shape: DocumentLayout, console: &Console) -> OutputRules {
        let Self { is_strict, consent, out, .. } = *self;
        let (verbosity, keeps_rejects) = (console.verbosity(), out.rejects.is_some());
        OutputRules { shape, consent, is_strict, keeps_rejects, verbosity }
    }
}

/// Leaves out what an earlier run wrote to the folder of the output, if that is inside of a folder
/// that is read.
fn leave_out(output: &Path, files: &FilesArgs, origins: &mut Vec<Origin>, console: &Console) {
    let Ok(output) = output.canonicalize() else { return };
    let is_inside = |folder: &PathBuf| {
        let folder = folder.canonicalize();
        folder.is_ok_and(|folder| output != folder && output.starts_with(folder))
    };
    if !files.files.iter().any(is_inside) {
        return;
    }
    let before = origins.len();
    origins.retain(|origin| {
        let path = origin.path().filter(|path| !files.files.iter().any(|file| file == path));
        path.and_then(|path| path.canonicalize().ok()).is_none_or(|path| !path.starts_with(&output))
    });
    if origins.len() < before {
        console.hint("the files in the folder of the output are not read");
    }
}

/// Returns each file with its output in a folder.
///
/// # Errors
///
/// Two files have the same output, or a file is also an output.
fn outputs<'o>(
    origins: &'o [Origin],
    folder: &Path,
    name: impl Fn(&Path) -> PathBuf,
) -> Result<Vec<(&'o Origin, PathBuf)>, Failure> {
    let mut sources: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    let mut outputs = Vec::new();
    for origin in origins {
        let Some(path) = origin.path() else {
            let text = "standard input has no name: name an output file instead of a folder";
            return Err(Failure::Usage(text.to_owned()));
        };
        let target = folder.join(name(path));
        if is_same(path, &target) {
            return Err(is_input(&target));
        }
        if let Some(other) = sources.insert(target.clone(), path) {
            return Err(Failure::Usage(format!(
                "`{}` and `{}` would both be written to `{}`: convert them to different folders",
                other.display(),
                path.display(),
                target.display()
            )));
        }
        outputs.push((origin, target));
    }
    Ok(outputs)
}

fn is_input(output: &Path) -> Failure {
    Failure::Usage(format!("the output `{}` is also input", output.display()))
}

/// Whether a path names a folder.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

fn has_extension(path: &Path) -> bool {
    path.extension().is_some()
}

/// Whether two paths name the same file. The file may not exist.
fn is_same(one: &Path, two: &Path) -> bool {
    let place = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    let [one, two] =
        [one, two].map(|path| (path.as_os_str() != "-").then(|| place(path)).flatten());
    one.is_some() && one == two
}

/// Joins lines to a JSON array.
#[derive(Default)]
struct Array {
    has_items: bool,
}

impl Array {
    /// Returns the text of more lines.
    fn add(&mut self, lines: &str) -> String {
        let mut text = String::with_capacity(lines.len() + 2);
        for line in lines.lines().filter(|line| !line.is_empty()) {
            text.push_str(if self.has_items { ",\n" } else { "[\n" });
            text.push_str(line);
            self.has_items = true;
        }
        text
    }

    /// Returns the end of the array.
    const fn end(self) -> &'static str {
        if self.has_items { "\n]\n" } else { "[]\n" }
    }
}

/// The result of some lines.
#[derive(Debug, Default)]
struct Lines {
    output: String,
    rejects: String,
    report: String,
    tally: Tally,
    losses: Losses,
    lines: usize,
    refused: usize,
    /// The names of the losses for which lines were rejected, as in `--allow-loss`.
    dropped: Vec<String>,
}

impl Lines {
    /// Converts one more line.
    fn add(&mut self, output_rules: OutputRules, converter: &Converter, entry: &Entry<'_>) {
        let Entry { page, found, slot, format, .. } = entry;
        let outcome = match slot {
            None => output_rules.refuse(page, found),
            Some(slot) => output_rules.convert(converter, page, slot, *format, found),
        };
        match (&outcome.output, slot) {
            (Some(text), Some(slot)) => {
                let carrier = outcome.carrier(converter);
                output_rules.write(text, page, slot, carrier, &mut self.output);
            }
            _ => self.refused += 1,
        }
        self.lines += 1;
        self.rejects.extend(outcome.reject);
        self.drops(&outcome.refused);
        self.report.push_str(&outcome.report);
        self.tally.add(outcome.tally);
        self.losses.merge(outcome.losses);
    }

    /// Records why a line was rejected.
    fn drops(&mut self, words: &[String]) {
        let new = words.iter().filter(|word| !self.dropped.contains(word));
        let new: Vec<_> = new.cloned().collect();
        self.dropped.extend(new);
    }

    /// Adds the counts of later lines, whose output is already written.
    fn sum(&mut self, later: Self) {
        self.drops(&later.dropped);
        self.lines += later.lines;
        self.tally.add(later.tally);
        self.losses.merge(later.losses);
        self.refused += later.refused;
    }
}
