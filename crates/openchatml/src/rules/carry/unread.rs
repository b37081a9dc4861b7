//! Unknown words of a message header.

use super::{Adapted, Lost, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "unread",
    fits: |message, at| at.carries.recovered || message.unread.is_none(),
    adapt: |message, _, _| {
        message.unread = None;
        Adapted::losing(Lost::Unread)
    },
};
