//! `truncate`: shortens a conversation to a number of token ids.

use clap::Args;
use openchatml::convert::{Loss, Lost};
use openchatml::{Code, Conversation, Diagnostic, End, Format, RenderOptions, Span, TextFormat};
use openchatml_tokens::{Cut, TruncateError, Truncated, Truncation};

use super::WorkArgs;
use super::converter::purpose_of_convert;
use crate::args::{Choice, FilesArgs, O200K_HARMONY, Written, text_format, written};
use crate::console::Console;
use crate::encodings::{Encodings, Tokenizers, Use};
use crate::failure::{Failure, Status};
use crate::input::{JSON, finding};

/// Shorten conversations to a number of token ids
///
/// First cuts messages that are longer than --message. Then drops the oldest exchanges until the
/// rest fits. It keeps messages of the system and the developer, and the last message of the user.
/// It keeps or drops a call and its replies together.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml truncate --budget 8192 chat.txt
  ocml truncate --budget 8192 --generation-prompt -t harmony:tokens chat.json
  ocml truncate --budget 4096 --message none --for chatml --encoding tokenizer.json train.jsonl")]
pub(crate) struct TruncateArgs {
    /// The maximum number of ids
    #[arg(long, value_name = "N")]
    budget: usize,
    /// The maximum number of ids of the text of one message, or `none`; text that must be JSON is
    /// not cut
    #[arg(long, value_name = "N", default_value = "2048", value_parser = most)]
    message: Most,
    /// Count the ids of this text format (default: the format of the output)
    #[arg(long = "for", value_name = "FORMAT", value_parser = text_format())]
    counted: Option<TextFormat>,
    /// The format of the output (default: the format of the input)
    #[arg(short = 't', long = "to", value_name = "FORMAT", value_parser = written())]
    to: Option<Written>,
    #[command(flatten)]
    files: FilesArgs,
    #[command(flatten)]
    work: WorkArgs,
}

/// The maximum number of ids of a message.
#[derive(Clone, Copy, Debug)]
struct Most(Option<usize>);

fn most(text: &str) -> Result<Most, String> {
    match text {
        "none" => Ok(Most(None)),
        _ => text.parse().map(|most| Most(Some(most))).map_err(|_| "invalid number".to_owned()),
    }
}

/// Runs `truncate`.
pub(crate) fn truncate(args: &TruncateArgs, console: &Console) -> Result<Status, Failure> {
    let WorkArgs { read, render, .. } = &args.work;
    let to = args.to.or(match read.from {
        Choice::Tokens(format) => Some(Written { format: format.into(), tokens: true }),
        Choice::Format(format) => Some(Written { format, tokens: false }),
        Choice::Auto => None,
    });
    let target = to.unwrap_or(Written { format: JSON, tokens: false });
    let encodings = Encodings::open(
        read.encoding.as_deref().unwrap_or(O200K_HARMONY),
        read.spell_control_tokens,
        console,
    )?;
    let purpose = purpose_of_convert(render);
    let mut converter = args.work.converter(target, purpose, Some(encodings.clone()), console)?;
    let mut truncation = Truncation::new(args.budget);
    truncation.message = args.message.0;
    let budget = Budget { truncation, counted: args.counted, encodings, tokenizers: None };
    converter.fit(budget, to.is_none());
    args.work.job().run_files(&converter, &args.files, console)
}

/// The truncation options.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    truncation: Truncation,
    /// The format whose ids are counted, if it was named.
    counted: Option<TextFormat>,
    encodings: Encodings,
    tokenizers: Option<Tokenizers>,
}

impl Budget {
    /// Counts the ids of this output format if no other format was named, or those of Harmony if it
    /// has no text form.
    ///
    /// # Errors
    ///
    /// The encoding lacks control tokens of the format.
    pub(super) fn count_for(&mut self, target: Format) -> Result<(), Failure> {
        let own = || target.text().unwrap_or(TextFormat::HARMONY);
        let counted = self.counted.unwrap_or_else(own);
        let tokenizers = Tokenizers::new(counted, Use::Writing, self.encodings.clone())?;
        self.tokenizers = Some(tokenizers);
        Ok(())
    }

    /// Truncates a conversation. Returns the dropped data by name.
    ///
    /// # Errors
    ///
    /// Truncation is impossible.
    pub(super) fn fit(
        &self,
        conversation: &mut Conversation<'_>,
        options: &RenderOptions,
    ) -> Result<Vec<Loss>, Diagnostic> {
        let Some(tokenizers) = &self.tokenizers else { return Ok(Vec::new()) };
        let truncated =
            tokenizers.with(|tokenizer| self.truncation.truncate(tokenizer, conversation, options));
        let truncated = truncated.map_err(|error| match error {
            TruncateError::Render(error) => error.to_diagnostic(conversation),
            error => finding(Code::Limit, Span::at(0), error.to_string()),
        })?;
        let Truncated { conversation: mut left, dropped, cut, spelled, .. } = truncated;
        let is_last = |cut: &Cut| cut.message + 1 == conversation.messages.len();
        if let Some(last) = left.messages.last_mut().filter(|_| cut.iter().any(is_last))
            && last.end == End::Return
        {
            // The model did not end its answer there.
            last.end = End::Open;
        }
        tokenizers.refuse_spelled(&spelled).map_err(|found| *found)?;
        let dropped_at = dropped.iter().map(|message| (*message, Lost::Truncated));
        let is_left = |message: &usize| dropped.binary_search(message).is_err();
        let cut = cut.iter().map(|cut| cut.message).filter(is_left);
        let all = dropped_at.chain(cut.map(|message| (message, Lost::Cut)));
        let mut losses: Vec<Loss> = all
            .map(|(message, lost)| {
                let span = conversation.messages[message].span;
                Loss::new(Some(message), span, lost)
            })
            .collect();
        losses.sort_by_key(|loss| loss.message);
        *conversation = left;
        Ok(losses)
    }
}
