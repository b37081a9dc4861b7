//! Options for messages to the user.

use clap::{Args, ValueEnum};

/// How many messages to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Only errors.
    Quiet,
    /// Errors, warnings and a summary.
    Normal,
    /// Everything.
    Verbose,
}

#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Messages")]
pub(crate) struct ConsoleArgs {
    /// When to use colours: auto, always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) color: Color,

    /// Print more: the detected format, notes, the place of each loss
    #[arg(short, long, global = true)]
    verbose: bool,

    /// Print only errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
}

impl ConsoleArgs {
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl From<Color> for anstream::ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}
