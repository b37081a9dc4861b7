//! Which messages of a conversation a prompt has.

use crate::model::Conversation;

/// Which messages of a conversation a prompt has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum History {
    /// All but the reasoning that led to an answer, and what is foreign (OpenChatML 2.2 §7).
    Answered,
    /// Those that a renderer keeps, without what is foreign.
    Kept(fn(&Conversation<'_>) -> Vec<bool>),
    /// All but what is foreign.
    All,
    /// All but what is foreign: the chat template that writes them leaves out what it leaves out.
    Template,
}
