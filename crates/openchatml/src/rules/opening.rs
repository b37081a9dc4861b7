//! What a prompt says before anybody spoke.

use super::Loss;
use crate::model::Conversation;
use crate::options::{Profile, RenderOptions};

/// What prompts of a dialect begin with where options ask for it, and what its writers leave out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// The conversation with a system message before all others. `None` if it has one.
    pub(crate) system: System,
    /// The conversation with the forms of the answer behind what the developer says, and the place of a
    /// message that was put in for them. `None` if there is nothing to say.
    pub(crate) formats: Formats,
    /// What the writer of a profile leaves out.
    pub(crate) left_out: fn(Profile, &Conversation<'_>) -> Vec<Loss>,
}

pub(crate) type System = for<'a> fn(&Conversation<'a>, &RenderOptions) -> Option<Conversation<'a>>;

pub(crate) type Formats =
    for<'a> fn(&Conversation<'a>, &RenderOptions) -> Option<(Conversation<'a>, Option<usize>)>;
