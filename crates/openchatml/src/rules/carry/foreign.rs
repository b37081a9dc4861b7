//! What a completion says in the name of somebody else.

use super::{Adapted, Lost, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "foreign",
    fits: |message, at| at.carries.recovered || !message.foreign,
    adapt: |_, _, _| Adapted::Dropped(Lost::Foreign),
};
