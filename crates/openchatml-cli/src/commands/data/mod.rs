//! `data`: whole data sets.

mod args;
mod check;
mod html;
mod rows;
mod stats;
mod write;

use clap::{Args, Subcommand};

use crate::console::Console;
use crate::failure::{Failure, Status};

/// Process data sets of any size: JSONL, Parquet and Arrow
///
/// Reads files, folders and patterns in order, in bounded memory, on all cores. What is written
/// goes into a folder, in shards with checksums: a run that was interrupted continues when the same
/// command runs again, and gives the same bytes. Rows that cannot be processed are written to files
/// of rejects, with the reasons.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DataArgs {
    #[command(subcommand)]
    command: DataCommand,
}

#[derive(Debug, Subcommand)]
enum DataCommand {
    /// Convert conversations to another format
    Convert(write::ConvertArgs),
    /// Write conversations as token ids with loss masks
    Tokenize(write::TokenizeArgs),
    /// Count what is wrong, with examples
    Check(check::CheckArgs),
    /// Count messages, bytes and token ids
    Stats(stats::StatsArgs),
    /// Drop conversations that occurred before
    Dedup(rows::DedupArgs),
    /// Take some rows by chance
    Sample(rows::SampleArgs),
    /// Divide rows into parts by chance, without the same conversation in two parts
    Split(rows::SplitArgs),
}

const EXAMPLES: &str = "\
Examples:
  ocml data check data/
  ocml data convert -t chatml 'data/*.parquet' -o out/
  ocml data tokenize -t harmony --pack 8192 train.jsonl.zst --output-format parquet -o ids/
  ocml data stats -t harmony train.parquet --html stats.html
  ocml data dedup --near 0.8 train.jsonl -o unique/
  ocml data sample --rows 1000 train.jsonl -o some/
  ocml data split --part train=0.9 --part test=0.1 train.jsonl -o parts/";

/// Runs `data`.
pub(crate) fn run(args: &DataArgs, console: &Console) -> Result<Status, Failure> {
    match &args.command {
        DataCommand::Convert(args) => write::convert(args, console),
        DataCommand::Tokenize(args) => write::tokenize(args, console),
        DataCommand::Check(args) => check::run(args, console),
        DataCommand::Stats(args) => stats::run(args, console),
        DataCommand::Dedup(args) => rows::dedup(args, console),
        DataCommand::Sample(args) => rows::sample(args, console),
        DataCommand::Split(args) => rows::split(args, console),
    }
}
