//! Messages that nobody may see, since they are a guess or no part of the completion.

use crate::model::{Channel, Message};

/// Makes a message a guess that nobody may see.
pub(crate) fn hide(message: &mut Message<'_>) {
    message.recovered = true;
    message.channel = Some(Channel::Analysis);
}

/// What becomes of a message that is no part of its completion.
pub(crate) const WITHHELD: &str = "the message is hidden, and no part of the conversation";

/// Makes a message one that is no part of the completion it stands in.
pub(crate) fn withhold(message: &mut Message<'_>) {
    hide(message);
    message.foreign = true;
}
