//! `data check`.

use clap::Args;
use openchatml_data::kernel::Task;
use openchatml_data::{Checked, check};

use super::args::{InputArgs, RecordArgs, failure, number_of, times};
use crate::args::{ConsentArgs, DenyArgs};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::output::Target;
use crate::visible::visible_line;

/// Count what is wrong, with examples
///
/// Checks every record with the reader of its format and with the lints for samples of data sets.
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
  ocml data check --json --examples 10 'data/*.parquet' > findings.json";

/// Runs `data check`.
pub(super) fn run(args: &CheckArgs, console: &Console) -> Result<Status, Failure> {
    let kernel = args.record.kernel(Task::check(), &args.consent);
    let run = args.input.run(None, console);
    let checked = check(&run, &args.record.fields(None)?, kernel, args.examples);
    console.stop_progress();
    let checked = checked.map_err(failure)?;
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
    out.push_str(&format!(
        "{}: {} with errors, {} with warnings\n",
        number_of(tally.records, "record"),
        tally.with_errors,
        tally.with_warnings
    ));
    out
}
