//! Options for reading.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use openchatml::dialects::Completion;
use openchatml::{
    Dropped, Format, Mode, Policy, Preambles, ReadOptions, Recover, Repair, Role, TextFormat,
};
use openchatml_data::record::Consent;

use super::consent::ConsentArgs;
use super::limits::{self, Bound, Bounds};
use super::names::{self, Choice};
use crate::failure::Failure;

/// The default encoding.
pub(crate) const O200K_HARMONY: &str = "o200k_harmony";

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// The format of the input
    ///
    /// `auto` detects the format. For JSONL, it first looks at the first 1,000 lines (1 MiB). It
    /// reads each line in its own format if that format is certain, and otherwise in the format of
    /// most lines. If lines arrive slowly and you need each result at once, name the format.
    #[arg(short = 'f', long = "from", visible_alias = "format", value_name = "FORMAT")]
    #[arg(default_value = "auto", value_parser = names::choice())]
    pub(crate) from: Choice,

    /// The encoding of token ids: o200k_harmony, or a file (a `tokenizer.json`, or a tiktoken rank
    /// file)
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) encoding: Option<String>,

    /// Write control tokens without an id in the encoding as ordinary text, and read them from
    /// ordinary text
    ///
    /// Without this option, such a combination of format and encoding is refused: a model that was
    /// trained with the control tokens reads their spelling as text.
    #[arg(long)]
    pub(crate) spell_control_tokens: bool,

    #[command(flatten)]
    pub(crate) reader: ReaderArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ResponseArgs {
    /// Read the output of a model with its response template, in the place of `--from FORMAT`: a JSON
    /// file, a `tokenizer_config.json` that contains it, or the folder of a model
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    pub(crate) response_template: Option<PathBuf>,
}

impl ResponseArgs {
    /// A format of text whose completions can begin inside reasoning. With a response template, no
    /// reader of a format is used, but commands need to know that the input is text.
    pub(crate) const FORMAT: TextFormat = TextFormat::QWEN3;

    /// Sets the format of the input, if there is a template.
    pub(crate) fn apply(&self, read: &mut ReadArgs) {
        if self.response_template.is_some() {
            read.from = Choice::Format(Self::FORMAT.into());
        }
    }
}

/// Options of the readers that do not depend on the format.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReaderArgs {
    /// Read the input as a raw completion of a model: it continues a prompt that ended in the
    /// header of this role
    #[arg(long, value_name = "ROLE", value_parser = names::role())]
    role: Option<Role>,

    /// With `--role assistant`: read text after the stop token of a completion as the assistant's,
    /// too
    #[arg(long, requires = "role")]
    past_stop: bool,

    /// Read a completion of the assistant whose prompt ended with the token that opens reasoning,
    /// such as `<think>` (implies `--role assistant`; requires `--from FORMAT`)
    #[arg(long)]
    in_reasoning: bool,

    /// Read the input as a prompt: the last message can be open
    #[arg(long)]
    open_prompt: bool,

    /// Read `<think>…</think>` at the beginning of an assistant's text in JSON as its reasoning
    #[arg(long)]
    split_reasoning: bool,

    /// Repair the arguments of calls that are almost JSON, such as `{'city': 'Bern',}`, and report what
    /// was wrong
    #[arg(long, value_name = "AS", num_args = 0..=1)]
    #[arg(require_equals = true, default_missing_value = "mark")]
    repair: Option<RepairArg>,

    /// The tools that the model can call, in a JSON file
    ///
    /// In formats whose calls do not say which arguments are texts, such as qwen3-coder, their
    /// schemas do. Commands that write conversations declare them instead of those in the input.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,

    /// How to handle text outside of messages
    #[arg(long, value_name = "POLICY", default_value = "keep")]
    recover: RecoverArg,

    /// Report everything that the specification does not allow as an error, and refuse input with
    /// errors
    #[arg(long, conflicts_with = "lenient")]
    strict: bool,

    /// Report what the reader can correct as a warning
    #[arg(long)]
    lenient: bool,

    /// Set a limit on the input: messages, message_bytes, header_bytes, …; can be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = limits::bound)]
    #[arg(long_help = limit_help())]
    limits: Vec<Bound>,
}

fn limit_help() -> String {
    let mut text = "Set a limit on the input; can be repeated\n\nThe value can end in K, M or G. Input that exceeds a limit is reported as E-LIMIT with the name of the limit. The limits are "
        .to_owned();
    text.push_str(&limits::names().collect::<Vec<_>>().join(", "));
    text.push('.');
    text
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RecoverArg {
    /// Keep it as a hidden message
    Keep,
    /// Drop it
    Drop,
    /// Stop reading there
    Error,
    /// Keep it, and read a completion of gpt-oss from which a server has removed the control tokens
    /// (`analysis…assistantfinal…`) by the words that are left
    Stripped,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RepairArg {
    /// Keep the call uncertain, so that no program runs it
    Mark,
    /// Make it a call like any other
    Accept,
}

impl ReaderArgs {
    /// Returns the options of the reader. `mode` is the default mode.
    pub(crate) fn options(&self, mode: Mode) -> ReadOptions {
        let mut options = ReadOptions::default();
        options.mode = match (self.strict, self.lenient) {
            (true, _) => Mode::Strict,
            (_, true) => Mode::Lenient,
            _ => mode,
        };
        options.recover = match self.recover {
            RecoverArg::Keep => Recover::Keep,
            RecoverArg::Drop => Recover::Drop,
            RecoverArg::Error => Recover::Error,
            RecoverArg::Stripped => Recover::Stripped,
        };
        options.open_prompt = self.open_prompt;
        options.continues = self.role.or(self.in_reasoning.then_some(Role::Assistant));
        options.past_stop = self.past_stop;
        options.in_reasoning = self.in_reasoning;
        options.split_reasoning = self.split_reasoning;
        options.repair = self.repair.map(|repair| match repair {
            RepairArg::Mark => Repair::Mark,
            RepairArg::Accept => Repair::Accept,
        });
        options.limits = self.bounds().limits;
        options
    }

    /// Checks that the completion of a format can begin inside reasoning, if it shall. `None` is a
    /// format that is to be detected.
    ///
    /// # Errors
    ///
    /// It cannot: what comes before `</think>` would be read as the answer.
    pub(crate) fn check_reasoning(&self, format: Option<Format>) -> Result<(), Failure> {
        if !self.in_reasoning {
            return Ok(());
        }
        let refused = match format {
            None => "the format of a completion that begins inside reasoning cannot be detected: name it, such as `--from qwen3`".to_owned(),
            Some(format) => match format.dialect().completion() {
                Some(Completion::Sections(_)) => return Ok(()),
                _ => format!(
                    "`{format}` has no prompts that end inside reasoning: name the model's own format, such as `--from qwen3`, or remove --in-reasoning"
                ),
            },
        };
        Err(Failure::Usage(refused))
    }

    /// What may be lost: what the user allowed, and text outside of messages if it is to be
    /// dropped.
    pub(crate) fn consent(&self, args: &ConsentArgs) -> Consent {
        let mut consent = args.consent();
        if let RecoverArg::Drop = self.recover {
            consent.allow(Dropped::Text);
        }
        consent
    }

    /// Checks that the limit on whole inputs is not given, for a command that reads parts.
    ///
    /// # Errors
    ///
    /// It is given.
    pub(crate) fn limits_parts(&self) -> Result<(), Failure> {
        if self.limits.iter().any(Bound::is_of_input) {
            let text = "this command reads its input in parts, so `input_bytes` limits nothing here; `message_bytes` limits each message";
            return Err(Failure::Usage(text.to_owned()));
        }
        Ok(())
    }

    /// The limits on the input.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::with(&self.limits)
    }
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub(crate) struct JsonlArgs {
    /// Read each line of the input as a document (default for files named *.jsonl)
    #[arg(long)]
    pub(crate) jsonl: bool,

    /// The number of threads for JSONL (default: the number of cores)
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<std::num::NonZeroUsize>,
}

/// Parses a number of threads.
pub(crate) fn jobs(word: &str) -> Result<std::num::NonZeroUsize, &'static str> {
    word.parse().map_err(|_| "the number of threads must be a whole number, 1 or more")
}

#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Messages")]
pub(crate) struct DenyArgs {
    /// Exit with status 1 if there are warnings
    #[arg(long)]
    pub(crate) deny_warnings: bool,
}

#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct PreambleArgs {
    /// Whether to show commentary for the user
    #[arg(long, value_name = "WHETHER", default_value = "show")]
    preambles: PreamblesArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PreamblesArg {
    /// Show it
    Show,
    /// Hide it
    Hide,
}

impl PreambleArgs {
    pub(crate) fn policy(self) -> Policy {
        let preambles = match self.preambles {
            PreamblesArg::Show => Preambles::Show,
            PreamblesArg::Hide => Preambles::Hide,
        };
        Policy::new(preambles)
    }
}
