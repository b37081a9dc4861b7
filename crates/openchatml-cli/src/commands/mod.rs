//! The commands: one file each.

mod check;
mod convert;
#[cfg(feature = "data")]
mod data;
mod detect;
mod explain;
mod fmt;
mod formats;
mod grammar;
mod model_option;
mod models;
#[cfg(feature = "run")]
mod run;
mod shell;
mod show;
mod stream;
#[cfg(feature = "run")]
mod tools;

pub(crate) use self::model_option::expand;

use clap::{Parser, Subcommand};

use crate::args::ConsoleArgs;
use crate::console::Console;
use crate::failure::{Failure, Status};

/// Parse, check, render, convert and stream the conversations of language models
#[derive(Debug, Parser)]
#[command(name = "ocml", version, propagate_version = true, after_help = AFTER_HELP)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// Messages to the user.
    #[command(flatten)]
    pub(crate) console: ConsoleArgs,

    /// A model: its folder, whose files say the format and the encoding (`ocml models`); for `run`
    /// and `stream --events`, also its name
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) model: Option<String>,

    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  ocml check train.jsonl                      find errors, and what spoils training data
  ocml convert -t openai chat.txt             to another format; losses are reported
  ocml tokens -t harmony --mask train.jsonl   token ids and loss masks
  my-model | ocml stream -f harmony           a model's output as events
Data goes to standard output, messages to standard error. The exit status is 0 for success,
1 if errors were found or input was refused, 2 for wrong usage and for I/O errors.
`ocml COMMAND --help` describes a command, `ocml formats` the formats.";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read a conversation and write it as JSON
    Parse(convert::ParseArgs),
    /// Write messages as a prompt for a model
    Render(convert::RenderCommandArgs),
    /// Write conversations as token ids
    Tokens(convert::TokensArgs),
    /// Shorten conversations to a number of token ids
    Truncate(convert::TruncateArgs),
    /// Convert between any two formats
    Convert(convert::ConvertArgs),
    /// Find errors, and fix them
    Check(check::CheckArgs),
    /// Format files in the canonical layout
    Fmt(fmt::FmtArgs),
    /// Show the part of a conversation that a user can see
    Show(show::ShowArgs),
    // A comment here would hide the longer one of its arguments.
    Stream(stream::StreamArgs),
    // As with `Stream`.
    #[cfg(feature = "run")]
    Run(run::RunArgs),
    // As with `Stream`.
    #[cfg(feature = "run")]
    Tools(tools::ToolsArgs),
    // As with `Stream`.
    #[cfg(feature = "data")]
    Data(data::DataArgs),
    /// Write the grammar of a model's completions
    Grammar(grammar::GrammarArgs),
    /// Detect the format of files, with the evidence
    Detect(detect::DetectArgs),
    // As with `Stream`.
    Models(models::ModelsArgs),
    /// List the formats, or show one of them
    Formats(formats::FormatsArgs),
    /// Explain a diagnostic
    Explain(explain::ExplainArgs),
    /// Write a completion script for a shell
    Completions(shell::CompletionsArgs),
    /// Write the manual page of ocml or of one of its commands
    Man(shell::ManArgs),
}

/// Runs the command.
pub(crate) fn run(cli: Cli, console: &Console) -> Result<Status, Failure> {
    match cli.command {
        Command::Parse(args) => convert::parse(args, console),
        Command::Render(args) => convert::render(&args, console),
        Command::Tokens(args) => convert::tokens(&args, console),
        Command::Truncate(args) => convert::truncate(&args, console),
        Command::Convert(args) => convert::convert(args, console),
        Command::Check(args) => check::run(&args, console),
        Command::Fmt(args) => fmt::run(&args, console),
        Command::Show(args) => show::run(args, console),
        Command::Stream(args) => stream::run(args, cli.model, console),
        #[cfg(feature = "run")]
        Command::Run(args) => run::run(args, cli.model, console),
        #[cfg(feature = "run")]
        Command::Tools(args) => tools::run(&args, console),
        #[cfg(feature = "data")]
        Command::Data(args) => data::run(&args, console),
        Command::Grammar(args) => grammar::run(&args, console),
        Command::Detect(args) => detect::run(&args, console),
        Command::Models(args) => models::run(&args, console),
        Command::Formats(args) => formats::run(&args),
        Command::Explain(args) => explain::run(&args, console),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
    }
}
