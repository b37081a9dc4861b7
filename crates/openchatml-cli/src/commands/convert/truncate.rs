//! `truncate`: a conversation that fits into so many token ids.

use std::path::PathBuf;

use clap::Args;
use openchatml::convert::{Loss, Lost};
use openchatml::{Code, Conversation, Diagnostic, Format, RenderOptions, Span, TextFormat};
use openchatml_tokens::{TruncateError, Truncated, Truncation};

use super::WorkArgs;
use super::converter::Purpose;
use crate::args::{Choice, Written, text_format, written};
use crate::console::Console;
use crate::encodings::{Encodings, Tokenizers, Use};
use crate::failure::{Failure, Status};
use crate::input::{JSON, finding, origins};

/// Make conversations fit into a number of token ids
///
/// Texts that are longer than a message may be are cut. Then the oldest exchanges go, until the
/// rest fits. What the system and the developer say stays, and so does what the user said last; a
/// call and its replies stay or go together.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  ocml truncate --budget 8192 chat.txt
  ocml truncate --budget 8192 --generation-prompt -t harmony:tokens chat.json
  ocml truncate --budget 4096 --message none --for im --encoding tokenizer.json train.jsonl")]
pub(crate) struct TruncateArgs {
    /// How many ids there may be
    #[arg(long, value_name = "N")]
    budget: usize,
    /// How many ids the text of one message may have, or `none`; what must be JSON is not cut
    #[arg(long, value_name = "N", default_value = "2048", value_parser = most)]
    message: Most,
    /// The format whose ids are counted, if it is not that of the output: a text format
    #[arg(long = "for", value_name = "FORMAT", value_parser = text_format())]
    counted: Option<TextFormat>,
    /// The format of the output; that of the input if not given
    #[arg(short = 't', long = "to", value_name = "FORMAT", value_parser = written())]
    to: Option<Written>,
    /// The files; standard input if one is `-` or none is given
    files: Vec<PathBuf>,
    #[command(flatten)]
    work: WorkArgs,
}

/// How many ids a message may have.
#[derive(Clone, Copy, Debug)]
struct Most(Option<usize>);

fn most(text: &str) -> Result<Most, String> {
    match text {
        "none" => Ok(Most(None)),
        _ => text.parse().map(|most| Most(Some(most))).map_err(|_| "no number".to_owned()),
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
    let encodings = Encodings::open(&read.encoding, read.spell_control_tokens, console)?;
    let purpose = Purpose::of_convert(render);
    let mut converter = args.work.converter(target, purpose, Some(encodings.clone()), console)?;
    let mut truncation = Truncation::new(args.budget);
    truncation.message = args.message.0;
    let budget = Budget { truncation, counted: args.counted, encodings, tokenizers: None };
    converter.fit(budget, to.is_none());
    args.work.job().run(&converter, &origins(&args.files), console)
}

/// What conversations must fit into.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    truncation: Truncation,
    /// The format whose ids count, if it was named.
    counted: Option<TextFormat>,
    encodings: Encodings,
    tokenizers: Option<Tokenizers>,
}

impl Budget {
    /// Counts the ids of this output format, if no other one was named; those of Harmony if it has
    /// no text form.
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

    /// Makes a conversation fit. What went, by name.
    ///
    /// # Errors
    ///
    /// It cannot be made to fit.
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
        let Truncated { conversation: left, dropped, cut, spelled, .. } = truncated;
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
