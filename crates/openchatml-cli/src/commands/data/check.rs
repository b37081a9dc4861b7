//! `data check`.

use std::path::PathBuf;

use clap::Args;
use openchatml::{Code, lint};
use openchatml_data::kernel::Task;
use openchatml_data::{Checked, DataError, RowFindings, check_rows};

use super::args::{InputArgs, RecordArgs, failure, number_of, times};
use crate::args::{ConsentArgs, DenyArgs};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::output::Target;
use crate::visible::visible_line;

/// Count what is wrong, with examples
///
/// Checks every record with the reader of its format and with the lints for samples of data sets,
/// and finds conversations that occur again. The index of conversations takes about 64 bytes for
/// each; if it exceeds --memory, later conversations are only compared with those in it.
///
/// `ocml check FILE` shows all findings of a file; `ocml explain CODE` explains a code.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    input: InputArgs,
    /// The number of examples of each code
    #[arg(long, value_name = "N", default_value = "3")]
    examples: usize,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Also write the findings of each row to this file, as JSONL (`.gz` and `.zst` compress it)
    #[arg(long, value_name = "FILE")]
    findings: Option<PathBuf>,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    consent: ConsentArgs,
    #[command(flatten)]
    deny: DenyArgs,
}

const EXAMPLES: &str = "\
Examples:
  ocml data check train.jsonl
  ocml data check --json --examples 10 'data/*.parquet' > findings.json
  ocml data check --findings rows.jsonl train.jsonl";

/// Runs `data check`.
pub(super) fn run(args: &CheckArgs, console: &Console) -> Result<Status, Failure> {
    let mut lints = lint::SAMPLE.to_vec();
    lints.push(Code::Duplicate);
    let kernel = args.record.kernel(Task::Check { lints }, &args.consent, console)?;
    let run = args.input.run(None, console);
    let fields = args.record.fields(None)?;
    let mut file = match &args.findings {
        Some(path) => Some(Target::open(Some(path))?),
        None => None,
    };
    let mut failed = None;
    let each = |row: RowFindings| {
        let Some(file) = &mut file else { return Ok(()) };
        let mut line = serde_json::to_vec(&row).expect("its keys are strings");
        line.push(b'\n');
        file.write(&line).map_err(|error| {
            failed = Some(error);
            DataError::Interrupted
        })
    };
    let checked = check_rows(&run, &fields, kernel, args.examples, each);
    console.stop_progress();
    if let Some(failed) = failed {
        return Err(failed);
    }
    let checked = checked.map_err(failure)?;
    file.map_or(Ok(()), Target::finish)?;
    let text = if args.json { json(&checked) } else { table(&checked) };
    let mut out = Target::stdout();
    out.write(text.as_bytes())?;
    out.finish()?;
    let tally = &checked.tally;
    let found = tally.with_errors > 0 || args.deny.deny_warnings && tally.with_warnings > 0;
    Ok(if found { Status::Found } else { Status::Fine })
}

pub(super) fn json(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("the keys of its maps are strings");
    format!("{text}\n")
}

fn table(checked: &Checked) -> String {
    let tally = &checked.tally;
    let mut out = String::new();
    for finding in &checked.findings {
        let count = times(finding.count);
        out.push_str(&format!("{:<8} {:<22} in {count}\n", finding.severity, finding.code));
        for example in &finding.examples {
            let (file, message) = (visible_line(&example.file), visible_line(&example.message));
            out.push_str(&format!("    {file}:{}: {message}\n", example.row));
        }
    }
    if checked.unindexed > 0 {
        out.push_str(&format!(
            "later conversations were not compared with {}: raise `--memory` to find all duplicates\n",
            number_of(checked.unindexed, "conversation")
        ));
    }
    out.push_str(&format!(
        "{}: {} with errors, {} with warnings\n",
        number_of(tally.records, "record"),
        tally.with_errors,
        tally.with_warnings
    ));
    out
}
