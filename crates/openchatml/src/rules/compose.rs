//! How a conversation becomes the one that a chat template writes.

use super::{Carries, Loss};
use crate::model::{Conversation, FormId, Message, Tool};
use crate::options::RenderOptions;
use crate::writing::RenderError;

/// What a chat template makes of a conversation.
pub(crate) struct Composer {
    /// What it can be given.
    pub(crate) carries: &'static Carries,
    pub(crate) compose: Compose,
}

impl Composer {
    /// This one, unless the conversation was read in `form`: then it is what a template made already,
    /// but for tools that were added since.
    pub(crate) fn unless_read(
        &'static self,
        conversation: &Conversation<'_>,
        form: FormId,
    ) -> Option<&'static Self> {
        let has_new_tools = !conversation.tools.is_empty();
        (conversation.origin != form || has_new_tools).then_some(self)
    }
}

/// The conversation whose faithful text is the text that the template writes, of a conversation and
/// the tools that are declared in it, which are given beside it.
///
/// # Errors
///
/// What the template raises an error at, and what it would leave out without a word.
pub(crate) type Compose =
    for<'a> fn(Conversation<'a>, &[Tool<'a>], &RenderOptions) -> Result<Composed<'a>, RenderError>;

/// A conversation as a template writes it.
#[derive(Debug, Default)]
pub(crate) struct Composed<'a> {
    pub(crate) conversation: Conversation<'a>,
    /// Where each of its messages stood before; `None` for one that was put in.
    pub(crate) places: Vec<Option<usize>>,
    /// The texts that were joined to messages before them.
    pub(crate) joins: Vec<Join>,
    /// What is lost.
    pub(crate) losses: Vec<Loss>,
    /// What the template makes less of in any case: told by conversions, refused by nobody.
    pub(crate) remarks: Vec<Loss>,
}

/// A text that was joined to the message before it, or what is left of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Join {
    /// The message that it is part of now.
    pub(crate) message: usize,
    /// Where it begins in the body of that, in bytes.
    pub(crate) at: usize,
    /// The message that it was before.
    pub(crate) place: usize,
    /// Where it began in the body of that.
    pub(crate) from: usize,
}

impl<'a> Composed<'a> {
    /// Nothing yet, with room for so many messages.
    pub(crate) fn with_room(messages: usize) -> Self {
        let mut composed = Self::default();
        composed.conversation.messages.reserve(messages);
        composed.places.reserve(messages);
        composed
    }

    pub(crate) fn push(&mut self, message: Message<'a>, place: Option<usize>) {
        self.conversation.messages.push(message);
        self.places.push(place);
    }
}
