//! Messages that a completion wrote for another role.

use super::{Adapted, Lost, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "foreign",
    fits: |message, at| at.carries.recovered || !message.foreign,
    adapt: |_, _, _| Adapted::Dropped(Lost::Foreign),
};
