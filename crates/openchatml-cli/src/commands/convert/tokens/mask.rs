//! Ids, and which of them a model is trained on.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use openchatml::convert::{Origins, Sidecar};
use openchatml::{Code, Conversation, Diagnostic, Message, Span, Weight};
use openchatml_tokens::{Headers, MaskPolicy, MessageSpan, Rendered, Speech, Turns};

use super::list;
use crate::input::finding;

/// Which ids are trained.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Training")]
pub(in crate::commands::convert) struct MaskArgs {
    /// Which messages of the assistant are trained
    #[arg(long, value_name = "WHICH", default_value = "all", requires = "mask")]
    train: TrainArg,

    /// In which turns they are; one begins with each message of the user
    #[arg(long, value_name = "WHICH", default_value = "all", requires = "mask")]
    turns: TurnsArg,

    /// Which part of their headers is trained
    #[arg(long, value_name = "WHICH", default_value = "sampled", requires = "mask")]
    headers: HeadersArg,

    /// Train this message, whoever says it; counted from 0, may be repeated
    #[arg(long, value_name = "N", requires = "mask")]
    train_message: Vec<usize>,

    /// Do not train this message; counted from 0, may be repeated
    #[arg(long, value_name = "N", requires = "mask")]
    skip_message: Vec<usize>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TrainArg {
    /// Reasoning, commentary, calls and answers
    All,
    /// All but reasoning
    NoReasoning,
    /// Answers alone
    Answers,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TurnsArg {
    /// In all of them
    All,
    /// In the last one
    Last,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum HeadersArg {
    /// What the model samples of them
    Sampled,
    /// What follows the role
    AfterRole,
    /// Nothing
    Nothing,
}

impl MaskArgs {
    /// The policy that says so.
    pub(in crate::commands::convert) fn policy(&self) -> MaskPolicy {
        let mut policy = MaskPolicy::default();
        policy.speech = match self.train {
            TrainArg::All => Speech::All,
            TrainArg::NoReasoning => Speech::NoReasoning,
            TrainArg::Answers => Speech::Answers,
        };
        policy.turns = match self.turns {
            TurnsArg::All => Turns::All,
            TurnsArg::Last => Turns::Last,
        };
        policy.headers = match self.headers {
            HeadersArg::Sampled => Headers::Sampled,
            HeadersArg::AfterRole => Headers::AfterRole,
            HeadersArg::Nothing => Headers::Nothing,
        };
        let trained = self.train_message.iter().map(|message| (*message, true));
        let skipped = self.skip_message.iter().map(|message| (*message, false));
        policy.overrides = trained.chain(skipped).collect();
        policy
    }
}

/// The policy for what is written, of so many messages, which decides about the same messages as the
/// user did: about those that were `said`, some of which are not in the `original` of what is
/// written. A message that was made of several is skipped if any of them is.
///
/// # Errors
///
/// It decides about a message that was not said.
pub(super) fn placed(
    policy: &MaskPolicy,
    said: &[Message<'_>],
    original: &[Message<'_>],
    written: usize,
    origins: &Origins,
) -> Result<MaskPolicy, Box<Diagnostic>> {
    let count = said.len();
    if let Some((message, trains)) = policy.overrides.iter().find(|it| it.0 >= count) {
        let option = if *trains { "--train-message" } else { "--skip-message" };
        let text = format!("`{option} {message}`: there is no message {message}");
        let help = format!("messages are counted from 0, and there are {count}");
        return Err(Box::new(finding(Code::RenderUnsupported, Span::at(0), text).help(help)));
    }
    // Messages were left out on the way, and how they end may be another; their order is the same.
    let is_same = |one: &Message<'_>, two: &Message<'_>| {
        one.span == two.span
            && one.role == two.role
            && one.channel == two.channel
            && one.recipient == two.recipient
            && one.body == two.body
    };
    let mut next = 0;
    let places: Vec<_> = original
        .iter()
        .map(|message| {
            let found = said.get(next..)?.iter().position(|it| is_same(it, message))?;
            next += found + 1;
            Some(next - 1)
        })
        .collect();
    let mut placed = policy.clone();
    placed.overrides.clear();
    for index in 0..written {
        let parts = origins.parts(index).filter_map(|part| places.get(part).copied().flatten());
        let decided = parts
            .filter_map(|part| policy.overrides.iter().rfind(|it| it.0 == part).map(|it| it.1));
        placed.overrides.extend(decided.min().map(|trains| (index, trains)));
    }
    Ok(placed)
}

/// Adds an object with the ids, the mask, the places of the messages, and what does not travel with
/// the ids.
pub(super) fn write(
    out: &mut String,
    policy: &MaskPolicy,
    conversation: &Conversation<'_>,
    rendered: &Rendered,
    sidecar: Option<&Sidecar>,
) {
    let mask = policy.mask(conversation, rendered);
    let is_fraction = |message: &Message<'_>| {
        message.weight.is_some_and(|it| it != Weight::ZERO && it != Weight::ONE)
    };
    // The mask says all where no weight is a fraction.
    let weights = conversation.messages.iter().any(is_fraction);
    let weights = weights.then(|| policy.weights(conversation, rendered));
    out.push_str("{\"ids\":");
    list(out, &rendered.ids);
    out.push_str(",\"mask\":");
    list(out, &mask.into_iter().map(u32::from).collect::<Vec<_>>());
    if let Some(weights) = weights {
        out.push_str(",\"weights\":");
        list(out, &weights);
    }
    out.push_str(",\"spans\":[");
    for (index, span) in rendered.spans.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        self::span(out, span, conversation);
    }
    out.push(']');
    if let Some(sidecar) = sidecar.filter(|sidecar| !sidecar.is_empty()) {
        out.push_str(",\"sidecar\":");
        out.push_str(&sidecar.to_json());
    }
    out.push('}');
}

fn span(out: &mut String, span: &MessageSpan, conversation: &Conversation<'_>) {
    let ids = span.ids();
    let _ = write!(
        out,
        "{{\"message\":{},\"start\":{},\"end\":{},\"header\":{},\"body\":{},\"body_end\":{}",
        span.message, ids.start, ids.end, span.header.start, span.body.start, span.body.end,
    );
    if let Some(message) = conversation.messages.get(span.message) {
        let _ = write!(out, ",\"role\":\"{}\"", message.role);
        if let Some(channel) = message.channel {
            let _ = write!(out, ",\"channel\":\"{channel}\"");
        }
    }
    out.push('}');
}
