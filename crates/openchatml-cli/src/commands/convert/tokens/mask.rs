//! Token ids with a training mask.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use openchatml::convert::{Origins, Sidecar};
use openchatml::{Code, Conversation, Diagnostic, Message, Span, Weight};
use openchatml_data::record::KeptMessages;
use openchatml_tokens::{
    MaskPolicy, MessageSpan, Rendered, TrainedHeaders, TrainedMessages, TrainedTurns,
};

use super::list;
use crate::input::finding;

/// The ids that are trained.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Training")]
pub(in crate::commands::convert) struct MaskArgs {
    /// Train these messages of the assistant
    #[arg(long, value_name = "WHICH", default_value = "all", requires = "mask")]
    train: TrainArg,

    /// Train only these turns; each message of the user begins a turn
    #[arg(long, value_name = "WHICH", default_value = "all", requires = "mask")]
    turns: TurnsArg,

    /// Train this part of the headers
    #[arg(long, value_name = "WHICH", default_value = "sampled", requires = "mask")]
    headers: HeadersArg,

    /// Train this message, whatever its role; counted from 0, can be repeated
    #[arg(long, value_name = "N", requires = "mask")]
    train_message: Vec<usize>,

    /// Do not train this message; counted from 0, can be repeated
    #[arg(long, value_name = "N", requires = "mask")]
    skip_message: Vec<usize>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::commands) enum TrainArg {
    /// Reasoning, commentary, calls and answers
    All,
    /// Everything except reasoning
    NoReasoning,
    /// Only answers
    Answers,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::commands) enum TurnsArg {
    /// All turns
    All,
    /// The last turn
    Last,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::commands) enum HeadersArg {
    /// What the model generates
    Sampled,
    /// Everything after the role
    AfterRole,
    /// Nothing
    Nothing,
}

impl MaskArgs {
    /// Returns the policy.
    pub(in crate::commands::convert) fn policy(&self) -> MaskPolicy {
        let mut policy = policy(self.train, self.turns, self.headers);
        let trained = self.train_message.iter().map(|message| (*message, true));
        let skipped = self.skip_message.iter().map(|message| (*message, false));
        policy.overrides = trained.chain(skipped).collect();
        policy
    }
}

/// Returns the policy for whole data sets.
pub(in crate::commands) fn policy(
    train: TrainArg,
    turns: TurnsArg,
    headers: HeadersArg,
) -> MaskPolicy {
    let mut policy = MaskPolicy::default();
    policy.messages = match train {
        TrainArg::All => TrainedMessages::All,
        TrainArg::NoReasoning => TrainedMessages::NoReasoning,
        TrainArg::Answers => TrainedMessages::Answers,
    };
    policy.turns = match turns {
        TurnsArg::All => TrainedTurns::All,
        TurnsArg::Last => TrainedTurns::Last,
    };
    policy.headers = match headers {
        HeadersArg::Sampled => TrainedHeaders::Sampled,
        HeadersArg::AfterRole => TrainedHeaders::AfterRole,
        HeadersArg::Nothing => TrainedHeaders::Nothing,
    };
    policy
}

/// The indices in the input of the written messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers<'k> {
    pub(super) kept: &'k KeptMessages,
    pub(super) origins: &'k Origins,
}

impl Numbers<'_> {
    /// Returns the indices of the input messages that became this message; none if the format adds
    /// it.
    pub(super) fn of(self, written: usize) -> impl Iterator<Item = usize> {
        self.origins.parts(written).filter_map(|part| self.kept.number(part))
    }

    /// Returns the policy for the written messages, with the same decisions as those for the input
    /// messages. A message that was joined from several messages is skipped if one of them is
    /// skipped.
    ///
    /// # Errors
    ///
    /// The policy names a message that the input does not have.
    pub(super) fn policy(
        self,
        policy: &MaskPolicy,
        written: usize,
    ) -> Result<MaskPolicy, Box<Diagnostic>> {
        let count = self.kept.count();
        if let Some((message, trains)) = policy.overrides.iter().find(|it| it.0 >= count) {
            let option = if *trains { "--train-message" } else { "--skip-message" };
            let text = format!("`{option} {message}`: message {message} does not exist");
            let help = format!("messages are counted from 0; the conversation has {count}");
            return Err(Box::new(finding(Code::RenderUnsupported, Span::at(0), text).help(help)));
        }
        let mut placed = policy.clone();
        placed.overrides.clear();
        if policy.overrides.is_empty() {
            return Ok(placed);
        }
        let is_written =
            |message: usize| (0..written).any(|it| self.of(it).any(|at| at == message));
        if let Some((message, _)) = policy.overrides.iter().find(|it| it.1 && !is_written(it.0)) {
            let text = format!("`--train-message {message}`: this message is not written");
            let help = "the format cannot express it, or a prompt does not contain it";
            let found = finding(Code::RenderUnsupported, Span::at(0), text);
            return Err(Box::new(found.help(help)));
        }
        for index in 0..written {
            let decided = self.of(index).filter_map(|number| {
                policy.overrides.iter().rfind(|it| it.0 == number).map(|it| it.1)
            });
            placed.overrides.extend(decided.min().map(|trains| (index, trains)));
        }
        Ok(placed)
    }
}

/// Appends an object with the ids, the mask, the spans of the messages, and the sidecar.
pub(super) fn write(
    out: &mut String,
    policy: &MaskPolicy,
    (conversation, numbers): (&Conversation<'_>, Numbers<'_>),
    rendered: &Rendered,
    sidecar: Option<&Sidecar>,
) {
    let mask = policy.mask(conversation, rendered);
    let is_fraction = |message: &Message<'_>| {
        message.weight.is_some_and(|it| it != Weight::ZERO && it != Weight::ONE)
    };
    // The mask is sufficient if no weight is a fraction.
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
        self::span(out, span, conversation, numbers);
    }
    out.push(']');
    if let Some(sidecar) = sidecar.filter(|sidecar| !sidecar.is_empty()) {
        out.push_str(",\"sidecar\":");
        out.push_str(&sidecar.to_json());
    }
    out.push('}');
}

fn span(
    out: &mut String,
    span: &MessageSpan,
    conversation: &Conversation<'_>,
    numbers: Numbers<'_>,
) {
    let ids = span.ids();
    out.push_str("{\"message\":");
    match numbers.of(span.message).next().filter(|_| span.message < conversation.messages.len()) {
        Some(number) => {
            let _ = write!(out, "{number}");
        }
        // The part that the format adds, and the beginning of the answer.
        None => out.push_str("null"),
    }
    let _ = write!(
        out,
        ",\"start\":{},\"end\":{},\"header\":{},\"body\":{},\"body_end\":{}",
        ids.start, ids.end, span.header.start, span.body.start, span.body.end,
    );
    if let Some(message) = conversation.messages.get(span.message) {
        let _ = write!(out, ",\"role\":\"{}\"", message.role);
        if let Some(channel) = message.channel {
            let _ = write!(out, ",\"channel\":\"{channel}\"");
        }
    }
    out.push('}');
}
