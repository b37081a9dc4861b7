//! The options of training samples.

use openchatml_tokens::{MaskPolicy, TrainedHeaders, TrainedMessages, TrainedTurns};
use pyo3::prelude::*;

use crate::argument::Argument;

/// Sets an option of the mask. Returns whether there is an option of this name.
pub(crate) fn set(policy: &mut MaskPolicy, argument: &Argument<'_, '_>) -> PyResult<bool> {
    match argument.name {
        "train" => policy.messages = argument.word(MESSAGES, messages)?,
        "turns" => policy.turns = argument.word(&[TrainedTurns::All, TrainedTurns::Last], turns)?,
        "headers" => policy.headers = argument.word(HEADERS, headers)?,
        "train_messages" => add(policy, argument, true)?,
        "skip_messages" => add(policy, argument, false)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Adds decisions for single messages.
fn add(policy: &mut MaskPolicy, argument: &Argument<'_, '_>, trains: bool) -> PyResult<()> {
    for item in argument.items()? {
        policy.overrides.push((Argument::new(argument.name, &item).number()?, trains));
    }
    Ok(())
}

const MESSAGES: &[TrainedMessages] =
    &[TrainedMessages::All, TrainedMessages::NoReasoning, TrainedMessages::Answers];

fn messages(messages: TrainedMessages) -> &'static str {
    match messages {
        TrainedMessages::All => "all",
        TrainedMessages::NoReasoning => "no-reasoning",
        TrainedMessages::Answers => "answers",
    }
}

fn turns(turns: TrainedTurns) -> &'static str {
    match turns {
        TrainedTurns::All => "all",
        TrainedTurns::Last => "last",
    }
}

const HEADERS: &[TrainedHeaders] =
    &[TrainedHeaders::Sampled, TrainedHeaders::AfterRole, TrainedHeaders::Nothing];

fn headers(headers: TrainedHeaders) -> &'static str {
    match headers {
        TrainedHeaders::Sampled => "sampled",
        TrainedHeaders::AfterRole => "after-role",
        TrainedHeaders::Nothing => "nothing",
    }
}
