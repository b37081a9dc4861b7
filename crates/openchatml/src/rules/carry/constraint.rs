//! The constraint on a body. The type may be carried where the constraint is not.

use super::{Adapted, Lost, MessageRule};

pub(super) const RULE: MessageRule = MessageRule {
    name: "constraint",
    fits: |message, at| {
        message.content_type.is_none()
            || !message.constrained
            || (at.carries.content_types)(message)
    },
    adapt: |message, _, _| {
        message.constrained = false;
        Adapted::losing(Lost::Constraint)
    },
};
