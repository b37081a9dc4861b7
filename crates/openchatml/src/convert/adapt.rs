//! Adapts a document to what a format can express, by the [rules](crate::rules) of the format.

use crate::dialects;
use crate::model::{Content, Conversation, Document, Part};
use crate::rules::{self, Carries, Loss};

/// Returns the document as `carries` can express it, and the original positions of the messages.
/// Returns `None` if it needs no change.
pub(super) fn document<'a>(
    document: &Document<'a>,
    carries: &Carries,
    losses: &mut Vec<Loss>,
) -> Option<(Document<'a>, Option<Vec<usize>>)> {
    match document {
        Document::Conversation(it) => {
            let (adapted, kept) = conversation(it, carries, losses)?;
            Some((Document::Conversation(adapted), Some(kept)))
        }
        Document::Files(parts) => {
            let adapted = files(parts, carries, losses)?;
            Some((Document::Files(adapted), None))
        }
        // Each side of a pair is a document of its own.
        Document::Infill(_) | Document::Pair(_) => None,
    }
}

/// Returns the conversation as `carries` can express it, and the original positions of its
/// messages. Returns `None` if it needs no change.
pub(super) fn conversation<'a>(
    conversation: &Conversation<'a>,
    carries: &Carries,
    losses: &mut Vec<Loss>,
) -> Option<(Conversation<'a>, Vec<usize>)> {
    if rules::fits(conversation, carries) {
        return None;
    }
    let mut adapted = conversation.clone();
    let home = dialects::carried_by(conversation.origin);
    let places = rules::adapt(&mut adapted, carries, home, losses);
    Some((adapted, places))
}

/// Returns the files with conversations as `carries` can express them. Returns `None` if they need
/// no change.
fn files<'a>(
    parts: &[Part<'a>],
    carries: &Carries,
    losses: &mut Vec<Loss>,
) -> Option<Vec<Part<'a>>> {
    let mut changed: Option<Vec<Part<'a>>> = None;
    for (index, part) in parts.iter().enumerate() {
        let Content::Conversation(it) = &part.content else { continue };
        let first = losses.len();
        let Some((adapted, _)) = conversation(it, carries, losses) else { continue };
        // Positions of messages exist only in a document that is a conversation.
        losses[first..].iter_mut().for_each(|loss| loss.message = None);
        let changed = changed.get_or_insert_with(|| parts.to_vec());
        changed[index].content = Content::Conversation(adapted);
    }
    changed
}
