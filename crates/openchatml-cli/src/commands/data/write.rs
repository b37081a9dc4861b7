//! `data convert` and `data tokenize`.

use clap::{Args, ValueEnum};
use openchatml::TextFormat;
use openchatml_data::kernel::{KernelOptions, Task, TokenizeOptions, TooLong};
use openchatml_data::record::Purpose;

use super::super::convert::converter::{purpose_of_convert, purpose_of_render};
use super::super::convert::response_formats;
use super::super::convert::tokens::mask::{HeadersArg, TrainArg, TurnsArg, policy};
use super::args::{
    EncodingArgs, InputArgs, KeepArgs, OutputArgs, RecordArgs, failure, named, report,
};
use crate::args::{ConsentArgs, RenderArgs, Written, text_format, written};
use crate::console::Console;
use crate::failure::{Failure, Status};

/// Convert conversations to another format
///
/// In JSONL, a row is the document in a JSON format, or an object with the text as `text`. In
/// tables, it is the column `text`.
#[derive(Args, Debug)]
#[command(after_help = CONVERT_EXAMPLES)]
pub(super) struct ConvertArgs {
    /// The format of the output
    #[arg(short = 't', long = "to", value_name = "FORMAT", value_parser = written())]
    to: Written,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    keep: KeepArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    consent: ConsentArgs,
    #[command(flatten)]
    render: RenderArgs,
}

const CONVERT_EXAMPLES: &str = "\
Examples:
  ocml data convert -t chatml train.jsonl -o out/
  ocml data convert -t openai --column conversations --keep id,source 'data/*.parquet' -o out/
  ocml data convert -t qwen3 --training sharegpt.jsonl.gz --output-format parquet -o out/";

/// Write conversations as token ids with loss masks
///
/// Each row has `ids`, `mask`, `weights` (if a weight is neither 0 nor 1) and `spans`: the messages,
/// by their numbers in the input. A packed row has `lengths` instead of `spans`: the ids of each
/// conversation in it. Conversations are written as training samples. No system message is added,
/// except with --date and other options for prompts.
#[derive(Args, Debug)]
#[command(after_help = TOKENIZE_EXAMPLES)]
pub(super) struct TokenizeArgs {
    /// The text format of the ids
    #[arg(short = 't', long = "to", value_name = "FORMAT", value_parser = text_format())]
    to: TextFormat,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    encoding: EncodingArgs,
    #[command(flatten)]
    length: LengthArgs,
    #[command(flatten)]
    train: TrainArgs,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    keep: KeepArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    consent: ConsentArgs,
    #[command(flatten)]
    render: RenderArgs,
}

const TOKENIZE_EXAMPLES: &str = "\
Examples:
  ocml data tokenize -t harmony train.jsonl -o ids/
  ocml data tokenize -t chatml --encoding Qwen3-8B/ train.parquet -o ids/
  ocml data tokenize -t harmony --pack 8192 --too-long truncate train.jsonl -o ids/";

#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Token ids")]
struct LengthArgs {
    /// The maximum number of ids of a conversation
    #[arg(long, value_name = "N", value_parser = positive)]
    max_length: Option<usize>,

    /// What to do with longer conversations
    #[arg(long, value_name = "WHAT", default_value = "reject")]
    too_long: TooLongArg,

    /// Join whole conversations to rows of at most this many ids
    #[arg(long, value_name = "N", value_parser = positive)]
    pack: Option<usize>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TooLongArg {
    /// Reject them
    Reject,
    /// Drop their oldest exchanges; no message is cut
    Truncate,
}

/// Parses a number of ids.
fn positive(word: &str) -> Result<usize, &'static str> {
    let number = word.parse().ok().filter(|number| *number > 0);
    number.ok_or("the number of ids must be a whole number, 1 or more")
}

#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Training")]
struct TrainArgs {
    /// Train these messages of the assistant
    #[arg(long, value_name = "WHICH", default_value = "all")]
    train: TrainArg,

    /// Train only these turns; each message of the user begins a turn
    #[arg(long, value_name = "WHICH", default_value = "all")]
    turns: TurnsArg,

    /// Train this part of the headers
    #[arg(long, value_name = "WHICH", default_value = "sampled")]
    headers: HeadersArg,
}

/// Sets the options of writers.
fn set(
    kernel: &mut KernelOptions,
    purpose: Purpose,
    args: &RenderArgs,
    console: &Console,
) -> Result<(), Failure> {
    kernel.purpose = purpose;
    kernel.render = args.options();
    kernel.render.keep_reasoning = purpose != Purpose::Prompt;
    if let Some(path) = &args.harmony.response_format {
        let mut prompt = args.harmony.prompt();
        prompt.response_formats = response_formats::read(path, console)?;
        kernel.render.set(prompt);
    }
    Ok(())
}

/// Runs `data convert`.
pub(super) fn convert(args: &ConvertArgs, console: &Console) -> Result<Status, Failure> {
    if args.to.tokens {
        let text = "token ids are written with `ocml data tokenize`";
        return Err(Failure::Usage(text.to_owned()));
    }
    let to = args.to.format;
    let mut kernel = args.record.kernel(Task::Convert { to }, &args.consent, console)?;
    set(&mut kernel, purpose_of_convert(&args.render), &args.render, console)?;
    let mut run = args.input.run(Some(&args.output), console);
    run.description = args.record.describe();
    run.description.extend([
        named("--to", to),
        ("the options for writing".to_owned(), format!("{:?}", args.render)),
        ("the allowed losses".to_owned(), format!("{:?}", args.consent)),
    ]);
    let fields = args.record.fields(Some(&args.keep))?;
    let summary = openchatml_data::convert(&run, &fields, kernel);
    console.stop_progress();
    Ok(report(&summary.map_err(failure)?, &args.output, &[], console))
}

/// Runs `data tokenize`.
pub(super) fn tokenize(args: &TokenizeArgs, console: &Console) -> Result<Status, Failure> {
    let mut tokenize = TokenizeOptions::new(args.encoding.tokens(args.to, console)?);
    let TrainArgs { train, turns, headers } = args.train;
    tokenize.mask = policy(train, turns, headers);
    tokenize.max_length = args.length.max_length;
    tokenize.too_long = match args.length.too_long {
        TooLongArg::Reject => TooLong::Reject,
        TooLongArg::Truncate => TooLong::Truncate,
    };
    let mut kernel = args.record.kernel(Task::Tokenize(tokenize), &args.consent, console)?;
    let render = &args.render;
    let purpose = match render.generation_prompt || render.continue_final || render.keep_reasoning {
        true => purpose_of_render(render),
        false => Purpose::Training,
    };
    set(&mut kernel, purpose, render, console)?;
    if args.to.dialect().dated && kernel.render.date.is_none() {
        let text = "no system message is added: with `--date YYYY-MM-DD`, each sample begins as prompts for this model do";
        console.warning(text);
    }
    let mut run = args.input.run(Some(&args.output), console);
    run.description = args.record.describe();
    run.description.extend([
        named("--to", args.to.into()),
        ("--encoding".to_owned(), format!("{:?}", args.encoding)),
        ("the limits of lengths".to_owned(), format!("{:?}", args.length)),
        ("the trained messages".to_owned(), format!("{:?}", args.train)),
        ("the options for writing".to_owned(), format!("{:?}", args.render)),
        ("the allowed losses".to_owned(), format!("{:?}", args.consent)),
    ]);
    let fields = args.record.fields(Some(&args.keep))?;
    let summary = openchatml_data::tokenize(&run, &fields, kernel, args.length.pack);
    console.stop_progress();
    Ok(report(&summary.map_err(failure)?, &args.output, &[], console))
}
