//! The command `ocml`: chat-markup conversations parsed, checked, rendered, converted and streamed.
//!
//! Data goes to standard output, diagnostics to standard error. The exit status is 0 if all is
//! fine, 1 if errors were found or input was refused, 2 for wrong usage and for I/O errors.

mod args;
mod commands;
mod console;
mod failure;
mod input;
mod jobs;
mod jsonl;
mod output;
mod report;
mod visible;

use std::process::ExitCode;

use clap::Parser as _;

use self::args::Cli;
use self::console::Console;
use self::failure::Failure;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe is no reason to complain about the help text.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let console = Console::new(&cli.console);
    match commands::run(cli.command, &console) {
        Ok(status) => status.into(),
        Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(failure) => {
            console.error(&failure.to_string());
            failure.status().into()
        }
    }
}
