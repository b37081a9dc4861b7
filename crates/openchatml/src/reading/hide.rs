//! Hides messages that are uncertain or not part of the completion.

use crate::model::{Channel, Message};

/// Hides an uncertain message.
pub(crate) fn hide(message: &mut Message<'_>) {
    message.recovered = true;
    message.channel = Some(Channel::Analysis);
}

/// The help for a message that is not part of its completion.
pub(crate) const WITHHELD: &str = "the message is hidden and is not part of the conversation";

/// Hides a message that is not part of its completion.
pub(crate) fn withhold(message: &mut Message<'_>) {
    hide(message);
    message.foreign = true;
}
