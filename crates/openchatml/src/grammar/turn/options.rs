//! The rendering options of OpenChatML 0.1.

use crate::model::InfillOrder;
use crate::options::DialectOptions;

/// The rendering options of OpenChatML 0.1, for what its specification leaves open.
///
/// ```
/// use openchatml::render::{Close, TurnOptions};
///
/// let usual = TurnOptions::default();
/// assert_eq!((usual.close, usual.infill_order), (Close::Spaced, None));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnOptions {
    /// How messages are closed.
    pub close: Close,
    /// The order of the parts of fill-in-the-middle tasks. `None` keeps the order of each task.
    pub infill_order: Option<InfillOrder>,
}

impl DialectOptions for TurnOptions {}

/// How messages of OpenChatML 0.1 are closed.
///
/// ```
/// use openchatml::render::{Close, TurnOptions};
/// use openchatml::{Conversation, Message, RenderOptions, Role, render};
///
/// let document = Conversation::from_messages([Message::new(Role::User, "Hi.")]).into();
/// let mut options = RenderOptions::default();
/// let spaced = render(&document, "openchatml-0.1".parse()?, &options)?;
/// assert_eq!(spaced, "<s>\n<|im_start|>user\nHi.\n<|im_end|>\n</s>\n");
/// let mut turns = TurnOptions::default();
/// turns.close = Close::Compact;
/// options.set(turns);
/// let compact = render(&document, "openchatml-0.1".parse()?, &options)?;
/// assert_eq!(compact, "<s>\n<|im_start|>user\nHi.<|im_end|>\n</s>\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Close {
    /// With a line break before `<|im_end|>`, as in the specification.
    #[default]
    Spaced,
    /// Without a line break, as most tools write it.
    Compact,
}
