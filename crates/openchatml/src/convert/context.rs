//! Earlier answers, in data whose prompt is only context. There they would silently no longer be
//! trained, so they get the weight 0 by name.

use std::borrow::Cow;

use crate::dialect::Format;
use crate::model::{Document, Message, Role, Weight};
use crate::rules::{Loss, Lost};

/// Gives the trained answers that are only context in the target the weight 0. Returns the losses, at
/// the positions of this document. Those of a pair are in both of its sides.
pub(crate) fn lose<'a>(document: &mut Cow<'_, Document<'a>>, target: Format) -> Vec<Loss> {
    let Some(context) = target.dialect.json.as_ref().and_then(|json| json.context) else {
        return Vec::new();
    };
    let (first, shared) = match document.as_ref() {
        Document::Conversation(it) => (it, it.messages.len()),
        Document::Pair(pair) => (&pair.chosen, pair.shared()),
        Document::Infill(_) | Document::Files(_) => return Vec::new(),
    };
    if !first.messages[..shared].iter().any(is_trained) {
        return Vec::new();
    }
    let context = context(document).min(shared);
    let messages = first.messages[..context].iter().enumerate();
    let lost = |(at, it): (usize, &Message<'_>)| Loss::new(Some(at), it.span, Lost::Context);
    let losses: Vec<_> = messages.filter(|(_, it)| is_trained(it)).map(lost).collect();
    if !losses.is_empty() {
        let conversations = match document.to_mut() {
            Document::Conversation(it) => vec![it],
            Document::Pair(pair) => vec![&mut pair.chosen, &mut pair.rejected],
            Document::Infill(_) | Document::Files(_) => Vec::new(),
        };
        for conversation in conversations {
            let messages = conversation.messages[..context].iter_mut();
            messages.filter(|it| is_trained(it)).for_each(|it| it.weight = Some(Weight::ZERO));
        }
    }
    losses
}

fn is_trained(message: &Message<'_>) -> bool {
    message.role == Role::Assistant && message.weight.is_none()
}
