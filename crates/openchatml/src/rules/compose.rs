//! Composes the conversation that a chat template writes.

use super::{Carries, Loss};
use crate::model::{Conversation, FormId, Message, Tool};
use crate::options::RenderOptions;
use crate::writing::RenderError;

/// How a chat template composes a conversation.
pub(crate) struct Composer {
    /// What its input can contain.
    pub(crate) carries: &'static Carries,
    pub(crate) compose: Compose,
}

/// Which conversations a chat template composes before they are written.
#[derive(Clone, Copy)]
pub(crate) enum Composing {
    /// None: the dialect has no chat template.
    Never,
    /// Those that were not read in this form. A template has already composed the others, except for
    /// tools that were added since.
    UnlessRead(&'static Composer),
    /// Those for which this function returns a composer.
    If(fn(&Conversation<'_>, &RenderOptions) -> Option<&'static Composer>),
}

impl Composing {
    /// Returns the composer for a conversation that is written in `form`.
    pub(crate) fn of(
        self,
        conversation: &Conversation<'_>,
        form: FormId,
        options: &RenderOptions,
    ) -> Option<&'static Composer> {
        match self {
            Self::Never => None,
            Self::UnlessRead(composer) => {
                let is_read = conversation.origin == form && conversation.tools.is_empty();
                (!is_read).then_some(composer)
            }
            Self::If(find) => find(conversation, options),
        }
    }
}

impl std::fmt::Debug for Composing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Composing").finish_non_exhaustive()
    }
}

/// Composes the conversation whose plain text equals the output of the template. The declared tools
/// are passed separately.
///
/// # Errors
///
/// The template raises an error, or would silently drop something.
pub(crate) type Compose =
    for<'a> fn(Conversation<'a>, &[Tool<'a>], &RenderOptions) -> Result<Composed<'a>, RenderError>;

/// A conversation as a template writes it.
#[derive(Debug, Default)]
pub(crate) struct Composed<'a> {
    pub(crate) conversation: Conversation<'a>,
    /// The original positions of its messages, or `None` for an added message.
    pub(crate) places: Vec<Option<usize>>,
    /// Texts that were joined to earlier messages.
    pub(crate) joins: Vec<Join>,
    /// The losses.
    pub(crate) losses: Vec<Loss>,
    /// Losses that the template always has. Conversions report them; nothing is refused because of
    /// them.
    pub(crate) remarks: Vec<Loss>,
}

/// A text that was joined to the message before it, or the rest of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Join {
    /// The position of the message that contains the text now.
    pub(crate) message: usize,
    /// The start of the text in that body, in bytes.
    pub(crate) at: usize,
    /// The original position of its message.
    pub(crate) place: usize,
    /// The start of the text in the original body.
    pub(crate) from: usize,
}

impl<'a> Composed<'a> {
    /// Creates an empty conversation with space for this number of messages.
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
