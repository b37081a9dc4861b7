//! How input is read.

use clap::{Args, ValueEnum};
use openchatml::{Dropped, Mode, Policy, Preambles, ReadOptions, Recover, Role};

use super::consent::{Consent, ConsentArgs};
use super::limits::{self, Bound, Bounds};
use super::names::{self, Choice};

/// The encoding if none is named.
pub(crate) const O200K_HARMONY: &str = "o200k_harmony";

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// The format of the input
    ///
    /// `auto` detects it. Of JSONL, it looks at the first 1,000 lines (1 MiB) before it reads any, and
    /// reads each line in its own format where that is certain, and otherwise in that of most lines. Name
    /// the format where lines arrive one by one and are wanted at once.
    #[arg(short = 'f', long = "from", visible_alias = "format", value_name = "FORMAT")]
    #[arg(default_value = "auto", value_parser = names::choice())]
    pub(crate) from: Choice,

    /// The encoding of token ids: o200k_harmony, or a file: a `tokenizer.json`, or a rank file of
    /// tiktoken
    #[arg(long, value_name = "NAME|FILE", default_value = O200K_HARMONY, hide_default_value = true)]
    pub(crate) encoding: String,

    /// Write control tokens that the encoding has no id for as ordinary text, and read them there
    ///
    /// Without this, such a format and encoding are refused: a model that was trained with the
    /// tokens takes their spelling for text.
    #[arg(long)]
    pub(crate) spell_control_tokens: bool,

    #[command(flatten)]
    pub(crate) reader: ReaderArgs,
}

/// How a reader reads, whatever the format.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReaderArgs {
    /// The input continues a prompt that ended in this role's header: a model's raw completion
    #[arg(long, value_name = "ROLE", value_parser = names::role())]
    role: Option<Role>,

    /// With `--role assistant`: what follows the stop token of a completion is the assistant's, too
    #[arg(long, requires = "role")]
    past_stop: bool,

    /// With `--role assistant`: the prompt ended with the token that opens reasoning, such as `<think>`
    #[arg(long, requires = "role")]
    in_reasoning: bool,

    /// The last message may be open: the input is a prompt
    #[arg(long)]
    open_prompt: bool,

    /// What becomes of text that stands where none may stand
    #[arg(long, value_name = "POLICY", default_value = "keep")]
    recover: RecoverArg,

    /// What the specification does not allow is an error, and input with errors is refused
    #[arg(long, conflicts_with = "lenient")]
    strict: bool,

    /// What can be understood is a warning
    #[arg(long)]
    lenient: bool,

    /// A bound on what is read: messages, message_bytes, header_bytes, …; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = limits::bound)]
    #[arg(long_help = limit_help())]
    limits: Vec<Bound>,
}

fn limit_help() -> String {
    let mut text = "A bound on what is read; may be repeated\n\n\
        The value may end in K, M or G. What exceeds a bound is reported as E-LIMIT by the name \
        of the bound. The bounds are "
        .to_owned();
    text.push_str(&limits::names().collect::<Vec<_>>().join(", "));
    text.push('.');
    text
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RecoverArg {
    /// It becomes a hidden message of its own
    Keep,
    /// It is left out
    Drop,
    /// It ends the reading
    Error,
}

impl ReaderArgs {
    /// The options that say so; `mode` counts if none was asked for.
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
        };
        options.open_prompt = self.open_prompt;
        options.continues = self.role;
        options.past_stop = self.past_stop;
        options.in_reasoning = self.in_reasoning;
        options.limits = self.bounds().limits;
        options
    }

    /// What may be lost: what was allowed, and stray text where that is to be dropped.
    pub(crate) fn consent(&self, args: &ConsentArgs) -> Consent {
        let mut consent = args.consent();
        if let RecoverArg::Drop = self.recover {
            consent.allow(Dropped::Text);
        }
        consent
    }

    /// The bounds on what is read.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds::with(&self.limits)
    }
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub(crate) struct JsonlArgs {
    /// Each line of the input is a document; the default for files named *.jsonl
    #[arg(long)]
    pub(crate) jsonl: bool,

    /// How many threads work on JSONL; as many as there are cores if not given
    #[arg(short, long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<std::num::NonZeroUsize>,
}

/// Reads a number of threads.
fn jobs(word: &str) -> Result<std::num::NonZeroUsize, &'static str> {
    word.parse().map_err(|_| "write a whole number of threads, 1 or more")
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
    /// Whether commentary that is meant for the user is shown
    #[arg(long, value_name = "WHETHER", default_value = "show")]
    preambles: PreamblesArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PreamblesArg {
    /// It is
    Show,
    /// It is not
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
