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

use clap::Subcommand;

use crate::console::Console;
use crate::failure::{Failure, Status};

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read a conversation and write it as JSON
    Parse(convert::ParseArgs),
    /// Write messages as a prompt for a model
    Render(convert::RenderCommandArgs),
    /// Write conversations as token ids
    Tokens(convert::TokensArgs),
    /// Make conversations fit into a number of token ids
    Truncate(convert::TruncateArgs),
    /// Convert from any format to any other
    Convert(convert::ConvertArgs),
    /// Say what is wrong, and where
    Check(check::CheckArgs),
    /// Lay files out in the canonical way
    Fmt(fmt::FmtArgs),
    /// Show what a user may see
    Show(show::ShowArgs),
    // A comment of its own would hide the longer one of its arguments.
    Stream(stream::StreamArgs),
    // As with `Stream`.
    #[cfg(feature = "run")]
    Run(run::RunArgs),
    // As with `Stream`.
    #[cfg(feature = "run")]
    Tools(tools::ToolsArgs),
    /// Write the grammar of a model's completions
    Grammar(grammar::GrammarArgs),
    /// Say which format files are in, and what speaks for it
    Detect(detect::DetectArgs),
    /// Say what a diagnostic means
    Explain(explain::ExplainArgs),
    /// Write a completion script for a shell
    Completions(shell::CompletionsArgs),
    /// Write the manual page
    Man(shell::ManArgs),
}

/// Does it.
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
