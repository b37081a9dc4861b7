//! `data stats`.

use std::path::PathBuf;

use clap::Args;
use openchatml::TextFormat;
use openchatml_data::kernel::Task;
use openchatml_data::record::Purpose;
use openchatml_data::{Histogram, RoleStats, Stats, stats};

use super::args::{EncodingArgs, InputArgs, RecordArgs, failure, grouped, number_of, tell};
use super::check::json;
use super::html::html;
use crate::args::{ConsentArgs, text_format};
use crate::console::Console;
use crate::failure::{Failure, Status};
use crate::output::Target;

/// Count messages, bytes and token ids
///
/// Counts by role and channel, and shows how long conversations are: the classes of the histograms
/// reach from a power of two to the next. With --to, token ids of this format are counted as in a
/// training sample.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct StatsArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Count the token ids of this text format
    #[arg(short = 't', long = "to", value_name = "FORMAT", value_parser = text_format())]
    to: Option<TextFormat>,
    #[command(flatten)]
    encoding: EncodingArgs,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Also write a page with pictures to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    record: RecordArgs,
}

const EXAMPLES: &str = "\
Examples:
  ocml data stats train.jsonl
  ocml data stats -t harmony --html stats.html 'data/*.parquet'
  ocml data stats --json train.jsonl | jq .messages.max";

/// Runs `data stats`.
pub(super) fn run(args: &StatsArgs, console: &Console) -> Result<Status, Failure> {
    let tokens = args.to.map(|format| args.encoding.tokens(format, console)).transpose()?;
    let mut kernel = args.record.kernel(Task::Count(tokens), &ConsentArgs::default(), console)?;
    kernel.purpose = Purpose::Training;
    kernel.render.keep_reasoning = true;
    let run = args.input.run(None, console);
    let counted = stats(&run, &args.record.fields(None)?, kernel);
    console.stop_progress();
    let counted = counted.map_err(failure)?;
    if let Some(path) = &args.html {
        let mut file = Target::open(Some(path))?;
        file.write(html(&counted, &run.inputs).as_bytes())?;
        file.finish()?;
    }
    let text = if args.json { json(&counted) } else { table(&counted) };
    let mut out = Target::stdout();
    out.write(text.as_bytes())?;
    out.finish()?;
    tell(&counted.tally, console);
    Ok(if counted.tally.with_errors > 0 { Status::Found } else { Status::Fine })
}

/// The name of a role with its channel.
pub(super) fn name(role: &RoleStats) -> String {
    match (&role.role, &role.channel) {
        (None, _) => "(format)".to_owned(),
        (Some(role), None) => role.clone(),
        (Some(role), Some(channel)) => format!("{role} {channel}"),
    }
}

fn table(stats: &Stats) -> String {
    let has_ids = stats.ids.count > 0;
    let mut out = String::new();
    let columns = ["conversations", "messages", "bytes", if has_ids { "ids" } else { "" }];
    out.push_str(&line("", &columns.map(str::to_owned)));
    for role in &stats.roles {
        let ids = if has_ids { grouped(role.ids) } else { String::new() };
        let numbers = [role.conversations, role.messages, role.bytes].map(grouped);
        let [conversations, messages, bytes] = numbers;
        out.push_str(&line(&name(role), &[conversations, messages, bytes, ids]));
    }
    for (what, histogram) in histograms(stats) {
        out.push_str(&format!(
            "\n{what}: {} in total, {} to {}, {} on average\n",
            grouped(histogram.sum),
            grouped(histogram.min),
            grouped(histogram.max),
            grouped(histogram.mean()),
        ));
        let most = histogram.classes.values().max().copied().unwrap_or(1);
        for (class, count) in &histogram.classes {
            let bar = "#".repeat(usize::try_from(count * 40 / most).unwrap_or_default());
            out.push_str(&format!("{:>12} {:>12} {bar}\n", grouped(*class), grouped(*count)));
        }
    }
    if stats.without_ids > 0 {
        let records = number_of(stats.without_ids, "conversation");
        out.push_str(&format!("\n{records} cannot be written in this format, and have no ids\n"));
    }
    out
}

/// The histograms with numbers.
pub(super) fn histograms(stats: &Stats) -> impl Iterator<Item = (&'static str, &Histogram)> {
    let all = [
        ("messages of a conversation", &stats.messages),
        ("bytes of a conversation", &stats.bytes),
        ("ids of a conversation", &stats.ids),
    ];
    all.into_iter().filter(|(_, histogram)| histogram.count > 0)
}

fn line(name: &str, numbers: &[String; 4]) -> String {
    let [one, two, three, four] = numbers;
    let line = format!("{name:<24} {one:>14} {two:>14} {three:>16} {four:>14}");
    format!("{}\n", line.trim_end())
}
