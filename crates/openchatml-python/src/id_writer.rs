//! Writes documents as token ids, and names what they do not contain.

use std::sync::Arc;

use openchatml::convert::{Loss, Origins, Prepared, Weighed, prepare};
use openchatml::prompt::Prompt;
use openchatml::{Control, Conversation, Document, End, RenderError, RenderOptions, TextFormat};
use openchatml_tokens::{MaskPolicy, MessageSpan, Rendered, Tokenizer};

use crate::encoding::AnyEncoding;
use crate::error::Failure;
use crate::rendered::Written;

/// An encoding, bound to a text format.
#[derive(Clone)]
pub(crate) struct IdWriter {
    pub(crate) tokenizer: Tokenizer<AnyEncoding>,
    /// The name of the encoding, for messages.
    pub(crate) name: Arc<str>,
    /// Whether control tokens without an id may be written as ordinary text.
    pub(crate) may_spell: bool,
}

impl IdWriter {
    /// Returns the spellings of control tokens that were written as ordinary text.
    ///
    /// # Errors
    ///
    /// That is not allowed.
    pub(crate) fn spelled(&self, spelled: &[Control]) -> Result<Vec<&'static str>, Failure> {
        let controls = self.tokenizer.format().controls();
        let spelled: Vec<_> = spelled.iter().filter_map(|it| controls.spelling(*it)).collect();
        if self.may_spell || spelled.is_empty() {
            return Ok(spelled);
        }
        let (name, list) = (&self.name, spelled.join(" "));
        let text =
            format!("the document needs {list}, but the encoding `{name}` has no ids for them");
        Err(Failure::new("EncodingError", text).help(SPELL))
    }

    /// The ids of a document that the format expresses completely.
    pub(crate) fn write(
        &self,
        document: &Document<'_>,
        options: &RenderOptions,
    ) -> Result<Written, Failure> {
        let failed = |error: RenderError| Failure::render(&error, document.as_conversation());
        let rendered = self.tokenizer.render(document, options).map_err(failed)?;
        let spelled = self.spelled(&rendered.spelled)?;
        let count = document.as_conversation().map_or(0, |it| it.messages.len());
        let numbers = rendered.spans.iter().map(|it| Some(it.message).filter(|at| *at < count));
        let numbers = numbers.collect();
        Ok(Written { rendered, numbers, training: None, losses: Vec::new(), spelled })
    }

    /// The ids of the next prompt, written by `render`.
    pub(crate) fn write_prompt(
        &self,
        conversation: &Conversation<'static>,
        options: &RenderOptions,
        render: impl FnOnce(&Prepared<'_>) -> Result<Rendered, RenderError>,
    ) -> Result<Written, Failure> {
        let failed = |error: RenderError| Failure::render(&error, Some(conversation));
        let prompt = Prompt::new(conversation, self.tokenizer.format().into(), options);
        let prepared = prompt.prepare(options).map_err(failed)?;
        let rendered = render(&prepared).map_err(failed)?;
        let spelled = self.spelled(&rendered.spelled)?;
        let count = conversation.messages.len();
        let number = |it: &MessageSpan| prepared.origins.of(it.message).filter(|at| *at < count);
        let numbers = rendered.spans.iter().map(number).collect();
        Ok(Written { numbers, training: None, losses: prepared.losses, spelled, rendered })
    }

    /// The ids of a training sample, with its mask.
    pub(crate) fn write_sample(
        &self,
        conversation: &Conversation<'static>,
        options: &RenderOptions,
        policy: &MaskPolicy,
        as_is: bool,
    ) -> Result<Written, Failure> {
        let failed = |error: RenderError| Failure::render(&error, Some(conversation));
        let format = self.tokenizer.format();
        let (document, mut losses, kept) = match as_is {
            true => (conversation.clone().into(), Vec::new(), Origins::default()),
            false => {
                let mut prompt = Prompt::new(conversation, format.into(), options);
                if let Some(sample) = prompt.conversation_mut() {
                    end(sample, format);
                }
                prompt.into_parts()
            }
        };
        let mut prepared = prepare(&document, format.into(), options).map_err(failed)?;
        let count = conversation.messages.len();
        let weighed = prepared.weighed(&document);
        let rendered = self.tokenizer.render_prepared(&prepared, options).map_err(failed)?;
        let spelled = self.spelled(&rendered.spelled)?;
        let number = |at: usize| kept.of(at).filter(|at| *at < count);
        let parts = |written: usize| -> Vec<usize> {
            prepared.origins.parts(written).filter_map(number).collect()
        };
        let mut more = std::mem::take(&mut prepared.losses);
        let nothing = Conversation::default();
        let trained = match &weighed {
            None => prepared.document.as_conversation().unwrap_or(&nothing),
            Some(Weighed { conversation, joined, .. }) => {
                // The mask has the weights, except for those of joined messages.
                let is_joined = |it: &Loss| it.message.is_some_and(|at| joined.contains(&at));
                more.retain(|it| !it.lost.is_of_weights() || is_joined(it));
                conversation
            }
        };
        for loss in &mut more {
            loss.message = loss.message.and_then(number);
        }
        losses.append(&mut more);
        let policy = placed(policy, count, trained.messages.len(), parts)?;
        let mask = policy.mask(trained, &rendered);
        let weights = policy.weights(trained, &rendered);
        let numbers = rendered.spans.iter().map(|it| parts(it.message).first().copied());
        let numbers = numbers.collect();
        Ok(Written { numbers, training: Some((mask, weights)), losses, spelled, rendered })
    }
}

pub(crate) const SPELL: &str = "use the encoding of a model of this format, or write the tokens as ordinary text with `spell_control_tokens=True`";

/// Ends the last answer of a sample with the token that ends a completion, if the format has one.
fn end(sample: &mut Conversation<'_>, format: TextFormat) {
    let carries_return = format.format().carries().ends.contains(&End::Return);
    if carries_return
        && let Some(answer) = sample.messages.iter_mut().rfind(|it| it.is_answer())
        && answer.end == End::End
    {
        answer.end = End::Return;
    }
}

/// Returns the policy for the written messages: the decisions of the caller are for the messages of
/// the conversation. A message that was joined from several is skipped if one of them is skipped.
///
/// # Errors
///
/// A decision is for a message that does not exist, or that is not written and would be trained.
fn placed(
    policy: &MaskPolicy,
    count: usize,
    written: usize,
    parts: impl Fn(usize) -> Vec<usize>,
) -> Result<MaskPolicy, Failure> {
    let mut placed = policy.clone();
    placed.overrides.clear();
    let refused = |message: usize, why: &str| {
        Failure::new("ArgumentValueError", format!("message {message} {why}"))
    };
    let all: Vec<Vec<usize>> = (0..written).map(parts).collect();
    for (message, trains) in &policy.overrides {
        if *message >= count {
            let why = format!("does not exist; the conversation has {count}");
            return Err(refused(*message, &why));
        }
        if *trains && !all.iter().any(|parts| parts.contains(message)) {
            return Err(refused(*message, "is not part of the sample, so it cannot be trained"));
        }
    }
    for (index, parts) in all.iter().enumerate() {
        let decided = parts.iter().filter_map(|number| {
            policy.overrides.iter().rfind(|it| it.0 == *number).map(|it| it.1)
        });
        placed.overrides.extend(decided.min().map(|trains| (index, trains)));
    }
    Ok(placed)
}
