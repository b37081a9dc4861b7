//! Names.

use super::{Adapted, Lost, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "name",
    fits: |message, at| message.name.is_none() || (at.carries.names)(message),
    adapt: |message, _, _| {
        message.name = None;
        Adapted::losing(Lost::Name)
    },
};
