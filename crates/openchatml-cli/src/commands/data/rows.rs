//! `data dedup`, `data sample` and `data split`: rows stay as they are.

use clap::{ArgGroup, Args};
use openchatml_data::kernel::{KernelOptions, Task};
use openchatml_data::{Near, Share, Size};

use super::args::{InputArgs, OutputArgs, RecordArgs, failure, report};
use crate::args::ConsentArgs;
use crate::console::Console;
use crate::failure::{Failure, Status};

/// Drop conversations that occurred before
///
/// Two conversations are equal if they have the same words in the same messages; white space does
/// not matter. With --near, a conversation is also dropped if it shares enough sequences of three
/// words with an earlier one; case and punctuation do not matter then. Rows are not changed. Each
/// dropped row is listed in a file `_duplicates-….jsonl`, with the row that it equals.
///
/// The index of conversations is in memory: about 64 bytes for each, and about 2 KiB with --near.
#[derive(Args, Debug)]
#[command(after_help = DEDUP_EXAMPLES)]
pub(super) struct DedupArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Also drop conversations of which this share of three-word sequences is in an earlier one,
    /// such as 0.8
    #[arg(long, value_name = "SHARE")]
    near: Option<f64>,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    output: OutputArgs,
}

const DEDUP_EXAMPLES: &str = "\
Examples:
  ocml data dedup train.jsonl -o unique/
  ocml data dedup --near 0.8 --memory 4G 'data/*.parquet' -o unique/";

/// Take some rows by chance
///
/// Rows are not changed, and stay in order. The same seed takes the same rows.
#[derive(Args, Debug)]
#[command(after_help = SAMPLE_EXAMPLES)]
#[command(group = ArgGroup::new("size").required(true))]
pub(super) struct SampleArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Take exactly this many rows, or all if there are fewer; the inputs are read twice
    #[arg(long, value_name = "N", group = "size")]
    rows: Option<u64>,
    /// Take each row with this probability, from 0 to 1
    #[arg(long, value_name = "SHARE", group = "size")]
    share: Option<f64>,
    /// The seed
    #[arg(long, value_name = "N", default_value = "0")]
    seed: u64,
    #[command(flatten)]
    output: OutputArgs,
}

const SAMPLE_EXAMPLES: &str = "\
Examples:
  ocml data sample --rows 1000 train.jsonl -o some/
  ocml data sample --share 0.01 --seed 7 'data/*.parquet' -o some/";

/// Divide rows into parts by chance, without the same conversation in two parts
///
/// Rows are not changed, and stay in order. The part of a conversation depends only on its words and
/// on the seed, so rows that are added later do not change the parts of others.
#[derive(Args, Debug)]
#[command(after_help = SPLIT_EXAMPLES)]
pub(super) struct SplitArgs {
    #[command(flatten)]
    input: InputArgs,
    /// A part, and its share of all conversations; the shares add up to 1
    #[arg(long = "part", value_name = "NAME=SHARE", required = true, value_parser = part)]
    parts: Vec<Share>,
    /// The seed
    #[arg(long, value_name = "N", default_value = "0")]
    seed: u64,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    output: OutputArgs,
}

const SPLIT_EXAMPLES: &str = "\
Examples:
  ocml data split --part train=0.9 --part test=0.1 train.jsonl -o parts/
  ocml data split --part a=0.5 --part b=0.5 --seed 7 'data/*.parquet' -o parts/";

/// Parses `NAME=SHARE`.
fn part(text: &str) -> Result<Share, &'static str> {
    let wrong = "write the part as NAME=SHARE, such as train=0.9";
    let (name, share) = text.split_once('=').ok_or(wrong)?;
    let share = share.parse().map_err(|_| wrong)?;
    Ok(Share { name: name.to_owned(), share })
}

/// Rows are only compared: nothing is lost by what a reader drops.
fn kernel(record: &RecordArgs, console: &Console) -> Result<KernelOptions, Failure> {
    record.kernel(Task::check(), &ConsentArgs::default(), console)
}

/// Runs `data dedup`.
pub(super) fn dedup(args: &DedupArgs, console: &Console) -> Result<Status, Failure> {
    let mut run = args.input.run(Some(&args.output), console);
    run.description = args.record.describe();
    let near = args.near.map(Near::new);
    let fields = args.record.fields(None)?;
    let done = openchatml_data::dedup(&run, &fields, kernel(&args.record, console)?, near);
    console.stop_progress();
    let (summary, dropped) = done.map_err(failure)?;
    Ok(report(&summary, &args.output, &[format!("{dropped} duplicates dropped")], console))
}

/// Runs `data sample`.
pub(super) fn sample(args: &SampleArgs, console: &Console) -> Result<Status, Failure> {
    let run = args.input.run(Some(&args.output), console);
    let size = match (args.rows, args.share) {
        (Some(rows), _) => Size::Rows(rows),
        (None, share) => Size::Share(share.unwrap_or_default()),
    };
    let done = openchatml_data::sample(&run, size, args.seed);
    console.stop_progress();
    Ok(report(&done.map_err(failure)?, &args.output, &[], console))
}

/// Runs `data split`.
pub(super) fn split(args: &SplitArgs, console: &Console) -> Result<Status, Failure> {
    let mut run = args.input.run(Some(&args.output), console);
    run.description = args.record.describe();
    let fields = args.record.fields(None)?;
    let done = openchatml_data::split(
        &run,
        &fields,
        kernel(&args.record, console)?,
        &args.parts,
        args.seed,
    );
    console.stop_progress();
    Ok(report(&done.map_err(failure)?, &args.output, &[], console))
}
