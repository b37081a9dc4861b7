//! How output is written.

use std::path::PathBuf;

use super::consent::ConsentArgs;
use super::harmony::HarmonyArgs;
use clap::{Args, ValueEnum};
use openchatml::render::{Close, Profile, TurnOptions, Values};
use openchatml::{InfillOrder, RenderOptions, Role};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct OutArgs {
    /// Write to this file, whole or not at all
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write what is refused to this file: each refused document or line, with its diagnostics, as
    /// JSONL
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct RenderArgs {
    /// End in the header of a message that the assistant has yet to say
    #[arg(long, visible_alias = "add-generation-prompt")]
    #[arg(conflicts_with_all = ["continue_final", "training"])]
    pub(crate) generation_prompt: bool,

    /// Leave the last message open, for the model to continue
    #[arg(long, visible_alias = "continue-final-message", conflicts_with = "training")]
    pub(crate) continue_final: bool,

    /// Keep the reasoning that led to earlier answers
    #[arg(long)]
    pub(crate) keep_reasoning: bool,

    /// In JSON, write the token ids that each message was read as, or has been given, too
    #[arg(long)]
    pub(crate) keep_ids: bool,

    /// Write a training sample: all reasoning is kept, and the last answer ends by <|return|>
    #[arg(long)]
    pub(crate) training: bool,

    /// Whether the model is to think before it answers, where the format says so (Apertus); for a
    /// chat template, the variable enable_thinking
    #[arg(long, value_name = "WHETHER", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    pub(crate) thinking: Option<bool>,

    /// In whose way Harmony is written, and Apertus: its reference's, or that of `hf-template`
    #[arg(long, value_name = "PROFILE", default_value = "default", hide_default_value = true)]
    pub(crate) profile: ProfileArg,

    /// Declare the tools of this JSON file instead of those that the input declares
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) harmony: HarmonyArgs,

    #[command(flatten)]
    layout: LayoutArgs,
}

#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Writing")]
struct LayoutArgs {
    /// Write `_` for characters that a header value cannot hold, instead of refusing it
    #[arg(long)]
    sanitize: bool,

    /// Close OpenChatML 0.1 messages without a line break, as in the wild
    #[arg(long)]
    compact: bool,

    /// The order in which fill-in-the-middle tasks are written
    #[arg(long, value_name = "ORDER")]
    infill_order: Option<InfillOrderArg>,
}

/// In whose way Harmony is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileArg {
    /// As its documentation says
    Default,
    /// As the renderer openai-harmony writes it, its habits included
    Reference,
    /// As its maintained fork oss-harmony writes it
    OssHarmony,
    /// As the chat template of the gpt-oss checkpoints writes it; it needs --date. In Apertus: as
    /// `transformers` runs the template
    HfTemplate,
    /// The same, the arguments of calls given to it as strings: they are encoded twice
    HfTemplateStrings,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum InfillOrderArg {
    /// Prefix, middle, suffix: the specification's
    Pms,
    /// Prefix, suffix, middle
    Psm,
    /// Suffix, prefix, middle
    Spm,
}

impl ProfileArg {
    /// Whether a chat template decides what is written.
    pub(crate) fn is_template(self) -> bool {
        matches!(self, Self::HfTemplate | Self::HfTemplateStrings)
    }
}

impl RenderArgs {
    /// The options that say so.
    pub(crate) fn options(&self) -> RenderOptions {
        let mut options = RenderOptions::default();
        options.generation_prompt = self.generation_prompt.then_some(Role::Assistant);
        options.continue_final = self.continue_final;
        options.ids = self.keep_ids;
        options.thinking = self.thinking;
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
