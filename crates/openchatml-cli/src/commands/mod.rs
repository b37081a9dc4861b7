//! The commands: one file each.

mod check;
mod convert;
mod detect;
mod explain;
mod fmt;
mod grammar;
#[cfg(feature = "run")]
mod run;
mod shell;
mod show;
mod stream;
#[cfg(feature = "run")]
mod tools;

use clap::{Parser, Subcommand};

use crate::args::ConsoleArgs;
use crate::console::Console;
use crate::failure::{Failure, Status};

/// Parse, check, render, convert and stream chat-markup conversations
///
/// Reads and writes OpenChatML 0.1, 2.0 and 2.2, Harmony, ChatML, the <|im_start|> framing, their
/// JSON forms and token ids. Data goes to standard output, diagnostics go to standard error.
#[derive(Debug, Parser)]
#[command(name = "ocml", version, propagate_version = true, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    /// Messages to the user.
    #[command(flatten)]
    pub(crate) console: ConsoleArgs,

    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  ocml check chat.txt                              errors, and how to fix them
  ocml parse chat.txt                              as JSON
  ocml convert -t openchatml-2.2 chat.json         to another format
  ocml render -t chatml --generation-prompt chat.json  a prompt for a model
  ocml stream -f openchatml-2.2 --role assistant   a model's output, event by event
  ocml run --tools tools.toml --in-place chat.ocml run its tool calls and append the replies
  ocml explain E-PARSE-HEADER                      what a diagnostic means

Exit status: 0 for success (also with warnings), 1 if errors were found or input was refused,
2 for wrong usage and for I/O errors.";

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
    /// Write the grammar of a model's completions
    Grammar(grammar::GrammarArgs),
    /// Detect the format of files, with the evidence
    Detect(detect::DetectArgs),
    /// Explain a diagnostic
    Explain(explain::ExplainArgs),
    /// Write a completion script for a shell
    Completions(shell::CompletionsArgs),
    /// Write the manual page of ocml or of one of its commands
    Man(shell::ManArgs),
}

/// Runs the command.
pub(crate) fn run(command: Command, console: &Console) -> Result<Status, Failure> {
    match command {
        Command::Parse(args) => convert::parse(&args, console),
        Command::Render(args) => convert::render(&args, console),
        Command::Tokens(args) => convert::tokens(&args, console),
        Command::Truncate(args) => convert::truncate(&args, console),
        Command::Convert(args) => convert::convert(&args, console),
        Command::Check(args) => check::run(&args, console),
        Command::Fmt(args) => fmt::run(&args, console),
        Command::Show(args) => show::run(&args, console),
        Command::Stream(args) => stream::run(&args, console),
        #[cfg(feature = "run")]
        Command::Run(args) => run::run(&args, console),
        #[cfg(feature = "run")]
        Command::Tools(args) => tools::run(&args, console),
        Command::Grammar(args) => grammar::run(&args, console),
        Command::Detect(args) => detect::run(&args, console),
        Command::Explain(args) => explain::run(&args, console),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
    }
}
