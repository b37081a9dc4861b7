//! Options for writing.

use std::path::PathBuf;

use super::consent::ConsentArgs;
use super::harmony::HarmonyArgs;
use clap::{Args, ValueEnum};
use openchatml::render::{Close, Profile, TurnOptions, Values};
use openchatml::{InfillOrder, RenderOptions, Role};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct OutArgs {
    /// Write to this file, or for folders to files of the same names in this folder; on an error a
    /// file stays unchanged
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write each refused document or line to this file, with its diagnostics, as JSONL
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct RenderArgs {
    /// End with an open header of the assistant, so that the model generates its message
    #[arg(long, visible_alias = "add-generation-prompt")]
    #[arg(conflicts_with_all = ["continue_final", "training"])]
    pub(crate) generation_prompt: bool,

    /// Leave the last message open, so that the model continues it
    #[arg(long, visible_alias = "continue-final-message", conflicts_with = "training")]
    pub(crate) continue_final: bool,

    /// Keep the reasoning before earlier answers
    #[arg(long)]
    pub(crate) keep_reasoning: bool,

    /// In JSON, also write the token ids that each message was read from or has been given
    #[arg(long)]
    pub(crate) keep_ids: bool,

    /// Write a training sample: keep all reasoning, and end the last answer with <|return|>
    #[arg(long)]
    pub(crate) training: bool,

    /// Whether the model should think before it answers, in formats that can say it (Apertus); for
    /// a chat template, the variable enable_thinking
    #[arg(long, value_name = "WHETHER", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    pub(crate) thinking: Option<bool>,

    /// With --generation-prompt: end the prompt with the token that opens reasoning, such as
    /// `<think>`, for models that always think
    #[arg(long, requires = "generation_prompt", conflicts_with = "thinking")]
    pub(crate) open_reasoning: bool,

    /// Compatibility profile for Harmony and Apertus output
    #[arg(long, value_name = "PROFILE", default_value = "default", hide_default_value = true)]
    pub(crate) profile: ProfileArg,

    #[command(flatten)]
    pub(crate) harmony: HarmonyArgs,

    #[command(flatten)]
    layout: LayoutArgs,
}

#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Writing")]
struct LayoutArgs {
    /// Replace characters that are not allowed in a header value with `_`, instead of refusing the
    /// value
    #[arg(long)]
    sanitize: bool,

    /// End OpenChatML 0.1 messages without a line break, as many data sets do
    #[arg(long)]
    compact: bool,

    /// The order of the parts of fill-in-the-middle tasks
    #[arg(long, value_name = "ORDER")]
    infill_order: Option<InfillOrderArg>,
}

/// A compatibility profile for Harmony and Apertus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileArg {
    /// As in the documentation of the format
    Default,
    /// As the renderer openai-harmony writes Harmony, including its peculiarities
    Reference,
    /// As oss-harmony, the maintained fork of openai-harmony, writes Harmony
    OssHarmony,
    /// As the chat template of gpt-oss writes Harmony (requires --date), or as `transformers` runs
    /// the template of Apertus
    HfTemplate,
    /// The same, with the arguments of calls passed to the template as strings: they are encoded
    /// twice
    HfTemplateStrings,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum InfillOrderArg {
    /// Prefix, middle, suffix: the order of the specification
    Pms,
    /// Prefix, suffix, middle
    Psm,
    /// Suffix, prefix, middle
    Spm,
}

impl ProfileArg {
    /// Whether this profile is that of a chat template.
    pub(crate) fn is_template(self) -> bool {
        matches!(self, Self::HfTemplate | Self::HfTemplateStrings)
    }
}

impl RenderArgs {
    /// Returns the options of the writer.
    pub(crate) fn options(&self) -> RenderOptions {
        let mut options = RenderOptions::default();
        options.generation_prompt = self.generation_prompt.then_some(Role::Assistant);
        options.continue_final = self.continue_final;
        options.ids = self.keep_ids;
        options.thinking = self.thinking;
        options.open_reasoning = self.open_reasoning;
        options.profile = match self.profile {
            ProfileArg::Default => Profile::Documented,
            ProfileArg::Reference => Profile::Reference,
            ProfileArg::OssHarmony => Profile::OssHarmony,
            ProfileArg::HfTemplate => Profile::HfTemplate,
            ProfileArg::HfTemplateStrings => Profile::HfTemplateStrings,
        };
        options.date = self.harmony.date().map(|date| date.to_owned().into());
        options.set(self.harmony.prompt());
        if self.layout.sanitize {
            options.values = Values::Sanitize;
        }
        let mut turns = TurnOptions::default();
        if self.layout.compact {
            turns.close = Close::Compact;
        }
        turns.infill_order = self.layout.infill_order.map(|order| match order {
            InfillOrderArg::Pms => InfillOrder::PrefixMiddleSuffix,
            InfillOrderArg::Psm => InfillOrder::PrefixSuffixMiddle,
            InfillOrderArg::Spm => InfillOrder::SuffixPrefixMiddle,
        });
        options.set(turns);
        options
    }
}
