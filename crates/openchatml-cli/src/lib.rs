//! The command `ocml`: parses, checks, renders, converts and streams chat-markup conversations.
//!
//! Data goes to standard output, diagnostics go to standard error. The exit status is 0 without
//! errors, 1 if errors were found or input was rejected, and 2 for wrong usage and for I/O errors.
//!
//! The command is a library function, [`run`], because the Python package has the same command.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod console;
mod encodings;
mod failure;
mod file_name;
mod input;
mod jobs;
mod jsonl;
mod model;
mod output;
mod reader;
mod report;
mod tools;
mod visible;

use std::ffi::OsString;

use clap::Parser as _;

use self::args::ConsoleArgs;
use self::commands::Cli;
use self::console::Console;
use self::failure::{Failure, Status};
use self::output::Target;

/// Runs the command with these arguments, of which the first one is its name. Returns the exit
/// status.
///
/// ```
/// assert_eq!(openchatml_cli::run(["ocml".into(), "--no-such-option".into()]), 2);
/// ```
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let (arguments, note) = match commands::expand(arguments.into_iter().collect()) {
        Ok(expanded) => expanded,
        Err(failure) => return end(Err(failure), &Console::new(&ConsoleArgs::default())),
    };
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return no_command(&error),
    };
    let console = Console::new(&cli.console);
    if !note.is_empty() {
        console.detail(&note);
    }
    end(commands::run(cli, &console), &console)
}

/// Exits after wrong arguments or a request for help.
fn no_command(error: &clap::Error) -> u8 {
    let console = Console::new(&ConsoleArgs::default());
    let text = error.render();
    if error.use_stderr() {
        console.print(&text.ansi().to_string());
        return Status::Failed.into();
    }
    let text = if console.colors_output() { text.ansi().to_string() } else { text.to_string() };
    end(Target::stdout().write(text.as_bytes()).map(|()| Status::Fine), &console)
}

fn end(result: Result<Status, Failure>, console: &Console) -> u8 {
    match result {
        Ok(status) => status.into(),
        Err(Failure::Closed) => Status::Fine.into(),
        Err(failure) => {
            console.failure(&failure);
            failure.status().into()
        }
    }
}
