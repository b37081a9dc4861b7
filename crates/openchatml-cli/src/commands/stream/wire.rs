//! The options of the protocols, and their writers.

use std::path::Path;

use clap::{Args, ValueEnum};
use openchatml::wire::{self, Ending, Framing, Reasoning, Response, Usage};
use openchatml::{Event, Limits};

use crate::args::{Protocol, now};
use crate::failure::Failure;

#[derive(Args, Debug)]
#[command(next_help_heading = "Events")]
pub(super) struct WireArgs {
    /// The protocol of the events
    #[arg(long, value_name = "PROTOCOL", default_value = "openchatml")]
    events: Protocol,
    /// How to handle reasoning, with `--events responses`, `chat` or `anthropic` (default: drop)
    #[arg(long, value_name = "POLICY", conflicts_with = "user")]
    reasoning: Option<ReasoningArg>,
    /// The name of the model: the value of the option of all commands.
    #[arg(skip)]
    pub(super) model: Option<String>,
    /// The id of the response, with `--events responses`, `chat` or `anthropic` (default: made from the time)
    #[arg(long, value_name = "ID")]
    response_id: Option<String>,
    /// The creation time of the response, with `--events responses`, `chat` or `anthropic` (default: now)
    #[arg(long, value_name = "SECONDS")]
    created: Option<u64>,
    /// The number of tokens of the prompt, with `--events responses`, `chat` or `anthropic`: write
    /// the token usage (these, the ids that are read, and how many of them are reasoning)
    #[arg(long, value_name = "COUNT", requires = "ids")]
    prompt_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ReasoningArg {
    /// Drop it
    Drop,
    /// Write it
    Raw,
}

impl WireArgs {
    /// Returns the writer for the events of a stream with these limits.
    pub(super) fn writer(&self, framing: Framing, limits: &Limits) -> Result<Writer, Failure> {
        let Some(api) = self.events.api() else {
            return match self.unused() {
                Some(option) => Err(Failure::Usage(format!(
                    "`{option}` requires `--events` with `responses`, `chat` or `anthropic`"
                ))),
                None => Ok(Writer::OpenChatMl(framing)),
            };
        };
        let created = self.created.unwrap_or_else(now);
        let id = self.response_id.clone();
        let id = id.unwrap_or_else(|| format!("{}{created}", api.id_prefix()));
        let response = Response::new(id, self.model.as_deref().unwrap_or("unknown"), created);
        let reasoning = match self.reasoning {
            Some(ReasoningArg::Raw) => Reasoning::Raw,
            Some(ReasoningArg::Drop) | None => Reasoning::Drop,
        };
        let writer = wire::Writer::new(api, response).framing(framing).reasoning(reasoning);
        Ok(Writer::Api(Box::new(writer.limits(limits))))
    }

    /// Returns an option that the events of OpenChatML do not support.
    fn unused(&self) -> Option<&'static str> {
        let given = [
            (self.reasoning.is_some(), "--reasoning"),
            (self.model.as_ref().is_some_and(|it| !Path::new(it).is_dir()), "--model"),
            (self.response_id.is_some(), "--response-id"),
            (self.created.is_some(), "--created"),
            (self.prompt_tokens.is_some(), "--prompt-tokens"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }

    /// Returns how a response with this number of ids ends.
    pub(super) fn ending(&self, ids: usize) -> Ending {
        let mut ending = Ending::default();
        let output = u64::try_from(ids).unwrap_or(u64::MAX);
        ending.usage = self.prompt_tokens.map(|input| Usage::new(input, output));
        ending
    }
}

/// Writes events.
pub(super) enum Writer {
    OpenChatMl(Framing),
    Api(Box<wire::Writer>),
}

impl Writer {
    /// Whether diagnostics are events.
    pub(super) fn tells_findings(&self) -> bool {
        matches!(self, Self::OpenChatMl(_))
    }

    /// Writes the beginning of the output.
    pub(super) fn start(&mut self, out: &mut String) {
        match self {
            Self::OpenChatMl(_) => {}
            Self::Api(writer) => writer.start(out),
        }
    }

    pub(super) fn push(&mut self, event: &Event<'_>, out: &mut String) {
        match self {
            Self::OpenChatMl(Framing::Lines) => {
                event.write_json(out);
                out.push('\n');
            }
            Self::OpenChatMl(Framing::Sse) => {
                out.push_str("event: ");
                out.push_str(event.name());
                out.push_str("\ndata: ");
                event.write_json(out);
                out.push_str("\n\n");
            }
            Self::Api(writer) => writer.push(event, out),
        }
    }

    /// Whether a call was written, or dropped, that must not be run.
    pub(super) fn has_uncertain_call(&self) -> bool {
        match self {
            Self::OpenChatMl(_) => false,
            Self::Api(writer) => writer.has_uncertain_call(),
        }
    }

    /// Writes the end of the output. Returns the number of dropped messages.
    pub(super) fn finish(self, ending: &Ending, out: &mut String) -> usize {
        match self {
            Self::OpenChatMl(_) => 0,
            Self::Api(writer) => {
                let left_out = writer.left_out();
                writer.finish(ending, out);
                left_out
            }
        }
    }
}
