//! What can be said on the command line.

mod consent;
mod console;
mod harmony;
mod late;
mod limits;
mod names;
mod read;
mod template;
mod write;

pub(crate) use self::consent::Consent;
pub(crate) use self::console::{ConsoleArgs, Verbosity};
#[cfg(feature = "run")]
pub(crate) use self::harmony::HarmonyArgs;
pub(crate) use self::limits::Bounds;
#[cfg(feature = "run")]
pub(crate) use self::names::choice;
pub(crate) use self::names::{Choice, Written, text_format, written};
pub(crate) use self::read::{DenyArgs, JsonlArgs, PreambleArgs, ReadArgs, ReaderArgs};
pub(crate) use self::template::{FormArg, TemplateArgs};
pub(crate) use self::write::{OutArgs, RenderArgs};

use clap::Parser;

use crate::commands::Command;

/// Parse, check, render, convert and stream chat-markup conversations
///
/// Reads and writes OpenChatML 0.1, 2.0 and 2.2, Harmony, ChatML, the <|im_start|> framing, their JSON
/// forms and token ids. Data goes to standard output, diagnostics to standard error.
#[derive(Debug, Parser)]
#[command(name = "ocml", version, propagate_version = true, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    /// What is said to people.
    #[command(flatten)]
    pub(crate) console: ConsoleArgs,

    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  ocml check chat.txt                              what is wrong with it, and how to mend it
  ocml parse chat.txt                              as JSON
  ocml convert -t openchatml-2.2 chat.json         to another format
  ocml render -t im --generation-prompt chat.json  a prompt for a model
  ocml stream -f openchatml-2.2 --role assistant   a model's output, event by event
  ocml run --tools tools.toml --in-place chat.ocml its calls made, and their replies appended
  ocml explain E-PARSE-HEADER                      what a diagnostic means

Exit status: 0 if all is fine (warnings alone are fine), 1 if errors were found or input was
refused, 2 for wrong usage and for I/O errors.";
