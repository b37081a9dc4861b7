//! The beginning of a prompt.

use super::Loss;
use crate::model::Conversation;
use crate::options::{Profile, RenderOptions};

/// The beginning of a prompt in a dialect that options can add, and what its writers drop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// Returns the conversation with a system message at the beginning, or `None` if it already has
    /// one.
    pub(crate) system: System,
    /// Adds the response formats to the developer message. Also returns the position of a message
    /// that was added for them. Returns `None` if there is nothing to add.
    pub(crate) formats: Formats,
    /// The losses of the writer with a profile.
    pub(crate) left_out: fn(Profile, &Conversation<'_>) -> Vec<Loss>,
}

pub(crate) type System = for<'a> fn(&Conversation<'a>, &RenderOptions) -> Option<Conversation<'a>>;

pub(crate) type Formats =
    for<'a> fn(&Conversation<'a>, &RenderOptions) -> Option<(Conversation<'a>, Option<usize>)>;
