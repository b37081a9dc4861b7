//! `detect`: which format files are in, and what speaks for it.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use openchatml::{Candidate, detect};
use serde::Serialize;

use crate::args::{Bounds, JsonlArgs};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::input::{Batches, Decoded, Origin, Page, Slot, detect_line, origins};
use crate::output::Target;
use crate::report::PlaceSpan;
use crate::visible::visible_line;

/// Say which format files are in, how sure that is, and what speaks for it
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml detect chat.txt
  ocml detect --output-format json data/*.jsonl")]
pub(crate) struct DetectArgs {
    /// The files; standard input if one is `-` or none is given
    files: Vec<PathBuf>,
    /// How the result is written
    #[arg(long, value_name = "STYLE", default_value = "text")]
    output_format: DetectStyle,
    #[command(flatten)]
    jsonl: JsonlArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DetectStyle {
    /// For people
    Text,
    /// One JSON object for each file
    Json,
}

/// Runs `detect`.
pub(crate) fn run(args: &DetectArgs, console: &Console) -> Result<Status, Failure> {
    let mut status = Status::Fine;
    let mut target = Target::stdout();
    for origin in &origins(&args.files) {
        let is_jsonl = args.jsonl.jsonl || origin.is_jsonl();
        match look(origin, is_jsonl, console) {
            Ok(seen) => {
                if seen.format.is_none() {
                    status = status.max(Status::Found);
                }
                target.write(args.output_format.written(&seen).as_bytes())?;
            }
            Err(failure) => {
                console.error(&failure.to_string());
                status = status.max(failure.status());
            }
        }
    }
    Ok(status)
}

/// What is known of a file.
#[derive(Debug, Serialize)]
struct Seen {
    file: String,
    format: Option<String>,
    /// Whether each line is a document in that format.
    jsonl: bool,
    confidence: u8,
    evidence: Vec<Clue>,
    others: Vec<Other>,
}

/// Something that speaks for the format.
#[derive(Debug, Serialize)]
struct Clue {
    what: String,
    span: PlaceSpan,
    line: usize,
    column: usize,
}

/// A format that is less likely.
#[derive(Debug, Serialize)]
struct Other {
    format: String,
    confidence: u8,
}

fn look(origin: &Origin, is_jsonl: bool, console: &Console) -> Result<Seen, Failure> {
    let name = origin.name();
    let most = Bounds::default().input_bytes;
    if !is_jsonl {
        let bytes = origin.read(most, console)?;
        let decoded = Decoded::new(&bytes, 0);
        let page = Page::new(&name, &decoded, 1);
        return Ok(Seen::of(&page, &Slot::whole(page.text), &detect(page.text)));
    }
    let mut batches = Batches::new(origin.open(console)?, most);
    while let Some(batch) = batches.next()? {
        for line in batch.lines() {
            let decoded = Decoded::new(line.bytes, line.offset);
            let page = Page::new(&name, &decoded, line.number);
            if let Some((slot, found)) = detect_line(page.text) {
                console.stop_progress();
                return Ok(Seen { jsonl: true, ..Seen::of(&page, &slot, &found) });
            }
        }
    }
    console.stop_progress();
    Ok(Seen { jsonl: true, ..Seen::nothing(name) })
}

impl Seen {
    fn nothing(file: String) -> Self {
        let (evidence, others) = (Vec::new(), Vec::new());
        Self { file, format: None, jsonl: false, confidence: 0, evidence, others }
    }

    fn of(page: &Page<'_>, slot: &Slot<'_>, found: &[Candidate]) -> Self {
        let mut seen = Self::nothing(page.name.to_owned());
        let Some((best, others)) = found.split_first() else { return seen };
        seen.format = Some(best.format.to_string());
        seen.confidence = best.confidence;
        for evidence in &best.evidence {
            let span = slot.span(evidence.span);
            let place = page.locate(span.start);
            seen.evidence.push(Clue {
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
    let Some(format) = &seen.format else { return format!("{name}: no format is detected\n") };
    let lines = if seen.jsonl { ", one document per line" } else { "" };
    let mut out = format!("{name}: {format}{lines} ({} %)\n", seen.confidence);
    for clue in &seen.evidence {
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "  {}:{}: {}", clue.line, clue.column, visible_line(&clue.what));
    }
    for other in &seen.others {
        let _ = writeln!(out, "  less likely: {} ({} %)", other.format, other.confidence);
    }
    out
}
