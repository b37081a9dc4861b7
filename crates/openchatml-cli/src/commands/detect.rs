//! `detect`: detects the format of files and shows the evidence.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use openchatml::{Candidate, detect, recognize};
use serde::Serialize;

use crate::args::{Bounds, Choice, FilesArgs, JsonlArgs};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::input::{
    Batches, Decoded, Input, Origin, Page, RecordFormat, Slot, detect_lines, of_record, of_records,
    origins,
};
use crate::output::Target;
use crate::report::{PlaceSpan, count};
use crate::visible::visible_line;

/// Detect the format of files, with the confidence and the evidence
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml detect chat.txt
  ocml detect --output-format json data/*.jsonl")]
pub(crate) struct DetectArgs {
    #[command(flatten)]
    files: FilesArgs,
    /// The format of the result
    #[arg(long, value_name = "STYLE", default_value = "text")]
    output_format: DetectStyle,
    #[command(flatten)]
    jsonl: JsonlArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DetectStyle {
    /// Text for people
    Text,
    /// One JSON object for each file
    Json,
}

/// Runs `detect`.
pub(crate) fn run(args: &DetectArgs, console: &Console) -> Result<Status, Failure> {
    let mut status = Status::Fine;
    let mut target = Target::stdout();
    for origin in &origins(&args.files, console)? {
        match look(origin, args.jsonl.jsonl, console) {
            Ok(seen) => {
                if seen.format.is_none() {
                    status = status.max(Status::Found);
                }
                target.write(args.output_format.written(&seen).as_bytes())?;
            }
            Err(failure) => {
                console.failure(&failure);
                status = status.max(failure.status());
            }
        }
    }
    Ok(status)
}

/// The detection result of a file.
#[derive(Debug, Serialize)]
struct Seen {
    file: String,
    format: Option<String>,
    /// Whether each line is a document in that format.
    jsonl: bool,
    /// Whether each line is in its own format, and `format` is that of the first.
    #[serde(rename = "mixed", skip_serializing_if = "std::ops::Not::not")]
    is_mixed: bool,
    /// Whether the file has no text but white space.
    #[serde(rename = "empty", skip_serializing_if = "std::ops::Not::not")]
    is_empty: bool,
    /// Whether the text is a raw completion of the assistant.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    completion: bool,
    confidence: u8,
    evidence: Vec<EvidenceItem>,
    others: Vec<Other>,
    /// The number of lines in each format, if they differ.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    lines: BTreeMap<String, usize>,
    /// The name of a recognized format that is not supported.
    #[serde(skip_serializing_if = "Option::is_none")]
    recognized: Option<Cow<'static, str>>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<Cow<'static, str>>,
}

/// A piece of evidence for the format.
#[derive(Debug, Serialize)]
struct EvidenceItem {
    what: String,
    span: PlaceSpan,
    line: usize,
    column: usize,
}

/// A less likely format.
#[derive(Debug, Serialize)]
struct Other {
    format: String,
    confidence: u8,
}

fn look(origin: &Origin, is_jsonl: bool, console: &Console) -> Result<Seen, Failure> {
    let name = origin.name();
    let most = Bounds::default().input_bytes;
    let opened = match origin.input(Choice::Auto, is_jsonl, most, console)? {
        Input::Document(bytes) => {
            let decoded = Decoded::new(&bytes, 0);
            let page = Page::new(&name, &decoded, 1);
            if page.text.trim().is_empty() {
                return Ok(Seen { is_empty: true, ..Seen::nothing(name) });
            }
            let mut seen = Seen::of(&[&page], None, &detect(page.text));
            seen.recognize(&name, &[&page]);
            return Ok(seen);
        }
        Input::Lines(opened) => opened,
    };
    let mut batches = Batches::new(opened, most);
    let lines = batches.look();
    console.stop_progress();
    let lines = lines?;
    if lines.is_empty() {
        return Ok(Seen { jsonl: true, is_empty: true, ..Seen::nothing(name) });
    }
    let decoded: Vec<_> = lines.iter().map(|it| Decoded::new(it.bytes, it.offset)).collect();
    let pages = lines.iter().zip(&decoded);
    let pages: Vec<_> = pages.map(|(line, it)| Page::new(&name, it, line.number)).collect();
    let pages: Vec<&Page<'_>> = pages.iter().collect();
    let texts: Vec<&str> = pages.iter().map(|page| page.text).collect();
    let alone: Vec<_> = texts.iter().map(|line| of_record(line)).collect();
    let kinds = kinds(&texts, &alone);
    let (mut found, mut slot) = detect_lines(&texts);
    let mut looked = pages;
    let format = of_records(&texts, &alone);
    let is_mixed = matches!(format, Some(RecordFormat::Each(_)));
    if let Some(format) = format.map(RecordFormat::first)
        && found.first().is_none_or(|best| best.format != format)
    {
        // Only the lines in this format are evidence for it.
        let is_in = |line: &Option<Candidate>| line.as_ref().is_some_and(|it| it.format == format);
        looked = looked.into_iter().zip(&alone).filter(|it| is_in(it.1)).map(|it| it.0).collect();
        let texts: Vec<&str> = looked.iter().map(|page| page.text).collect();
        (found, slot) = detect_lines(&texts);
    }
    let mut seen = Seen { jsonl: true, is_mixed, ..Seen::of(&looked, slot, &found) };
    seen.recognize(&name, &looked);
    if kinds.len() > 1 {
        seen.lines = kinds;
    }
    Ok(seen)
}

/// The number of these lines in each format.
fn kinds(lines: &[&str], alone: &[Option<Candidate>]) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for (line, best) in lines.iter().zip(alone) {
        let kind = match (best, recognize([*line])) {
            (_, Some(recognized)) => recognized.name.into_owned(),
            (Some(best), None) => best.format.to_string(),
            (None, None) => "no format".to_owned(),
        };
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

impl Seen {
    fn nothing(file: String) -> Self {
        let (evidence, others) = (Vec::new(), Vec::new());
        let (lines, recognized) = (BTreeMap::new(), None);
        Self {
            file,
            format: None,
            jsonl: false,
            is_mixed: false,
            is_empty: false,
            completion: false,
            confidence: 0,
            evidence,
            others,
            lines,
            recognized,
            help: None,
        }
    }

    /// Detects the format of these records. If they are texts in JSON strings, the evidence refers
    /// to the text in `text`.
    fn of(pages: &[&Page<'_>], text: Option<(usize, Slot<'_>)>, found: &[Candidate]) -> Self {
        let name = pages.first().map_or("", |page| page.name);
        let mut seen = Self::nothing(name.to_owned());
        let Some((best, others)) = found.split_first() else { return seen };
        seen.format = Some(best.format.to_string());
        seen.confidence = best.confidence;
        seen.completion = best.is_completion;
        for evidence in &best.evidence {
            let (record, span) = match &text {
                Some((record, slot)) => (*record, slot.span(evidence.span)),
                None => (evidence.record, evidence.span),
            };
            let Some(page) = pages.get(record) else { continue };
            let place = page.locate(span.start);
            seen.evidence.push(EvidenceItem {
                what: evidence.what.clone(),
                span: page.file_span(span).into(),
                line: place.line,
                column: place.column,
            });
        }
        for other in others {
            let format = other.format.to_string();
            seen.others.push(Other { format, confidence: other.confidence });
        }
        seen
    }
}

impl Seen {
    /// Describes the records if none of our formats is detected.
    fn recognize(&mut self, name: &str, pages: &[&Page<'_>]) {
        name.clone_into(&mut self.file);
        if self.format.is_none() {
            let found = recognize(pages.iter().map(|page| page.text));
            (self.recognized, self.help) = found.map(|it| (it.name, it.help)).unzip();
        }
    }
}

impl DetectStyle {
    fn written(self, seen: &Seen) -> String {
        match self {
            Self::Json => serde_json::to_string(seen).expect("it is always JSON") + "\n",
            Self::Text => text(seen),
        }
    }
}

fn text(seen: &Seen) -> String {
    let name = visible_line(&seen.file);
    let Some(format) = &seen.format else {
        return match &seen.recognized {
            Some(what) => {
                let help =
                    seen.help.as_ref().map_or_else(String::new, |help| format!("  help: {help}\n"));
                format!("{name}: {what}\n{help}")
            }
            None if seen.is_empty => format!("{name}: the file is empty\n"),
            None => format!("{name}: no format detected\n"),
        };
    };
    let lines = if seen.jsonl { ", one document per line" } else { "" };
    let completion = if seen.completion { ", a completion of the assistant" } else { "" };
    if seen.is_mixed {
        let mut out = format!("{name}: mixed formats{lines}\n");
        append_lines(&seen.lines, &mut out);
        return out;
    }
    let doubt = match seen.confidence < Candidate::CERTAIN {
        true => "; not certain enough to read it, so name the format with `--from`",
        false => "",
    };
    let mut out = format!("{name}: {format}{completion}{lines} ({} %){doubt}\n", seen.confidence);
    for item in &seen.evidence {
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "  {}:{}: {}", item.line, item.column, visible_line(&item.what));
    }
    append_lines(&seen.lines, &mut out);
    for other in &seen.others {
        let _ = writeln!(out, "  less likely: {} ({} %)", other.format, other.confidence);
    }
    out
}

/// Appends the number of lines in each format.
fn append_lines(lines: &BTreeMap<String, usize>, out: &mut String) {
    for (kind, lines) in lines {
        let _ = writeln!(out, "  {}: {kind}", count(*lines, "line"));
    }
}
