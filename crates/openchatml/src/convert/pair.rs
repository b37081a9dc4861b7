//! Prepares preference pairs.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{Origins, Prepared, prepare};
use crate::dialect::{Carrier, Format};
use crate::model::{Conversation, Document, Pair};
use crate::options::RenderOptions;
use crate::rules::Loss;
use crate::writing::RenderError;

/// Prepares both conversations.
pub(super) fn of_pair<'d>(
    pair: &Pair<'_>,
    target: Format,
    options: &RenderOptions,
) -> Result<Prepared<'d>, RenderError> {
    if target.carrier() != Carrier::Json {
        return Err(RenderError::not_a_conversation(target.dialect.id));
    }
    let side = |conversation: &Conversation<'_>| {
        let document = Document::from(conversation.clone());
        let prepared = prepare(&document, target, options)?;
        let document = prepared.document.into_owned().into_owned();
        Ok((document.into_conversation(), prepared.losses))
    };
    let (chosen, losses) = side(&pair.chosen)?;
    let rejected = side(&pair.rejected).map_err(|mut error: RenderError| {
        let number = numbers(pair);
        error.message = error.message.map(number);
        error
    });
    let (rejected, more) = rejected?;
    let losses = join_losses(pair, losses, more);
    let document = Cow::Owned(Document::Pair(Pair::new(chosen, rejected).into()));
    Ok(Prepared { document, losses, origins: Origins::default() })
}

/// Joins the losses of both sides of a pair, which were converted one by one. A loss of a message
/// that both sides share is reported once.
///
/// The messages of a pair are numbered like this: those of `chosen`, and then those of `rejected`
/// that are not [shared](Pair::shared).
///
/// ```
/// use openchatml::convert::{convert, join_losses};
/// use openchatml::{Conversation, Format, Message, Pair, RenderOptions};
///
/// let format: Format = "chatml-wire:text".parse()?;
/// let mut question = Message::user("2 + 2?");
/// question.name = Some("Eric".into());
/// let side = |thought: &'static str, answer: &'static str| {
///     let messages = [question.clone(), Message::reasoning(thought), Message::answer(answer)];
///     Conversation::from_messages(messages)
/// };
/// let pair = Pair::new(side("Easy.", "4."), side("Hard.", "5."));
/// let losses = |side: &Conversation<'_>| {
///     let converted = convert(&side.clone().into(), format, &RenderOptions::default());
///     converted.map(|converted| converted.losses)
/// };
/// let losses = join_losses(&pair, losses(&pair.chosen)?, losses(&pair.rejected)?);
/// let losses: Vec<_> = losses.iter().map(ToString::to_string).collect();
/// assert_eq!(losses, [
///     "message 0: name dropped",
///     "message 1: analysis dropped",
///     "message 3: analysis dropped",
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn join_losses(pair: &Pair<'_>, mut chosen: Vec<Loss>, rejected: Vec<Loss>) -> Vec<Loss> {
    let shared = pair.shared();
    let number = numbers(pair);
    let is_shared = |loss: &Loss| loss.message.is_none_or(|message| message < shared);
    let key = |loss: &Loss| (loss.message, loss.lost, loss.detail.clone());
    let told: HashSet<_> = chosen.iter().filter(|loss| is_shared(loss)).map(key).collect();
    let new = rejected.into_iter().filter(|loss| !told.contains(&key(loss)));
    chosen.extend(new.map(|loss| Loss { message: loss.message.map(&number), ..loss }));
    chosen
}

/// Returns the numbers of the messages of `rejected` in the pair.
fn numbers(pair: &Pair<'_>) -> impl Fn(usize) -> usize {
    let (shared, chosen) = (pair.shared(), pair.chosen.messages.len());
    move |message| message.checked_sub(shared).map_or(message, |own| chosen + own)
}
