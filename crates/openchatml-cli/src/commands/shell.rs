//! `completions` and `man`: completion scripts and manual pages.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use super::Cli;
use crate::failure::{Failure, Status};
use crate::output::Target;

/// Write a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml completions bash > ~/.local/share/bash-completion/completions/ocml
  ocml completions fish > ~/.config/fish/completions/ocml.fish
  ocml completions zsh > ~/.zfunc/_ocml")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Write the manual page of ocml or of one of its commands
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml man | man -l -
  ocml man convert > ocml-convert.1")]
pub(crate) struct ManArgs {
    /// The command to describe (default: ocml itself)
    command: Option<String>,
}

/// Runs `completions`.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Status, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ocml", &mut script);
    Target::stdout().write(&script)?;
    Ok(Status::Fine)
}

/// Runs `man`.
pub(crate) fn man(args: &ManArgs) -> Result<Status, Failure> {
    let mut all = Cli::command();
    all.build();
    let command = match &args.command {
        None => all,
        Some(name) => match all.find_subcommand(name) {
            Some(command) => command.clone().name(format!("ocml-{name}")),
            None => return Err(Failure::Usage(format!("unknown command `{name}`"))),
        },
    };
    let mut page = Vec::new();
    let rendered = Man::new(command).render(&mut page);
    rendered.map_err(|error| Failure::write("the manual page", &error))?;
    Target::stdout().write(&page)?;
    Ok(Status::Fine)
}
