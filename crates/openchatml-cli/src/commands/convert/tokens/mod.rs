//! Writes documents as token ids.

pub(in crate::commands) mod mask;
mod table;

pub(super) use self::mask::MaskArgs;

use std::fmt::{Display, Write as _};

use openchatml::convert::{Loss, Origins, Prepared, Sidecar, Weighed};
use openchatml::{
    Conversation, Diagnostic, Document, ReadOptions, RenderError, RenderOptions, TextFormat,
};
use openchatml_data::record::KeptMessages;
use openchatml_tokens::{MaskPolicy, Rendered, Tokenizer};

use self::mask::Numbers;
use super::converter::Output;

use crate::encodings::{Encodings, OneEncoding, Tokenizers, Use};
use crate::failure::Failure;

/// Writes documents as token ids, on several threads at once.
#[derive(Clone, Debug)]
pub(super) struct Tokens {
    pub(super) shape: TokenOutput,
    tokenizers: Tokenizers,
}

/// The form of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenOutput {
    Ids,
    /// The ids, the mask, and the spans of the messages.
    Mask(MaskPolicy),
    Count,
    /// A table for people, with or without colours.
    ///
    /// # Errors
    Table {
        colors: bool,
        policy: MaskPolicy,
    },
}

impl Tokens {
    /// # Errors
    ///
    /// The encoding lacks control tokens of the format.
    pub(super) fn new(
        format: TextFormat,
        shape: TokenOutput,
        encodings: Encodings,
    ) -> Result<Self, Failure> {
        Ok(Self { shape, tokenizers: Tokenizers::new(format, Use::Writing, encodings)? })
    }

    /// What was prepared of a document, written, and what is lost. `kept` are the messages of the input
    /// that are in the `original` of what was prepared.
    ///
    /// # Errors
    ///
    /// What the format cannot say, or the encoding.
    pub(super) fn write(
        &self,
        original: &Document<'_>,
        kept: &KeptMessages,
        mut prepared: Prepared<'_>,
        options: &RenderOptions,
        wants_sidecar: bool,
    ) -> Result<Output, Refused> {
        let weighed = match &self.shape {
            TokenOutput::Mask(_) | TokenOutput::Table { .. } => prepared.weighed(original),
            _ => None,
        };
        let losses = std::mem::take(&mut prepared.losses);
        let mut output = Output { losses, ..Output::default() };
        let Prepared { document, origins, .. } = &prepared;
        let written = self.tokenizers.with(|tokenizer| {
            if self.shape == TokenOutput::Count {
                let counted = tokenizer.count_prepared(&prepared, options)?;
                output.text = counted.ids.to_string();
                return Ok(self.tokenizers.refuse_spelled(&counted.spelled)?);
            }
            let rendered = tokenizer.render_prepared(&prepared, options)?;
            self.tokenizers.refuse_spelled(&rendered.spelled)?;
            let has_losses =
                matches!(self.shape, TokenOutput::Mask(_)) && !output.losses.is_empty();
            if wants_sidecar || has_losses {
                let sidecar = sidecar(tokenizer, original, &rendered, origins);
                output.losses.retain(|loss| !sidecar.holds(loss));
                output.sidecar = Some(sidecar);
            }
            let nothing = Conversation::default();
            let conversation = match &weighed {
                None => document.as_conversation().unwrap_or(&nothing),
                Some(Weighed { conversation, joined, .. }) => {
                    // The mask contains the weights, except for joined messages.
                    let joined = |loss: &Loss| loss.message.is_some_and(|at| joined.contains(&at));
                    output.losses.retain(|loss| !loss.lost.is_of_weights() || joined(loss));
                    conversation
                }
            };
            let numbers = Numbers { kept, origins };
            let place = |policy| numbers.policy(policy, conversation.messages.len());
            let shape = match &self.shape {
                TokenOutput::Mask(policy) => TokenOutput::Mask(place(policy)?),
                TokenOutput::Table { colors, policy } => {
                    TokenOutput::Table { colors: *colors, policy: place(policy)? }
                }
                shape => shape.clone(),
            };
            say(&shape, tokenizer, (conversation, numbers), &rendered, &mut output);
            Ok(())
        });
        written.map(|()| output)
    }
}

/// Writes the requested data of the ids.
fn say(
    shape: &TokenOutput,
    tokenizer: &Tokenizer<OneEncoding>,
    (conversation, numbers): (&Conversation<'_>, Numbers<'_>),
    rendered: &Rendered,
    output: &mut Output,
) {
    let out = &mut output.text;
    match shape {
        TokenOutput::Count => {}
        TokenOutput::Ids => list(out, &rendered.ids),
        TokenOutput::Mask(policy) => {
            mask::write(out, policy, (conversation, numbers), rendered, output.sidecar.as_ref());
        }
        TokenOutput::Table { colors, policy } => {
            let mask = policy.mask(conversation, rendered);
            table::write(out, *colors, tokenizer, (conversation, numbers), (rendered, &mask));
        }
    }
}

/// The reason why a document is not written.
#[derive(Debug)]
pub(super) enum Refused {
    /// The format cannot express it.
    Render(RenderError),
    /// The encoding or the template cannot express it.
    Found(Box<Diagnostic>),
}

impl From<RenderError> for Refused {
    fn from(error: RenderError) -> Self {
        Self::Render(error)
    }
}

impl From<Box<Diagnostic>> for Refused {
    fn from(found: Box<Diagnostic>) -> Self {
        Self::Found(found)
    }
}

/// Returns the data of the original that the ids do not contain.
fn sidecar(
    tokenizer: &Tokenizer<OneEncoding>,
    original: &Document<'_>,
    rendered: &Rendered,
    origins: &Origins,
) -> Sidecar {
    let mut options = ReadOptions::default();
    options.open_prompt = true;
    let read = tokenizer.parse(&rendered.ids, &options).into_conversation();
    let nothing = Conversation::default();
    Sidecar::between(original.as_conversation().unwrap_or(&nothing), &read, origins)
}

/// Appends a JSON array of numbers.
fn list(out: &mut String, numbers: &[impl Display]) {
    out.push('[');
    for (index, number) in numbers.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        let _ = write!(out, "{number}");
    }
    out.push(']');
}
