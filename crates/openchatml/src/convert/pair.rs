//! Prepares preference pairs.

use std::borrow::Cow;

use super::{Origins, Prepared, prepare};
use crate::dialect::Format;
use crate::model::{Conversation, Document, Pair};
use crate::options::RenderOptions;
use crate::rules::Loss;
use crate::writing::RenderError;

/// Prepares both conversations. A loss of a message that both have is reported once.
pub(super) fn of_pair<'d>(
    pair: &Pair<'_>,
    target: Format,
    options: &RenderOptions,
) -> Result<Prepared<'d>, RenderError> {
    if !target.carries().pairs {
        return Err(RenderError::not_a_conversation(target.dialect.id));
    }
    let mut losses = Vec::new();
    let mut side = |conversation: &Conversation<'_>, is_rejected: bool| {
        let document = Document::from(conversation.clone());
        let placed = |at: usize| if is_rejected { pair.number_of_rejected(at) } else { at };
        let mut prepared = prepare(&document, target, options).map_err(|mut error| {
            error.message = error.message.map(placed);
            error
        })?;
        if is_rejected {
            let shared = pair.shared();
            let is_told = |loss: &Loss| loss.message.is_none_or(|at| at < shared);
            prepared.losses.retain(|loss| !(is_told(loss) && losses.contains(loss)));
            prepared.losses.iter_mut().for_each(|it| it.message = it.message.map(placed));
        }
        losses.append(&mut prepared.losses);
        let document = prepared.document.into_owned().into_owned();
        Ok::<_, RenderError>(document.into_conversation())
    };
    let chosen = side(&pair.chosen, false)?;
    let rejected = side(&pair.rejected, true)?;
    let document = Cow::Owned(Document::Pair(Pair::new(chosen, rejected).into()));
    Ok(Prepared { document, losses, origins: Origins::default() })
}
