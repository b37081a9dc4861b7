//! Prepares preference pairs.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{Origins, Prepared, context, prepare_side};
use crate::dialect::{Carrier, Format};
use crate::model::{Document, Pair};
use crate::options::RenderOptions;
use crate::rules::Loss;
use crate::writing::RenderError;

/// Prepares both conversations.
pub(super) fn of_pair<'d>(
    pair: &Pair<'_>,
    target: Format,
    options: &RenderOptions,
) -> Result<Prepared<'d>, RenderError> {
    let (document, [(losses, origins), (more, _)]) = sides_of(pair, target, |side| {
        let prepared = prepare_side(side, target, options)?;
        let (losses, origins) = (prepared.losses, prepared.origins);
        Ok((prepared.document.into_owned().into_owned(), (losses, origins)))
    })?;
    let mut document = Cow::Owned(document);
    let mut losses = join_losses(pair, losses, more);
    origins.add_placed(context::lose(&mut document, target), &mut losses);
    Ok(Prepared { document, losses, origins: Origins::default() })
}

/// Returns the pair of both conversations as `change` returns them, with its results.
pub(crate) fn sides_of<'d, T>(
    pair: &Pair<'_>,
    target: Format,
    change: impl Fn(&Document<'_>) -> Result<(Document<'d>, T), RenderError>,
) -> Result<(Document<'d>, [T; 2]), RenderError> {
    if target.carrier() != Carrier::Json {
        return Err(RenderError::not_a_conversation(target.dialect.id));
    }
    let (chosen, one) = change(&pair.chosen.clone().into())?;
    let rejected = change(&pair.rejected.clone().into()).map_err(|mut error| {
        error.message = error.message.map(pair.numbers());
        error
    });
    let (rejected, other) = rejected?;
    let pair = Pair::new(chosen.into_conversation(), rejected.into_conversation());
    Ok((Document::Pair(pair.into()), [one, other]))
}

/// Joins the losses of both sides of a pair, which were converted one by one. A loss of a message
/// that both sides share is reported once, unless data of its format is lost at two places.
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
    let (shared, number) = (pair.shared(), pair.numbers());
    let is_shared = |loss: &Loss| loss.message.is_none_or(|message| message < shared);
    let has_layout = |at: &usize| {
        let sides = [&pair.chosen, &pair.rejected];
        sides.iter().any(|side| side.messages.get(*at).is_some_and(|it| it.layout.is_some()))
    };
    let key = |loss: &Loss| {
        let span = loss.message.filter(has_layout).map(|_| loss.span);
        (loss.message, loss.lost, loss.detail.clone(), span)
    };
    let told: HashSet<_> = chosen.iter().filter(|loss| is_shared(loss)).map(key).collect();
    let new = rejected.into_iter().filter(|loss| !told.contains(&key(loss)));
    chosen.extend(new.map(|loss| Loss { message: loss.message.map(&number), ..loss }));
    chosen
}
